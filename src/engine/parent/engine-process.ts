/**
 * Calls to a child process that is started when it is needed, and again after it has died. A call that is aborted
 * interrupts DuckDB; when that does not help within the grace, the child is killed and whoever else had a call
 * there is served by the next one.
 */
import { randomUUID } from 'node:crypto';
import { rm, rmdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { type Clock, deferred, type Deferred, systemClock } from '../../kit/index.ts';
import type { EngineLimits } from '../engine.ts';
import type { Answers, EngineCall, Fault, FromChild, RowsCall } from '../messages.ts';
import { EngineChild } from './child.ts';
import { closedError, crashed, errorOf } from './errors.ts';
import { Gate } from './gate.ts';
import { linkedSignal } from './linked-signal.ts';

export interface EngineProcessOptions {
  readonly limits: EngineLimits;
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
}

/** Thrown to those who lose their child because of somebody else. */
class Bystander extends Error {}

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
  readonly #graceMs: number;
  readonly #niceness: number;
  readonly #clock: Clock;
  readonly #gate: Gate;
  readonly #closing = new AbortController();
  readonly #pending = new Map<number, Pending>();
  #child: EngineChild | null = null;
  #nextId = 1;

  constructor(options: EngineProcessOptions) {
    const { limits, callsMax, isPlanning = false, graceMs, clock, niceness = 0 } = options;
    this.#niceness = niceness;
    this.#limits = limits;
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

  /** Fails with the signal's reason, `CallFailed`, or `engine_crashed`. */
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
          if (!(error instanceof Bystander)) throw error;
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
    };
    this.#pending.set(id, mine);
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

  #heard(message: FromChild): void {
    if (message.kind === 'ready' || message.id === null) return;
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
        mine.answer.reject(
          message.fault.code === 'engine_crashed'
            ? errorOf(message.fault)
            : new CallFailed(message.fault),
        );
    }
  }

  #forget(child: EngineChild): EngineChild {
    if (this.#child === child) this.#child = null;
    return child;
  }

  #gone(gone: EngineChild, how: string): void {
    this.#forget(gone);
    for (const [id, { child, answer, hasPieces }] of this.#pending) {
      if (child !== gone) continue;
      const isBystander = gone.killedFor !== null && gone.killedFor !== id && !hasPieces;
      answer.reject(isBystander ? new Bystander() : crashed(how));
    }
  }
}

interface Reader {
  readonly onPiece: (bytes: Uint8Array) => void;
  /** Told with each child that the call is given to: how to say that a piece was taken. */
  readonly onStart: (credit: () => void) => void;
}
