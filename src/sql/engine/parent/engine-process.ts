/**
 * Calls to a child process, which is started when needed and again after it has died. Aborting a call interrupts
 * DuckDB; if that does not help within the grace period the child is killed, and other calls that ran there are
 * repeated in the next child. A child that exceeds its memory limit is killed too.
 */
import { randomUUID } from 'node:crypto';
import { rm, rmdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { type Clock, deferred, type Deferred, FairGate, systemClock } from '../../../kit/index.ts';
import type { CustomEngineCode, EngineLimits } from '../engine.ts';
import type {
  Answers,
  EngineCall,
  Fault,
  FromChild,
  InstanceSettings,
  RowsCall,
} from '../messages.ts';
import { EngineChild } from './child.ts';
import { closedError, crashed, errorOf, exceeded } from './errors.ts';
import { linkedSignal } from './linked-signal.ts';
import { memoryBytesMax, WATCH_MS } from './memory-limit.ts';

export interface EngineProcessOptions {
  readonly limits: EngineLimits;
  /** Its purpose, for errors: "more memory than there is for planning". */
  readonly purpose: string;
  /** Concurrent calls in the child; others wait. */
  readonly callsMax: number;
  /** For planning: some optimizers are disabled. */
  readonly isPlanning?: boolean;
  /** The operators and functions of users that its calls may use. */
  readonly custom?: CustomEngineCode;
  /** The grace period of an aborted call. */
  readonly graceMs?: number;
  /** Above 0: the niceness of the process. */
  readonly niceness?: number;
  readonly clock?: Clock;
}

interface Pending {
  readonly child: EngineChild;
  readonly answer: Deferred<unknown>;
  readonly onPiece: ((bytes: Uint8Array) => void) | null;
  readonly onProgress: ((progress: OperatorProgress) => void) | null;
  hasPieces: boolean;
  /** The child's memory when the call began. */
  readonly startBytes: number;
  /** Other calls ran in the child at the same time. */
  isShared: boolean;
}

/** The child was killed because of another call. */
class UnrelatedCallLost extends Error {}

/**
 * The child crashed or exceeded its memory limit while several calls ran there, and it is not known which of them
 * caused it. Run alone, the one that did is identified.
 */
export class SharedProcessLost extends Error {}

/** A fault from DuckDB, before it is given its final wording. */
export class CallFailed extends Error {
  readonly fault: Fault;

  constructor(fault: Fault) {
    super(fault.what);
    this.fault = fault;
  }
}

const GRACE_MS = 2_000;

export class EngineProcess {
  /** The folder that its calls read and write; besides it only pinned files are open to them. */
  readonly folder: string;
  readonly #limits: EngineLimits;
  readonly #isPlanning: boolean;
  readonly #custom: CustomEngineCode | undefined;
  readonly #purpose: string;
  readonly #bytesMax: number;
  readonly #graceMs: number;
  readonly #niceness: number;
  readonly #clock: Clock;
  readonly #gate: FairGate;
  readonly #closing = new AbortController();
  readonly #pending = new Map<number, Pending>();
  #child: EngineChild | null = null;
  #nextId = 1;
  #cancelWatch: (() => void) | null = null;

  constructor(options: EngineProcessOptions) {
    const { limits, purpose, callsMax, isPlanning = false, graceMs, clock, niceness = 0 } = options;
    this.#niceness = niceness;
    this.#custom = options.custom;
    this.#limits = limits;
    this.#purpose = purpose;
    this.#bytesMax = memoryBytesMax(limits.memoryBytes);
    this.#isPlanning = isPlanning;
    this.folder = join(resolve(limits.spillFolder), `calls-${randomUUID()}`);
    this.#graceMs = graceMs ?? GRACE_MS;
    this.#clock = clock ?? systemClock;
    this.#gate = new FairGate({ max: callsMax });
  }

  /** Of the current child, if any. */
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
    watcher: Reader | null = null,
  ): Promise<Answers[Call['name']]> {
    return (await this.#asked(call, signal, watcher)) as Answers[Call['name']];
  }

  /** The pieces of a call that returns rows. Leaving the loop early ends the call. */
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
      leave = await this.#gate.enter('', either.signal);
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
      onPiece: reader?.onPiece ?? null,
      onProgress: reader?.onProgress ?? null,
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
    reader?.onStart?.(() => child.send({ kind: 'credit', id, pieces: 1 }));
    let cancelKill: (() => void) | null = null;
    const abort = (): void => {
      child.send({ kind: 'abort', id });
      child.abortHost(signal.reason);
      cancelKill = this.#clock.after(this.#graceMs, () => {
        // If this process was stalled, the answer may have arrived without having been read.
        setImmediate(() => {
          if (this.#pending.has(id)) child.kill(id);
        });
      });
    };
    signal.addEventListener('abort', abort, { once: true });
    try {
      const value = await mine.answer.promise;
      // It finished before the abort arrived, but the caller does not want the answer any more.
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
        ...customSettings(this.#custom, this.#niceness),
      },
      {
        onMessage: (message) => this.#heard(message),
        onGone: (how) => this.#gone(child, how),
      },
      this.#custom === undefined ? this.#niceness : 0,
      this.#custom?.host((fraction, note) => this.#progress(child, fraction, note)),
    );
    this.#child = child;
    return child;
  }

  /** Reported by code that runs in this process for a call in that child. */
  #progress(child: EngineChild, fraction: number, note: string | undefined): void {
    for (const [id, pending] of this.#pending)
      if (pending.child === child)
        pending.onProgress?.({ kind: 'progress', id, batch: 0, fraction, note: note ?? null });
  }

  /** Repeats while there are calls. */
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
      case 'progress':
        mine.onProgress?.(message);
        return;
      case 'piece':
        mine.hasPieces = true;
        mine.onPiece?.(message.bytes);
        return;
      case 'done':
        mine.answer.resolve(message.value);
        return;
      case 'failed':
        // After such an error DuckDB refuses everything, so the next call gets another child.
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
      // With several calls it is not known which one caused it.
      else if (!isKilled && !hasPieces && lost.length > 1) answer.reject(new SharedProcessLost());
      // Memory that earlier calls left behind filled it; in the next child the call starts with an empty process.
      else if (isShort && !hasPieces && startBytes > this.#bytesMax / 2)
        answer.reject(new UnrelatedCallLost());
      else
        answer.reject(isShort ? exceeded(this.#purpose, this.#limits.memoryBytes) : crashed(how));
    }
  }
}

