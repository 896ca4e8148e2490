/**
 * One stream of calls to a server. A call that waits on it when it breaks has failed like a call of its own on a connection
 * that breaks: whether it was carried out is not known, and the caller decides about a retry.
 */
import { Metadata, status } from '@grpc/grpc-js';
import type { Client, ClientDuplexStream, ServiceError } from '@grpc/grpc-js';
import { MillraceError, RenewedMap } from '../../../scheduler/core/index.ts';
import { deferred, systemClock } from '../../../kit/index.ts';
import { ControlPlaneService } from '../gen/millrace/v1/control_plane.ts';
import { WorkRequest } from '../gen/millrace/v1/work.ts';
import type { WorkResponse } from '../gen/millrace/v1/work.ts';
import { SentLeases } from '../codec/packed-leases.ts';
import { PACKED_HEADER, WORK_CALLS_SENT_MAX, WORK_MESSAGE_BYTES_MAX } from '../limits.ts';
import { errorFromDetail } from '../status.ts';

/** What became of a call: an answer, a refusal by the other side, or a failure on the way. */
export type Sent<Response> =
  | { readonly response: Response }
  | { readonly error: MillraceError }
  | { readonly failure: ServiceError };

/** A call as it goes on a stream. */
export type Carried = Exclude<NonNullable<WorkRequest['call']>, { readonly $case: 'cancel' }>;

/** A call in its packed form. */
export interface PackedCall {
  readonly call: Carried;
  /** It is on its way. */
  readonly sent?: () => void;
}

/** How a call is packed, for a stream on which these leases were sent. */
export type Packing = (sent: SentLeases) => PackedCall;

type Outcome = WorkResponse['outcome'];

/** What each call is answered with. */
const ANSWERS: Readonly<Record<Carried['$case'], NonNullable<Outcome>['$case']>> = {
  getTask: 'getTask',
  reportTaskStatus: 'reportTaskStatus',
  heartbeat: 'heartbeat',
  packedPoll: 'packedTasks',
  packedReports: 'reportTaskStatus',
};

interface OpenCall {
  readonly $case: Carried['$case'];
  readonly settle: (sent: Sent<unknown>) => void;
}

const UINT32_MAX = 2 ** 32 - 1;
const CANCELLED = { failure: failed(status.CANCELLED, 'Cancelled') };
const LATE = { failure: failed(status.DEADLINE_EXCEEDED, 'Deadline exceeded') };

const { path, responseDeserialize } = ControlPlaneService.work;
const asTheyAre = (bytes: Buffer): Buffer => bytes;

export class WorkStream {
  readonly #call: ClientDuplexStream<Buffer, WorkResponse>;
  readonly #onOver: (stream: WorkStream) => void;
  /** Calls without an answer, also those that nobody waits for any more: the server counts them. */
  readonly #open: RenewedMap<number, OpenCall> = new RenewedMap();
  #waiting = 0;
  #lastNo = 0;
  #isRetired = false;
  #isOver = false;
  #hasAnswered = false;
  /** Null until the server has said that it reads packed calls. */
  #leases: SentLeases | null = null;

  constructor(client: Client, metadata: Metadata, onOver: (stream: WorkStream) => void) {
    this.#onOver = onOver;
    this.#call = client.makeBidiStreamRequest(path, asTheyAre, responseDeserialize, metadata);
    this.#call.on('metadata', (header: Metadata) => {
      if (header.get(PACKED_HEADER)[0] === '1') this.#leases = new SentLeases();
    });
    this.#call.on('data', (response: WorkResponse) => this.#receive(response));
    this.#call.on('error', (failure: ServiceError) => this.#over(failure));
    this.#call.on('end', () => this.#over(failed(status.UNAVAILABLE, 'The stream has ended')));
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  get hasAnswered(): boolean {
    return this.#hasAnswered;
  }

  /** Null when it takes no such call now. */
  ask(
    plain: Carried,
    deadlineMs: number,
    signal: AbortSignal | undefined,
    packing?: Packing,
  ): Promise<Sent<unknown>> | null {
    if (this.#open.size >= WORK_CALLS_SENT_MAX) return null;
    const packed = this.#leases === null ? undefined : packing?.(this.#leases);
    const call = packed?.call ?? plain;
    const callNo = this.#nextNo();
    const timeoutMs = Math.min(Math.ceil(deadlineMs), UINT32_MAX);
    const bytes = encoded({ callNo, timeoutMs, call });
    if (bytes.length > WORK_MESSAGE_BYTES_MAX) return null;
    if (signal?.aborted === true) return Promise.resolve(CANCELLED);
    const outcome = deferred<Sent<unknown>>();
    const { $case } = call;
    const giveUp = (sent: Sent<unknown>): void => {
      settle(sent);
      this.#abandon(callNo, $case);
    };
    const abort = (): void => giveUp(CANCELLED);
    const cancelTimer = systemClock.after(deadlineMs, () => giveUp(LATE));
    const settle = (sent: Sent<unknown>): void => {
      cancelTimer();
      signal?.removeEventListener('abort', abort);
      this.#waiting -= 1;
      outcome.resolve(sent);
    };
    signal?.addEventListener('abort', abort, { once: true });
    this.#waiting += 1;
    this.#open.set(callNo, { $case, settle });
    this.#call.write(bytes);
    packed?.sent?.();
    return outcome.promise;
  }

  /** Ends when nobody waits on it any more. */
  retire(): void {
    this.#isRetired = true;
    this.#cancelIfUnused();
  }

  /** Calls that wait fail. */
  cancel(): void {
    this.#call.cancel();
  }

  /** Its answer will come all the same. */
  #abandon(callNo: number, $case: Carried['$case']): void {
    this.#open.set(callNo, { $case, settle: () => {} });
    this.#call.write(encoded({ callNo, timeoutMs: 0, call: { $case: 'cancel', value: {} } }));
    this.#cancelIfUnused();
  }

  #nextNo(): number {
    this.#lastNo = this.#lastNo === UINT32_MAX ? 1 : this.#lastNo + 1;
    return this.#lastNo;
  }

  #receive({ callNo, outcome }: WorkResponse): void {
    this.#hasAnswered = true;
    const open = this.#open.get(callNo);
    if (open === undefined) return;
    this.#open.delete(callNo);
    open.settle(sentOf(open, outcome));
    this.#cancelIfUnused();
  }

  #cancelIfUnused(): void {
    if (this.#isRetired && this.#waiting === 0 && !this.#isOver) this.#call.cancel();
  }

  #over(failure: ServiceError): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#onOver(this);
    for (const { settle } of this.#open.values()) settle({ failure });
    this.#open.clear();
  }
}

function encoded(request: WorkRequest): Buffer {
  const { buffer, byteOffset, byteLength } = WorkRequest.encode(request).finish();
  return Buffer.from(buffer, byteOffset, byteLength);
}

function sentOf({ $case }: OpenCall, outcome: Outcome): Sent<unknown> {
  if (outcome?.$case === 'error') return { error: errorFromDetail(outcome.value) };
  if (outcome?.$case === ANSWERS[$case]) return { response: outcome.value };
  const what = `The leader answered ${$case} with ${outcome?.$case ?? 'nothing'}.`;
  return { error: new MillraceError({ code: 'invariant', what }) };
}

function failed(code: status, details: string): ServiceError {
  return Object.assign(new Error(details), { code, details, metadata: new Metadata() });
}
