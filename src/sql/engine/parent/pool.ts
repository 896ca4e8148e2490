/** The engine pool of a worker: one engine per slot, kept warm, in the sizes that were used last. */
import { FairGate } from '../../../kit/index.ts';
import { MillraceError } from '../../../scheduler/core/index.ts';
import type { CustomEngineCode, EngineLimits, FragmentEngine } from '../engine.ts';
import { startFragmentEngine } from './fragment-engine.ts';

/** The limits of an instance are fixed when it is opened, so each size needs its own engine. */
export interface EngineSize {
  readonly memoryBytes: number;
  readonly threads: number;
  /** It can run operators and functions of users. Other fragments do not share a process with these. */
  readonly isCustom?: boolean;
}

export interface EnginePoolOptions extends Omit<EngineLimits, keyof EngineSize> {
  readonly custom?: CustomEngineCode;
  /** The most engines at the same time. */
  readonly slots: number;
  /** Replaces the real engine in tests. */
  readonly start?: (limits: EngineLimits, custom?: CustomEngineCode) => FragmentEngine;
}

export interface PooledEngine {
  readonly engine: FragmentEngine;
  /** Returns it to the pool; idempotent. */
  readonly release: () => void;
}

interface Kept {
  readonly size: EngineSize;
  readonly engine: FragmentEngine;
}

export class EnginePool {
  readonly #options: EnginePoolOptions;
  readonly #gate: FairGate;
  /** Most recently returned last. */
  readonly #idle: Kept[] = [];
  readonly #lent = new Set<Kept>();
  readonly #ending = new Set<Promise<void>>();
  #isClosed = false;

  constructor(options: EnginePoolOptions) {
    this.#options = options;
    this.#gate = new FairGate({ max: options.slots });
  }

  /** Starts engines of this size ahead of time, as far as there is room. */
  async warm(size: EngineSize): Promise<void> {
    const missing = this.#options.slots - this.#idle.length - this.#lent.size;
    const started = Array.from({ length: Math.max(0, missing) }, () => this.#start(size));
    this.#idle.push(...started);
    await Promise.all(started.map(({ engine }) => engine.warm()));
  }

  /** Waits for an engine. Fails with the signal's reason, or `shutting_down`. */
  async acquire(size: EngineSize, signal: AbortSignal): Promise<PooledEngine> {
    const leave = await this.#gate.enter('', signal);
    if (this.#isClosed) {
      leave();
      throw new MillraceError({ code: 'shutting_down', what: 'The engine pool is closed.' });
    }
    const member = this.#taken(size);
    this.#lent.add(member);
    let isLent = true;
    return {
      engine: member.engine,
      release: () => {
        if (!isLent) return;
        isLent = false;
        this.#lent.delete(member);
        if (!this.#isClosed) this.#idle.push(member);
        leave();
      },
    };
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const member of [...this.#idle.splice(0), ...this.#lent]) this.#end(member);
    await Promise.all(this.#ending);
  }

  /** The most recently used one: its file metadata is still cached. */
  #taken(size: EngineSize): Kept {
    const at = this.#idle.findLastIndex(({ size: { memoryBytes, threads, isCustom } }) => {
      const isSame = memoryBytes === size.memoryBytes && threads === size.threads;
      return isSame && (isCustom ?? false) === (size.isCustom ?? false);
    });
    const [found] = at < 0 ? [] : this.#idle.splice(at, 1);
    if (found !== undefined) return found;
    const isFull = this.#idle.length + this.#lent.size >= this.#options.slots;
    const oldest = isFull ? this.#idle.shift() : undefined;
    if (oldest !== undefined) this.#end(oldest);
    return this.#start(size);
  }

  #start(size: EngineSize): Kept {
    const { start = startFragmentEngine, slots: _, custom, ...limits } = this.#options;
    const { isCustom = false, ...own } = size;
    return { size, engine: start({ ...limits, ...own }, isCustom ? custom : undefined) };
  }

  #end({ engine }: Kept): void {
    const ended = engine.close().finally(() => this.#ending.delete(ended));
    this.#ending.add(ended);
  }
}