function customSettings(
  custom: CustomEngineCode | undefined,
  niceness: number,
): Pick<InstanceSettings, 'custom'> | null {
  if (custom === undefined) return null;
  const { modules, functions, hosted } = custom;
  return { custom: { modules, functions, hosted, niceness } };
}

/** Faults that one call can cause in another. */
const MAY_BE_OF_ANOTHER: ReadonlySet<Fault['code']> = new Set(['out_of_memory', 'engine_crashed']);

function failure(fault: Fault, { isShared, hasPieces }: Pending): Error {
  if (isShared && !hasPieces && MAY_BE_OF_ANOTHER.has(fault.code)) return new SharedProcessLost();
  return fault.code === 'engine_crashed' ? errorOf(fault) : new CallFailed(fault);
}

/** The last output of a process that was refused memory by the system. */
const SHORT_OF_MEMORY = /bad_alloc|out of memory|Cannot allocate memory/i;

/** Follows a call while it runs. */
interface Reader {
  readonly onPiece?: (bytes: Uint8Array) => void;
  /** Called for each child that the call is sent to, with a function that grants one more piece. */
  readonly onStart?: (credit: () => void) => void;
  readonly onProgress?: (progress: OperatorProgress) => void;
}

/** How far a custom operator is. */
export type OperatorProgress = Extract<FromChild, { kind: 'progress' }>;
