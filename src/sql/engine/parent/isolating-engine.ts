/**
 * Many short calls in one child process, and a few processes of one call each beside it: there goes what takes long,
 * and what was at work when the shared one crashed or had too much memory. So one call that is slow or greedy costs itself, and
 * the others a moment.
 */
import { FairGate } from '../../../kit/index.ts';
import type { Answers, EngineCall } from '../messages.ts';
import { EngineProcess, type EngineProcessOptions, SharedProcessLost } from './engine-process.ts';
import { crowded } from './errors.ts';
import { linkedSignal } from './linked-signal.ts';

export interface CallOptions {
  readonly caller?: string;
  /** Where callers take turns for the shared process, beside its own limit. */
  readonly turns?: FairGate;
  /** A call that takes longer than this, while others wait for a turn, goes on alone from its beginning. */
  readonly quickMs?: number;
}

/** Processes of one call each. */
const ALONE_MAX = 2;
/** Calls that wait for one of these. */
const WAITING_MAX = 16;
/** A process of one call that nobody needs is ended after this long. */
const IDLE_MS = 30_000;
const LOOK_MS = 100;
const YOUNG_MS = 300;
const ANYBODY = '';

/** Thrown to a call that is to go on alone. */
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

  /** Of the shared process, if it is there now. */
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
        // Starting the process is not the fault of the call.
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
    // Most likely not the one that brought it down: that one has been at it for longer.
    const isYoung = performance.now() - startMs < YOUNG_MS;
    const lent = await this.#acquire(caller, signal, isYoung);
    try {
      return await lent.engine.call(call, signal);
    } finally {
      lent.release();
    }
  }

  /** Each process has a folder of its own, so the call is written for the one that it is given to. */
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

/** Aborts when the time is over and somebody waits. */
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
