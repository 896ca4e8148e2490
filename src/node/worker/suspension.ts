/**
 * Decides when a handler is suspended. Waits that are requested together are sent together; a running step holds the
 * suspension off, and so does everything the handler can still do without a wait. Once it is suspended, nothing of
 * its context settles any more: no `catch` and no `finally` of it runs.
 */
import { MillraceError } from '../../scheduler/core/index.ts';
import { PAYLOAD_BYTES_MAX } from '../../scheduler/contract/index.ts';
import type { CalledJob, WorkerSuspension } from '../../scheduler/contract/index.ts';

export interface SuspensionOwner {
  /** By the database's clock, or a little before it. */
  readonly nowMs: number;
  readonly signal: AbortSignal;
  readonly isStopping: boolean;
  /** The attempt ends with this. */
  suspend(until: WorkerSuspension): void;
}

type Wait = Extract<WorkerSuspension, { readonly type: 'wait' }>;

/** Something that has ended. */
interface Ending {
  readonly at: number;
  /** It came from outside; the others have ended because their time was over. */
  readonly isEvent: boolean;
  readonly tell: () => Promise<void>;
}

/** As if it had ended before everything else. */
export const FIRST_OF_ALL: number = -Infinity;

export class Suspension {
  readonly #owner: SuspensionOwner;
  /** By the name of their step: the same request twice is one wait. */
  readonly #sleeps: Map<string, { readonly forMs: number; readonly endMs: number }> = new Map();
  readonly #signals: Map<string, Wait['signals'][number]> = new Map();
  readonly #jobs: Map<string, CalledJob> = new Map();
  readonly #children: Map<string, unknown> = new Map();
  /** Waits that are over, but were not reported yet. */
  readonly #endings: Set<Ending> = new Set();
  #bytes = 0;
  /** Running steps and the like. */
  #busy = 0;
  #isPutAside = false;
  #turn: NodeJS.Immediate | null = null;
  #standstill: Promise<never> | null = null;
  #onPutAside: () => void = () => {};

  constructor(owner: SuspensionOwner) {
    this.#owner = owner;
  }

  /** The attempt is not suspended while this runs. */
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
   * Of things that have ended and are raced with each other, those win that had won when the handler first came by:
   * steps, because a wait never ends in the attempt that asks for it; then whatever ended first. What has ended when
   * an attempt begins has ended before everything that ends after it, so the order stays. An event of the very moment
   * at which a time was reached cannot have been seen before that.
   */
  over(at: number, kind: 'time' | 'event', before?: () => Promise<void>): Promise<void> {
    return this.during(
      () =>
        new Promise((resolve, reject) => {
          const tell = async (): Promise<void> => {
            await before?.().catch(reject);
            resolve();
          };
          this.#endings.add({ at, isEvent: kind === 'event', tell });
          if (this.#endings.size === 1) void this.#tellAll();
        }),
    );
  }

  /** One in each turn of the loop, so that all that follows from it comes before the next. */
  async #tellAll(): Promise<void> {
    while (this.#endings.size > 0) {
      await nextTurn();
      const [first] = [...this.#endings].toSorted(sooner);
      if (first === undefined) return;
      await first.tell();
      this.#endings.delete(first);
    }
  }

  sleep(step: string, forMs: number): Promise<never> {
    const endMs = this.#owner.nowMs + forMs;
    if (!this.#sleeps.has(step)) this.#sleeps.set(step, { forMs, endMs });
    return this.#standStill();
  }

  signal(signal: Wait['signals'][number]): Promise<never> {
    this.#signals.set(signal.step, signal);
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

  /** For a handler that runs elsewhere; at most one listener. */
  onPutAside(fn: () => void): void {
    this.#onPutAside = fn;
  }

  /** The attempt has ended otherwise. */
  close(): void {
    if (this.#turn !== null) clearImmediate(this.#turn);
    this.#turn = null;
    this.#endings.clear();
  }

  /** What no message can carry must not be retried for ever. */
  #weigh(bytes: number, what: string): void {
    this.#bytes += bytes;
    if (this.#bytes <= PAYLOAD_BYTES_MAX) return;
    throw new MillraceError({
      code: 'too_large',
      what: `${what} are ${this.#bytes} bytes in one call; the limit is ${PAYLOAD_BYTES_MAX}.`,
      todo: 'Pass less at a time, or pass locations instead of data.',
    });
  }

  /** Never resolves. Rejects when the attempt is stopped before it was suspended. */
  #standStill(): Promise<never> {
    if (this.#isPutAside) return never();
    this.#arm();
    this.#standstill ??= new Promise((_, reject) => {
      const { signal } = this.#owner;
      const stop = (): void => {
        // An abort carries its reason as a MillraceError.
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

  /** It began when it was asked for, not when the step that held it off had ended. */
  #restMs({ forMs, endMs }: { readonly forMs: number; readonly endMs: number }): number {
    return Math.min(forMs, Math.max(0, Math.ceil(endMs - this.#owner.nowMs)));
  }

  /** Children go first, and alone: what else is waited for is asked for again when they have ended. */
  #until(): WorkerSuspension {
    if (this.#children.size > 0) return { type: 'children', tasks: [...this.#children.values()] };
    return {
      type: 'wait',
      sleeps: [...this.#sleeps].map(([step, sleep]) => ({ step, forMs: this.#restMs(sleep) })),
      signals: [...this.#signals.values()],
      jobs: [...this.#jobs.values()],
    };
  }
}

function sooner(a: Ending, b: Ending): number {
  if (a.at !== b.at) return a.at < b.at ? -1 : 1;
  return Number(a.isEvent) - Number(b.isEvent);
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

function never(): Promise<never> {
  return new Promise(() => {});
}
