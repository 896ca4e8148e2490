/**
 * Runs many short calls in one shared child process. Calls that take long, and those that were running when the
 * shared process crashed or exceeded its memory limit, are moved to one of a few processes with a single call each.
 * So a slow or greedy call delays the others only briefly.
 */
import { FairGate } from '../../../kit/index.ts';
import type { Answers, EngineCall } from '../messages.ts';
import { EngineProcess, type EngineProcessOptions, SharedProcessLost } from './engine-process.ts';
import { crowded } from './errors.ts';
import { linkedSignal } from './linked-signal.ts';

export interface CallOptions {
  readonly caller?: string;
  /** Serves callers of the shared process in turn, in addition to its own limit. */
  readonly turns?: FairGate;
  /** A call that takes longer than this while others are waiting is restarted in a process of its own. */
  readonly quickMs?: number;
}

/** Processes with a single call. */
const ALONE_MAX = 2;
/** Calls that wait for one of these. */
const WAITING_MAX = 16;
/** An idle process with a single call is ended after this time. */
const IDLE_MS = 30_000;
const LOOK_MS = 100;
const YOUNG_MS = 300;
const ANYBODY = '';

/** Thrown to a call that is to be restarted alone. */
class Slow extends Error {}

interface Idle {
  readonly engine: EngineProcess;
  readonly timer: NodeJS.Timeout;
}

export class IsolatingEngine {
  readonly #options: EngineProcessOptions;
  readonly #shared: EngineProcess;
  readonly #aloneTurns: FairGate;
  readonly #alone = new Set<EngineProcess>();
  readonly #idle: Idle[] = [];

  constructor(options: EngineProcessOptions) {
    this.#options = options;
    this.#shared = new EngineProcess(options);
    const full = (): Error => crowded(options.purpose);
    this.#aloneTurns = new FairGate({
      max: ALONE_MAX,
      perCallerMax: 1,
      waitingMax: WAITING_MAX,
      full,
    });
  }

  /** Of the shared process, if it is running. */
  get pid(): number | undefined {
    return this.#shared.pid;
  }

  warm(): Promise<string> {
    return this.#shared.warm();
  }

  async call<Call extends EngineCall>(
    call: Call,
    signal: AbortSignal,
    { caller = ANYBODY, turns, quickMs }: CallOptions = {},
  ): Promise<Answers[Call['name']]> {
    let startMs = performance.now();
    const hurry = new AbortController();
    const either = linkedSignal(signal, hurry.signal);
    try {
      const leave = await turns?.enter(caller, signal);
      try {
        if (quickMs === undefined) return await this.#shared.call(call, signal);
        // The time to start the process does not count.
        await this.#shared.warm();
        startMs = performance.now();
        const cancel = hurried(quickMs, turns, hurry);
        return await this.#shared.call(call, either.signal).finally(cancel);
      } finally {
        leave?.();
      }
    } catch (error) {
      if (!isForAlone(error)) throw error;
    } finally {
      either.unlink();
    }
    // Most likely not the cause: that call had been running for longer.
    const isYoung = performance.now() - startMs < YOUNG_MS;
    const lent = await this.#acquire(caller, signal, isYoung);
    try {
      return await lent.engine.call(call, signal);
    } finally {
      lent.release();
    }
  }

  /** Each process has a folder of its own, so the call is written for the process that gets it. */
  async *stream(
    from: (process: EngineProcess) => AsyncIterable<Uint8Array>,
    signal: AbortSignal,
  ): AsyncGenerator<Uint8Array> {
    try {
      yield* from(this.#shared);
      return;
    } catch (error) {
      if (!isForAlone(error)) throw error;
    }
    const lent = await this.#acquire(ANYBODY, signal, false);
    try {
      yield* from(lent.engine);
    } finally {
      lent.release();
    }
  }

  async close(): Promise<void> {
    for (const { timer } of this.#idle.splice(0)) clearTimeout(timer);
    await Promise.all([this.#shared, ...this.#alone].map((engine) => engine.close()));
  }

  async #acquire(
    caller: string,
    signal: AbortSignal,
    isNext: boolean,
  ): Promise<{ readonly engine: EngineProcess; readonly release: () => void }> {
    const leave = await this.#aloneTurns.enter(caller, signal, isNext);
    const engine = this.#taken();
    return {
      engine,
      release: () => {
        this.#keep(engine);
        leave();
      },
    };
  }

  #taken(): EngineProcess {
    const idle = this.#idle.pop();
    if (idle !== undefined) {
      clearTimeout(idle.timer);
      return idle.engine;
    }
    const engine = new EngineProcess({ ...this.#options, callsMax: 1 });
    this.#alone.add(engine);
    return engine;
  }

  #keep(engine: EngineProcess): void {
    const timer = setTimeout(() => {
      this.#idle.splice(
        this.#idle.findIndex((each) => each.engine === engine),
        1,
      );
      this.#alone.delete(engine);
      void engine.close();
    }, IDLE_MS);
    timer.unref();
    this.#idle.push({ engine, timer });
  }
}

/** Aborts after this time, as soon as another call is waiting. */
function hurried(quickMs: number, turns: FairGate | undefined, hurry: AbortController): () => void {
  const look = (): void => {
    if (turns !== undefined && turns.waiting === 0) timer = setTimeout(look, LOOK_MS);
    else hurry.abort(new Slow());
  };
  let timer = setTimeout(look, quickMs);
  return () => clearTimeout(timer);
}

function isForAlone(error: unknown): boolean {
  return error instanceof Slow || error instanceof SharedProcessLost;
}
