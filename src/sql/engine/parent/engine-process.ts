/**
 * Calls to a child process that is started when it is needed, and again after it has died. A call that is aborted
 * interrupts DuckDB; when that does not help within the grace, the child is killed and whoever else had a call
 * there is served by the next one. A child that has more memory than its limit allows is killed too.
 */
import { randomUUID } from 'node:crypto';
import { rm, rmdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { type Clock, deferred, type Deferred, systemClock } from '../../../kit/index.ts';
import type { EngineLimits } from '../engine.ts';
import type { Answers, EngineCall, Fault, FromChild, RowsCall } from '../messages.ts';
import { EngineChild } from './child.ts';
import { closedError, crashed, errorOf, exceeded } from './errors.ts';
import { Gate } from './gate.ts';
import { linkedSignal } from './linked-signal.ts';
import { memoryBytesMax, WATCH_MS } from './memory-limit.ts';

export interface EngineProcessOptions {
  readonly limits: EngineLimits;
  /** What it does, in its errors: "more memory than there is for planning". */
  readonly purpose: string;
  /** How many calls the child has at once; others wait. */
  readonly callsMax: number;
  /** It plans: some optimizers are off. */
  readonly isPlanning?: boolean;
  /** How long an aborted call may take to end by itself. */
  readonly graceMs?: number;
  /** Above 0: it yields processors to others by so much, as the operating system counts. */
  readonly niceness?: number;
  readonly clock?: Clock;
}

interface Pending {
  readonly child: EngineChild;
  readonly answer: Deferred<unknown>;
  readonly onPiece: ((bytes: Uint8Array) => void) | null;
  hasPieces: boolean;
  /** What the child had in memory when the call began. */
  readonly startBytes: number;
  /** Other calls were at work in the child at the same time. */
  isShared: boolean;
}

/** Thrown to those who lose their child because of somebody else. */
class UnrelatedCallLost extends Error {}

/**
 * The child crashed, or had more memory than it may have, while several calls were at work there, and nobody knows
 * which of them brought it down. Called alone, the one that did is found.
 */
export class SharedProcessLost extends Error {}

/** A fault of DuckDB on its way to whoever gives it the right words. */
export class CallFailed extends Error {
  readonly fault: Fault;

  constructor(fault: Fault) {
    super(fault.what);
    this.fault = fault;
  }
}

const GRACE_MS = 2_000;

export class EngineProcess {
  /** What its calls read and write; all else but pinned files is closed to them. */
  readonly folder: string;
  readonly #limits: EngineLimits;
  readonly #isPlanning: boolean;
  readonly #purpose: string;
  readonly #bytesMax: number;
  readonly #graceMs: number;
  readonly #niceness: number;
  readonly #clock: Clock;
  readonly #gate: Gate;
  readonly #closing = new AbortController();
  readonly #pending = new Map<number, Pending>();
  #child: EngineChild | null = null;
  #nextId = 1;
  #cancelWatch: (() => void) | null = null;

  constructor(options: EngineProcessOptions) {
    const { limits, purpose, callsMax, isPlanning = false, graceMs, clock, niceness = 0 } = options;
    this.#niceness = niceness;
    this.#limits = limits;
    this.#purpose = purpose;
    this.#bytesMax = memoryBytesMax(limits.memoryBytes);
    this.#isPlanning = isPlanning;
    this.folder = join(resolve(limits.spillFolder), `calls-${randomUUID()}`);
    this.#graceMs = graceMs ?? GRACE_MS;
    this.#clock = clock ?? systemClock;
    this.#gate = new Gate(callsMax);
  }

  /** Of the child that is there now, if any. */
  get pid(): number | undefined {
    return this.#child?.pid;
  }

  async warm(): Promise<string> {
    this.#closing.signal.throwIfAborted();
    const child = this.#started();
    child.hold(true);
    try {
      return await child.ready;
    } catch (error) {
      throw crashed(error instanceof Error ? error.message : String(error));
    } finally {
      if (this.#pending.size === 0) child.hold(false);
    }
  }

  /** Fails with the signal's reason, `CallFailed`, `SharedProcessLost`, `out_of_memory` or `engine_crashed`. */
  async call<Call extends EngineCall>(
    call: Call,
    signal: AbortSignal,
  ): Promise<Answers[Call['name']]> {
    return (await this.#asked(call, signal, null)) as Answers[Call['name']];
  }

  /** The pieces of a call that sends rows. Leaving early ends the call. */
  async *stream(call: RowsCall, signal: AbortSignal): AsyncGenerator<Uint8Array> {
    const left = new AbortController();
    const either = linkedSignal(signal, left.signal);
    const pieces: Uint8Array[] = [];
    let wake = deferred();
    let credit: () => void = () => {};
    let isOver = false;
    const over = this.#asked(call, either.signal, {
      onPiece: (bytes) => {
        pieces.push(bytes);
        wake.resolve();
      },
      onStart: (give) => {
        credit = give;
      },
    }).finally(() => {
      isOver = true;
      wake.resolve();
    });
    over.catch(() => {});
    try {
      for (;;) {
        const bytes = pieces.shift();
        if (bytes !== undefined) {
          yield bytes;
          credit();
          continue;
        }
        if (isOver) break;
        await wake.promise;
        wake = deferred();
      }
      await over;
    } finally {
      left.abort(new Error('The reader has left.'));
      await over.catch(() => {});
      either.unlink();
    }
  }

  async close(): Promise<void> {
    this.#closing.abort(closedError());
    const child = this.#child;
    if (child !== null) await child.close();
    await rm(this.folder, { recursive: true, force: true });
    // Others may spill there too.
    await rmdir(this.#limits.spillFolder).catch(() => {});
  }

  async #asked(call: EngineCall, signal: AbortSignal, reader: Reader | null): Promise<unknown> {
    const either = linkedSignal(signal, this.#closing.signal);
    let leave: (() => void) | null = null;
    try {
      leave = await this.#gate.enter(either.signal);
      for (;;) {
        try {
          return await this.#once(call, either.signal, reader);
        } catch (error) {
          if (!(error instanceof UnrelatedCallLost)) throw error;
        }
      }
    } finally {
      leave?.();
      either.unlink();
    }
  }

  async #once(call: EngineCall, signal: AbortSignal, reader: Reader | null): Promise<unknown> {
    signal.throwIfAborted();
    const child = this.#started();
    const id = this.#nextId;
    this.#nextId += 1;
    const mine: Pending = {
      child,
      answer: deferred(),
      onPiece: reader === null ? null : reader.onPiece,
      hasPieces: false,
      startBytes: child.residentBytes(),
      isShared: false,
    };
    this.#pending.set(id, mine);
    const beside = [...this.#pending.values()].filter((each) => each.child === child);
    if (beside.length > 1) for (const each of beside) each.isShared = true;
    this.#watch();
    child.hold(true);
    child.send({ kind: 'call', id, call });
    reader?.onStart(() => child.send({ kind: 'credit', id, pieces: 1 }));
    let cancelKill: (() => void) | null = null;
    const abort = (): void => {
      child.send({ kind: 'abort', id });
      cancelKill = this.#clock.after(this.#graceMs, () => {
        // After a standstill of this process the answer may be there, unread.
        setImmediate(() => {
          if (this.#pending.has(id)) child.kill(id);
        });
      });
    };
    signal.addEventListener('abort', abort, { once: true });
    try {
      const value = await mine.answer.promise;
      // It was finished before the abort arrived; whoever aborts does not want it all the same.
      signal.throwIfAborted();
      return value;
    } catch (error) {
      signal.throwIfAborted();
      throw error;
    } finally {
      signal.removeEventListener('abort', abort);
      (cancelKill as (() => void) | null)?.();
      this.#pending.delete(id);
      if (this.#pending.size === 0) child.hold(false);
    }
  }

  #started(): EngineChild {
    if (this.#child !== null) return this.#child;
    const spillFolder = join(this.#limits.spillFolder, `engine-${randomUUID()}`);
    const child: EngineChild = new EngineChild(
      {
        ...this.#limits,
        ...{ spillFolder, folder: this.folder, isPlanning: this.#isPlanning },
      },
      {
        onMessage: (message) => this.#heard(message),
        onGone: (how) => this.#gone(child, how),
      },
      this.#niceness,
    );
    this.#child = child;
    return child;
  }

  /** As long as there are calls. */
  #watch(): void {
    if (this.#cancelWatch !== null || this.#pending.size === 0) return;
    this.#cancelWatch = this.#clock.after(WATCH_MS, () => {
      this.#cancelWatch = null;
      const children = new Set([...this.#pending.values()].map(({ child }) => child));
      for (const child of children)
        if (child.residentBytes() > this.#bytesMax) this.#forget(child).killForMemory();
      this.#watch();
    });
  }

  #heard(message: FromChild): void {
    if (message.kind === 'ready' || message.kind === 'memory' || message.id === null) return;
    const mine = this.#pending.get(message.id);
    if (mine === undefined) return;
    switch (message.kind) {
      case 'piece':
        mine.hasPieces = true;
        mine.onPiece?.(message.bytes);
        return;
      case 'done':
        mine.answer.resolve(message.value);
        return;
      case 'failed':
        // DuckDB refuses everything after such an error, so the next call gets another child.
        if (message.fault.isBroken === true) this.#forget(mine.child).kill(message.id);
        mine.answer.reject(failure(message.fault, mine));
    }
  }

  #forget(child: EngineChild): EngineChild {
    if (this.#child === child) this.#child = null;
    return child;
  }

  #gone(gone: EngineChild, how: string): void {
    this.#forget(gone);
    const lost = [...this.#pending].filter(([, { child }]) => child === gone);
    const isShort = gone.hasExceeded || SHORT_OF_MEMORY.test(how);
    for (const [id, { answer, hasPieces, startBytes }] of lost) {
      const isKilled = gone.killedFor !== null;
      if (isKilled && gone.killedFor !== id && !hasPieces) answer.reject(new UnrelatedCallLost());
      // Of several nobody knows which one has brought it down.
      else if (!isKilled && !hasPieces && lost.length > 1) answer.reject(new SharedProcessLost());
      // What others had left there filled it; in the next child it is alone from the start.
      else if (isShort && !hasPieces && startBytes > this.#bytesMax / 2)
        answer.reject(new UnrelatedCallLost());
      else
        answer.reject(isShort ? exceeded(this.#purpose, this.#limits.memoryBytes) : crashed(how));
    }
  }
}

/** What one call takes of the memory, or breaks, another one may feel. */
const MAY_BE_OF_ANOTHER: ReadonlySet<Fault['code']> = new Set(['out_of_memory', 'engine_crashed']);

function failure(fault: Fault, { isShared, hasPieces }: Pending): Error {
  if (isShared && !hasPieces && MAY_BE_OF_ANOTHER.has(fault.code)) return new SharedProcessLost();
  return fault.code === 'engine_crashed' ? errorOf(fault) : new CallFailed(fault);
}

/** The last words of a process that was refused memory by the system. */
const SHORT_OF_MEMORY = /bad_alloc|out of memory|Cannot allocate memory/i;

interface Reader {
  readonly onPiece: (bytes: Uint8Array) => void;
  /** Told with each child that the call is given to: how to say that a piece was taken. */
  readonly onStart: (credit: () => void) => void;
}
