/**
 * The calls of one session as messages on one stream. Each is answered by its number, in any order, with what its own
 * method would answer: a stream saves the cost of a call for each, and changes nothing else. Whoever breaks the rules
 * of the stream loses it; a call that is refused does not end it.
 */
import { Metadata } from '@grpc/grpc-js';
import type { handleBidiStreamingCall, ServerDuplexStream } from '@grpc/grpc-js';
import { MillraceError, RenewedMap } from '../../../scheduler/core/index.ts';
import type { LeaseName } from '../../../scheduler/core/index.ts';
import { bytesOfMessage } from '../codec/message-writer.ts';
import { HeldLeases, type HeldRoom, heldRoom } from '../codec/packed-leases.ts';
import { refuse } from '../codec/values.ts';
import { ControlPlaneService } from '../gen/millrace/v1/control_plane.ts';
import { WorkRequest, WorkResponse } from '../gen/millrace/v1/work.ts';
import { PACKED_HEADER, WORK_CALLS_MAX, WORK_MESSAGE_BYTES_MAX } from '../limits.ts';
import type { Session } from '../../../scheduler/contract/index.ts';
import { asMillraceError, errorToDetail, statusOf } from '../status.ts';
import { recheckOf } from './access.ts';
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

/** A call without an answer. */
interface OpenCall {
  cancel: () => void;
}

class WorkStream {
  readonly #call: ServerDuplexStream<Buffer, Buffer>;
  readonly #messages: Messages;
  readonly #recheck: (() => Promise<unknown>) | null;
  /** Messages of a caller who is being checked again. */
  #unchecked: Buffer[] = [];
  #isChecking = false;
  readonly #calls: WorkerCalls;
  readonly #life: AbortSignal;
  /** Until the answer has left: what a caller does not read counts, too. */
  readonly #open: RenewedMap<number, OpenCall> = new RenewedMap();
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
    if (this.#recheck === null) return messages.forEach((bytes) => this.#receive(bytes));
    this.#unchecked.push(...messages);
    // Mostly it is done before more can come.
    if (this.#isChecking) this.#messages.pause();
    else this.#check(this.#recheck);
  }

  /** Those that come meanwhile are checked by themselves. */
  #check(recheck: () => Promise<unknown>): void {
    const messages = this.#unchecked;
    this.#unchecked = [];
    this.#isChecking = true;
    recheck().then(
      () => {
        for (const bytes of messages) this.#receive(bytes);
        if (this.#unchecked.length > 0) return this.#check(recheck);
        this.#isChecking = false;
        this.#messages.resume();
        if (this.#hasEnded) this.#endIfIdle();
      },
      (thrown: unknown) => this.#breakOff(thrown),
    );
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
      if (open !== undefined) refuse('call_no', `Call ${callNo} has no answer yet.`);
      if (this.#open.size >= WORK_CALLS_MAX) throw tooMany();
      // In the order in which they come, whatever becomes of the call: the next one builds on it.
      const held = call.$case === 'packedPoll' ? this.#held.after(call.value) : [];
      this.#begin(callNo, { ...call, held }, timeoutMs === 0 ? Infinity : timeoutMs);
    } catch (thrown) {
      this.#breakOff(thrown);
    }
  }

  #begin(callNo: number, call: Call, leftMs: number): void {
    const open: OpenCall = { cancel: () => {} };
    this.#open.set(callNo, open);
    this.#serve(callNo, call, this.#callerOf(open, leftMs)).catch((thrown: unknown) => {
      this.#breakOff(thrown);
    });
  }

  async #serve(callNo: number, call: Call, caller: WorkerCaller): Promise<void> {
    let bytes: Buffer;
    try {
      bytes = encoded(callNo, await this.#answer(call, caller));
    } catch (thrown) {
      bytes = encoded(callNo, errorOf(thrown));
    }
    this.#send(callNo, bytes);
  }

  async #answer(call: Call, caller: WorkerCaller): Promise<Outcome> {
    if (this.#life.aborted) throw shuttingDown();
    const calls = this.#calls;
    switch (call.$case) {
      case 'getTask':
        return { $case: 'getTask', value: await calls.getTask(call.value, caller) };
      case 'reportTaskStatus': {
        const value = await calls.reportTaskStatus(call.value, caller);
        return { $case: 'reportTaskStatus', value };
      }
      case 'heartbeat':
        return { $case: 'heartbeat', value: await calls.heartbeat(call.value, caller) };
      case 'packedPoll': {
        const value = await calls.packedPoll(call.value, call.held, caller);
        return { $case: 'packedTasks', value };
      }
      case 'packedReports': {
        const value = await calls.packedReports(call.value, caller);
        return { $case: 'reportTaskStatus', value };
      }
    }
  }

  #callerOf(open: OpenCall, leftMs: number): WorkerCaller {
    return {
      bind: (session) => this.#bind(session),
      carrier: this.#call,
      leftMs: () => leftMs,
      onCancelled(listener) {
        open.cancel = listener;
        return () => (open.cancel = () => {});
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
    for (const { cancel } of this.#open.values()) cancel();
    this.#open.clear();
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
  return bytesOfMessage({ callNo, outcome }, WorkResponse);
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
