/**
 * When a handler is put aside. Waits that are asked for in the same breath are sent together; a step at
 * work holds the suspension off, and so does everything the handler can still do without a wait. Once it
 * is put aside, nothing of its context settles any more: no `catch` and no `finally` of it runs.
 */
import { MillraceError } from '../core/index.ts';
import { PAYLOAD_BYTES_MAX } from '../protocol/index.ts';
import type { CalledJob, WorkerSuspension } from '../protocol/index.ts';

export interface SuspensionOwner {
  readonly signal: AbortSignal;
  readonly isStopping: boolean;
  /** The attempt ends with this. */
  suspend(until: WorkerSuspension): void;
}

type Wait = Extract<WorkerSuspension, { readonly type: 'wait' }>;

export class Suspension {
  readonly #owner: SuspensionOwner;
  /** By the name of their step: who asks for the same thing twice waits for it once. */
  readonly #sleeps: Map<string, Wait['sleeps'][number]> = new Map();
  readonly #signals: Map<string, Wait['signals'][number]> = new Map();
  readonly #jobs: Map<string, CalledJob> = new Map();
  readonly #children: Map<string, unknown> = new Map();
  #bytes = 0;
  /** Steps and the like that are at work. */
  #busy = 0;
  #isPutAside = false;
  #turn: NodeJS.Immediate | null = null;
  #standstill: Promise<never> | null = null;
  #onPutAside: () => void = () => {};

  constructor(owner: SuspensionOwner) {
    this.#owner = owner;
  }

  /** The attempt is not put aside while this is at work. */
  async during<T>(work: () => T | Promise<T>): Promise<T> {
    if (this.#isPutAside) return never();
    this.#busy += 1;
    try {
      return await work();
    } finally {
      this.#busy -= 1;
      if (this.#busy === 0) this.#arm();
    }
  }

  /**
   * Of things that are over and are raced with each other, those win that had won when the handler first
   * came by: steps, because a wait never ends in the attempt that asks for it; then what came from
   * outside, because a sleep that was lost to it goes on and ends later.
   */
  over(what: 'sleep' | 'event'): Promise<void> {
    return this.during(async () => {
      await nextTurn();
      if (what === 'sleep') await nextTurn();
    });
  }

  sleep(step: string, forMs: number): Promise<never> {
    if (!this.#sleeps.has(step)) this.#sleeps.set(step, { step, forMs });
    return this.#standStill();
  }

  signal(step: string, name: string): Promise<never> {
    this.#signals.set(step, { step, name });
    return this.#standStill();
  }

  job(job: CalledJob, bytes: number): Promise<never> {
    if (!this.#jobs.has(job.step)) {
      this.#weigh(bytes, 'The jobs that this task calls');
      this.#jobs.set(job.step, job);
    }
    return this.#standStill();
  }

  children(
    tasks: Iterable<{ readonly id: string; readonly document: unknown }>,
    bytes: number,
  ): Promise<never> {
    this.#weigh(bytes, 'The tasks that this one adds');
    for (const { id, document } of tasks) this.#children.set(id, document);
    return this.#standStill();
  }

  /** For whoever runs the handler elsewhere; there is one of them at most. */
  onPutAside(fn: () => void): void {
    this.#onPutAside = fn;
  }

  /** The attempt has ended otherwise. */
  close(): void {
    if (this.#turn !== null) clearImmediate(this.#turn);
    this.#turn = null;
  }

  /** What no message could carry must not be tried for ever. */
  #weigh(bytes: number, what: string): void {
    this.#bytes += bytes;
    if (this.#bytes <= PAYLOAD_BYTES_MAX) return;
    throw new MillraceError({
      code: 'too_large',
      what: `${what} are ${this.#bytes} bytes in one go, ${PAYLOAD_BYTES_MAX} are allowed.`,
      todo: 'Hand over less at a time, or where things lie instead of the things.',
    });
  }

  /** Never resolves. Rejects when the attempt is stopped before it was put aside. */
  #standStill(): Promise<never> {
    if (this.#isPutAside) return never();
    this.#arm();
    this.#standstill ??= new Promise((_, reject) => {
      const { signal } = this.#owner;
      const stop = (): void => {
        // Whoever aborts says why, as a MillraceError.
        // oxlint-disable-next-line typescript/prefer-promise-reject-errors
        if (!this.#isPutAside) reject(signal.reason);
      };
      if (signal.aborted) stop();
      else signal.addEventListener('abort', stop, { once: true });
    });
    return this.#standstill;
  }

  #isAwaited(): boolean {
    return this.#sleeps.size + this.#signals.size + this.#jobs.size + this.#children.size > 0;
  }

  /** All that can run without time passing runs before the next turn of the loop. */
  #arm(): void {
    if (this.#turn !== null || !this.#isAwaited()) return;
    this.#turn = setImmediate(() => {
      this.#turn = null;
      if (this.#busy > 0 || this.#isPutAside || this.#owner.isStopping) return;
      this.#isPutAside = true;
      this.#onPutAside();
      this.#owner.suspend(this.#until());
    });
  }

  /** Children go first, and alone: what else is waited for is asked for again when they have ended. */
  #until(): WorkerSuspension {
    if (this.#children.size > 0) return { type: 'children', tasks: [...this.#children.values()] };
    return {
      type: 'wait',
      sleeps: [...this.#sleeps.values()],
      signals: [...this.#signals.values()],
      jobs: [...this.#jobs.values()],
    };
  }
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

function never(): Promise<never> {
  return new Promise(() => {});
}
