/**
 * The calls of one session as messages on one stream. Each is answered by its number, in any order, with what its own
 * method would answer: a stream saves the cost of a call for each, and changes nothing else. Whoever breaks the rules
 * of the stream loses it; a call that is refused does not end it.
 */
import { Metadata } from '@grpc/grpc-js';
import type { handleBidiStreamingCall, ServerDuplexStream } from '@grpc/grpc-js';
import { MillraceError } from '../../../scheduler/core/index.ts';
import type { LeaseName } from '../../../scheduler/core/index.ts';
import { HeldLeases, type HeldRoom, heldRoom } from '../codec/packed-leases.ts';
import { refuse } from '../codec/values.ts';
import { ControlPlaneService } from '../gen/millrace/v1/control_plane.ts';
import { WorkRequest, WorkResponse } from '../gen/millrace/v1/work.ts';
import { PACKED_HEADER, WORK_CALLS_MAX, WORK_MESSAGE_BYTES_MAX } from '../limits.ts';
import type { Session } from '../../../scheduler/contract/index.ts';
import { asMillraceError, errorToDetail, statusOf } from '../status.ts';
import { type Recheck, recheckOf } from './access.ts';
import { shuttingDown } from './handlers.ts';
import { cutOff } from './http2-call.ts';
import { type Messages, messagesOf } from './messages.ts';
import { boundSession } from './session-binding.ts';
import type { WorkerCaller, WorkerCalls } from './worker-calls.ts';

type Outcome = NonNullable<WorkResponse['outcome']>;
/** With the leases that are held according to the packed polls of the stream. */
type Call = Exclude<NonNullable<WorkRequest['call']>, { readonly $case: 'cancel' }> & {
  readonly held: readonly LeaseName[];
};

const asTheyAre = (bytes: Buffer): Buffer => bytes;

/** The bytes are read here: what is wrong with them ends the stream with a reason. */
export const workDefinition = {
  ...ControlPlaneService.work,
  requestDeserialize: asTheyAre,
  responseSerialize: asTheyAre,
};

export function workHandler(
  calls: WorkerCalls,
  life: AbortSignal,
): handleBidiStreamingCall<Buffer, Buffer> {
  const room = heldRoom();
  return (call) => new WorkStream(call, calls, life, room).serve();
}

const ANSWERS: Readonly<Record<Call['$case'], Outcome['$case']>> = {
  getTask: 'getTask',
  reportTaskStatus: 'reportTaskStatus',
  heartbeat: 'heartbeat',
  packedPoll: 'packedTasks',
  packedReports: 'reportTaskStatus',
};

/** A call without an answer. */
interface OpenCall {
  readonly callNo: number;
  cancel: () => void;
}

const doNothing = (): void => {};

/** A few at a time, and mostly one: for a table, each of them would be a change of what has long been old. */
class OpenCalls {
  readonly #places: (OpenCall | null)[] = [];
  size = 0;

  get(callNo: number): OpenCall | null {
    for (const open of this.#places) if (open?.callNo === callNo) return open;
    return null;
  }

  add(open: OpenCall): void {
    const at = this.#places.indexOf(null);
    if (at === -1) this.#places.push(open);
    else this.#places[at] = open;
    this.size += 1;
  }

  delete(callNo: number): void {
    const at = this.#places.findIndex((open) => open?.callNo === callNo);
    if (at === -1) return;
    this.#places[at] = null;
    this.size -= 1;
  }

  cancelAll(): void {
    const all = this.#places.splice(0);
    this.size = 0;
    for (const open of all) open?.cancel();
  }
}

class WorkStream {
  readonly #call: ServerDuplexStream<Buffer, Buffer>;
  readonly #messages: Messages;
  readonly #recheck: Recheck | null;
  /** Messages of a caller who is being checked again. */
  #unchecked: Buffer[] = [];
  #isChecking = false;
  readonly #calls: WorkerCalls;
  readonly #life: AbortSignal;
  /** Until the answer has left: what a caller does not read counts, too. */
  readonly #open: OpenCalls = new OpenCalls();
  #session: { readonly shown: Session; readonly bound: Session } | null = null;
  /** What packed polls have said to be held. */
  readonly #held: HeldLeases;
  #hasEnded = false;
  #isOver = false;

  constructor(
    call: ServerDuplexStream<Buffer, Buffer>,
    calls: WorkerCalls,
    life: AbortSignal,
    room: HeldRoom,
  ) {
    this.#held = new HeldLeases(room);
    this.#call = call;
    this.#calls = calls;
    this.#life = life;
    this.#recheck = recheckOf(call.metadata);
    this.#messages = messagesOf(call, {
      bytesMax: WORK_MESSAGE_BYTES_MAX,
      onMessages: (messages) => this.#admit(messages),
      onEnd: () => this.#ended(),
      onFault: (error) => this.#breakOff(error),
    });
  }

  serve(): void {
    const header = new Metadata();
    header.set(PACKED_HEADER, '1');
    this.#call.sendMetadata(header);
    this.#call.once('cancelled', () => this.#over());
    this.#life.addEventListener('abort', this.#endIfIdle, { once: true });
    this.#endIfIdle();
  }

  #admit(messages: readonly Buffer[]): void {
    if (this.#isChecking) {
      this.#unchecked.push(...messages);
      // Mostly it is done before more can come.
      this.#messages.pause();
    } else this.#check(messages);
  }

  #check(messages: readonly Buffer[]): void {
    const checked = this.#recheck?.();
    if (!(checked instanceof Promise)) return this.#checked(messages);
    this.#isChecking = true;
    checked.then(
      () => this.#checked(messages),
      (thrown: unknown) => this.#breakOff(thrown),
    );
  }

  /** Those that have come meanwhile are checked by themselves. */
  #checked(messages: readonly Buffer[]): void {
    for (const bytes of messages) this.#receive(bytes);
    const unchecked = this.#unchecked;
    if (unchecked.length > 0) {
      this.#unchecked = [];
      return this.#check(unchecked);
    }
    if (!this.#isChecking) return;
    this.#isChecking = false;
    this.#messages.resume();
    if (this.#hasEnded) this.#endIfIdle();
  }

  #ended(): void {
    this.#hasEnded = true;
    if (!this.#isChecking) this.#endIfIdle();
  }

  #receive(bytes: Buffer): void {
    if (this.#isOver) return;
    try {
      const { callNo, timeoutMs, call } = decoded(bytes);
      if (call === undefined) refuse('call', 'It is missing, or this server does not know it.');
      const open = this.#open.get(callNo);
      if (call.$case === 'cancel') return open?.cancel();
      if (open !== null) refuse('call_no', `Call ${callNo} has no answer yet.`);
      if (this.#open.size >= WORK_CALLS_MAX) throw tooMany();
      // In the order in which they come, whatever becomes of the call: the next one builds on it.
      const held = call.$case === 'packedPoll' ? this.#held.after(call.value) : [];
      this.#begin(callNo, { ...call, held }, timeoutMs === 0 ? Infinity : timeoutMs);
    } catch (thrown) {
      this.#breakOff(thrown);
    }
  }

  #begin(callNo: number, call: Call, leftMs: number): void {
    const open: OpenCall = { callNo, cancel: doNothing };
    this.#open.add(open);
    const $case = ANSWERS[call.$case];
    this.#ask(call, this.#callerOf(open, leftMs)).then(
      (value) => this.#answer(callNo, { $case, value } as Outcome),
      (thrown: unknown) => this.#answer(callNo, errorOf(thrown)),
    );
  }

  #ask(call: Call, caller: WorkerCaller): Promise<NonNullable<Outcome['value']>> {
    if (this.#life.aborted) return Promise.reject(shuttingDown());
    const calls = this.#calls;
    switch (call.$case) {
      case 'getTask':
        return calls.getTask(call.value, caller);
      case 'reportTaskStatus':
        return calls.reportTaskStatus(call.value, caller);
      case 'heartbeat':
        return calls.heartbeat(call.value, caller);
      case 'packedPoll':
        return calls.packedPoll(call.value, call.held, caller);
      case 'packedReports':
        return calls.packedReports(call.value, caller);
    }
  }

  #answer(callNo: number, outcome: Outcome): void {
    try {
      this.#send(callNo, encoded(callNo, outcome));
    } catch (thrown) {
      this.#breakOff(thrown);
    }
  }

  #callerOf(open: OpenCall, leftMs: number): WorkerCaller {
    return {
      bind: (session) => this.#bind(session),
      carrier: this.#call,
      leftMs: () => leftMs,
      onCancelled(listener) {
        open.cancel = listener;
        return () => (open.cancel = doNothing);
      },
    };
  }

  /** The credential was checked with this message, and is that of all others. */
  #bind<T extends Session>(session: T): T {
    const { nodeId, sessionId } = session;
    this.#session ??= { shown: { nodeId, sessionId }, bound: boundSession(session, this.#call) };
    const { shown, bound } = this.#session;
    if (shown.sessionId !== sessionId || shown.nodeId !== nodeId) {
      refuse('session_id', 'This stream belongs to another session. Open one for each session.');
    }
    return bound.sessionId === sessionId ? session : { ...session, sessionId: bound.sessionId };
  }

  #send(callNo: number, bytes: Buffer): void {
    if (this.#isOver) return;
    this.#messages.write(bytes, () => {
      this.#open.delete(callNo);
      this.#endIfIdle();
    });
  }

  readonly #endIfIdle = (): void => {
    if (this.#isOver || this.#open.size > 0) return;
    // All that was asked here is answered: to the other side it looks like a connection that is gone.
    if (!this.#life.aborted && !this.#hasEnded) return;
    this.#held.end();
    this.#call.end();
  };

  /** With a reason, if the other side reads. */
  #breakOff(thrown: unknown): void {
    if (this.#isOver) return;
    this.#over();
    if (this.#messages.hasUnsent) cutOff(this.#call);
    else this.#call.emit('error', statusOf(thrown));
  }

  #over(): void {
    this.#isOver = true;
    this.#unchecked = [];
    this.#messages.discard();
    this.#held.end();
    this.#life.removeEventListener('abort', this.#endIfIdle);
    this.#open.cancelAll();
  }
}

function decoded(bytes: Buffer): WorkRequest {
  try {
    return WorkRequest.decode(bytes);
  } catch {
    return refuse('call', 'The message does not match the type of the method.');
  }
}

function encoded(callNo: number, outcome: Outcome): Buffer {
  const { buffer, byteOffset, byteLength } = WorkResponse.encode({ callNo, outcome }).finish();
  return Buffer.from(buffer, byteOffset, byteLength);
}

function errorOf(thrown: unknown): Outcome {
  return { $case: 'error', value: errorToDetail(asMillraceError(thrown)) };
}

function tooMany(): MillraceError {
  return new MillraceError({
    code: 'overloaded',
    what: `More than ${WORK_CALLS_MAX} calls on one stream have no answer.`,
    todo: 'Wait for answers before sending more.',
  });
}
