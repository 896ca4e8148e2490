/** Sends events. Each starts every flow that listens to it, wakes tasks and cancels jobs. */
import { uuidv7 } from 'uuidv7';
import { MillraceError, isMillraceError, isObject } from '../scheduler/core/index.ts';
import type { JobId, JobState, Labels, WokenTask } from '../scheduler/core/index.ts';
import { eventJobId } from '../scheduler/contract/index.ts';
import type { EventJobReason } from '../scheduler/contract/index.ts';
import { backoffMs, defined, sleep } from '../kit/index.ts';
import { type Answer, type Caller, isPassing } from './calls/caller.ts';
import { errorFrom, parsedJson, strangeAnswer } from './calls/problem.ts';
import { objectIn } from './calls/reading.ts';
import { BACKOFF, type CallOptions, type Pace } from './options.ts';
import { portionsOf } from './submit-many.ts';
import { traced } from './submit-span.ts';

export interface SendOptions extends CallOptions {
  /** Generated if not given. The same event with the same id again starts nothing new, also from another process. */
  readonly id?: string;
  /** Of each job that it starts. */
  readonly labels?: Labels;
}

/** What an event has started. */
export interface SentEvent {
  readonly event: string;
  readonly id: string;
  /** One for each flow that listens to it. */
  readonly jobs: readonly SentJob[];
  /** Tasks that waited for it and go on. */
  readonly woken: readonly WokenTask[];
  /** Jobs that name it in `cancelOn`. */
  readonly cancelled: readonly JobId[];
  /** How many more it has woken or cancelled: at most 1,000 of each are listed. */
  readonly unlisted?: number;
  /** That it has no effect, or not on all that it means. */
  readonly note?: string;
}

/** The jobs that an event has started, and beside the list what it has woken and cancelled. */
export interface SentJobs
  extends ReadonlyArray<SentJob>, Pick<SentEvent, 'woken' | 'cancelled' | 'unlisted'> {}

/** Beside the list, so that it is equal to one without. */
export function sentJobs(sent: SentEvent): SentJobs {
  const { woken, cancelled, unlisted } = sent;
  const beside = { woken: { value: woken }, cancelled: { value: cancelled } };
  const more = unlisted === undefined ? {} : { unlisted: { value: unlisted } };
  return Object.defineProperties([...sent.jobs], { ...beside, ...more }) as unknown as SentJobs;
}

/** The job of one flow, or why there is none. */
export type SentJob =
  | {
      readonly flow: string;
      readonly id: JobId;
      readonly state: JobState;
      /** False for a job that was there: `because` says why. */
      readonly isNew: boolean;
      /** The event was sent before, or the flow is a singleton and a job with its key is live. */
      readonly because?: EventJobReason;
      readonly error?: undefined;
    }
  | { readonly flow: string; readonly id?: undefined; readonly error: MillraceError };

/** Of events that were taken in part. */
const TRIES_MAX = 8;

/** An event to be sent with others. */
export interface NewEvent {
  readonly event: string;
  readonly data?: unknown;
  /** As in `SendOptions`. */
  readonly id?: string;
  readonly labels?: Labels;
}

/** Where some of its jobs are refused for now, it is sent again a little later: those that are there stay. */
export async function sendEvent(
  caller: Caller,
  pace: Pace,
  event: string,
  data: unknown,
  { id, labels, ...options }: SendOptions,
): Promise<SentEvent> {
  const sending = new Sending({ event, data, ...defined({ id, labels }) });
  if (isMillraceError(sending.fault)) throw sending.fault;
  for (let tries = 1; ; tries += 1) {
    const answer = await traced(event, sending.body.id, (headers) =>
      caller.call({
        method: 'POST',
        path: `/api/v1/triggers/${encodeURIComponent(event)}`,
        headers,
        body: JSON.stringify({ ...sending.body, event: undefined }),
        isRepeatable: true,
        what: 'the event',
        ...options,
      }),
    );
    sending.read(objectIn(answer, 'jobs'), answer);
    if (sending.isWhole || tries === TRIES_MAX) return sending.sent(answer);
    await sleep(pace.clock, backoffMs(BACKOFF, tries, pace.random), options.signal);
  }
}

/** In as many calls as it takes, in order. What is refused for now is sent again. */
export async function sendEvents(
  caller: Caller,
  pace: Pace,
  events: readonly NewEvent[],
  options: CallOptions,
): Promise<readonly (SentEvent | MillraceError)[]> {
  const all = events.map((each) => new Sending(each));
  // What cannot be sent has its answer, and does not keep the others.
  let pending: readonly Sending[] = all.filter((each) => !each.isWhole);
  for (let tries = 1; pending.length > 0; tries += 1) {
    if (tries > 1)
      await sleep(pace.clock, backoffMs(BACKOFF, tries - 1, pace.random), options.signal);
    try {
      await sendPortions(caller, pending, options);
    } catch (error) {
      // The caller has to learn what the others have brought about.
      if (!isMillraceError(error) || !all.some(({ isAnswered }) => isAnswered)) throw error;
      for (const each of pending) each.fail(error);
      break;
    }
    pending = tries === TRIES_MAX ? [] : pending.filter((each) => !each.isWhole);
  }
  return all.map((each) => each.outcome);
}

async function sendPortions(
  caller: Caller,
  pending: readonly Sending[],
  options: CallOptions,
): Promise<void> {
  let from = 0;
  for (const texts of portionsOf(pending.map(({ body }) => body))) {
    const portion = pending.slice(from, from + texts.length);
    from += texts.length;
    const answer = await traced('events', portion[0]?.body.id ?? '', (headers) =>
      caller.call({
        method: 'POST',
        path: '/api/v1/triggers',
        headers,
        body: `[${texts.join(',')}]`,
        isRepeatable: true,
        what: 'the events',
        ...options,
      }),
    );
    const list = parsedJson(answer.body);
    if (!Array.isArray(list) || list.length !== texts.length)
      throw strangeAnswer(answer.status, answer.server);
    for (const [at, each] of portion.entries()) each.read(list[at] as unknown, answer);
  }
}

type From = Pick<Answer, 'status' | 'server'>;

/** One event, and what is known of it after some tries. */
class Sending {
  readonly body: NewEvent & { readonly id: string };
  /** An id that was made here: nobody else has sent it. */
  readonly #isOwnId: boolean;
  // What the first of several tries has woken, the next ones do not.
  readonly #woken: WokenTask[] = [];
  readonly #cancelled: JobId[] = [];
  #last: Omit<SentEvent, 'woken' | 'cancelled'> | MillraceError | null = null;

  constructor(given: NewEvent) {
    this.#last = eventFault(given);
    const { event, data, id, labels } = this.#last === null ? given : NOTHING;
    this.body = { event, data, id: id ?? uuidv7(), ...defined({ labels }) };
    this.#isOwnId = id === undefined;
  }

  /** It cannot be sent at all. */
  get fault(): MillraceError | null {
    return isMillraceError(this.#last) ? this.#last : null;
  }

  get isAnswered(): boolean {
    return this.#last !== null;
  }

  /** Unless there is an answer. */
  fail(error: MillraceError): void {
    this.#last ??= error;
  }

  /** Nothing of it was refused for now. */
  get isWhole(): boolean {
    const last = this.#last;
    if (last === null) return false;
    if (isMillraceError(last)) return !isPassing(last);
    return !last.jobs.some(({ error }) => isMillraceError(error) && isPassing(error));
  }

  get outcome(): SentEvent | MillraceError {
    const last = this.#last;
    if (last === null || isMillraceError(last)) return last ?? noAnswer(this.body.event);
    return { ...last, woken: this.#woken, cancelled: this.#cancelled };
  }

  sent({ status, server }: From): SentEvent {
    const { outcome } = this;
    if (isMillraceError(outcome)) throw strangeAnswer(status, server);
    return outcome;
  }

  read(answer: unknown, { status, server }: From): void {
    if (!isObject(answer)) throw strangeAnswer(status, server);
    const { jobs, note, unlisted, error, woken = [], cancelled = [] } = answer;
    if (isObject(error)) {
      this.#last = errorFrom(error, status);
      return;
    }
    if (!Array.isArray(jobs)) throw strangeAnswer(status, server);
    this.#woken.push(...(woken as readonly WokenTask[]));
    this.#cancelled.push(...(cancelled as readonly JobId[]));
    this.#last = {
      event: this.body.event,
      id: this.body.id,
      jobs: jobs.map((item: unknown) => this.#job(item, { status, server })),
      ...(typeof unlisted === 'number' ? { unlisted } : {}),
      ...(typeof note === 'string' ? { note } : {}),
    };
  }

  #job(item: unknown, { status, server }: From): SentJob {
    if (!isObject(item) || typeof item['flow'] !== 'string') throw strangeAnswer(status, server);
    const { flow, error } = item;
    if (isObject(error)) return { flow, error: errorFrom(error, status) };
    const { id, state, isNew, because } = item as unknown as Extract<
      SentJob,
      { readonly state: JobState }
    >;
    const { event, id: eventId } = this.body;
    // With an id that was made here, what a repeated call finds is its own, unless it is a singleton of somebody else.
    const isOurs = this.#isOwnId && id === eventJobId(event, eventId, flow);
    if (isNew || isOurs) return { flow, id, state, isNew: true };
    return { flow, id, state, isNew: false, ...defined({ because }) };
  }
}

const NOTHING: NewEvent = { event: '' };
const FIELDS: ReadonlySet<string> = new Set(['event', 'data', 'id', 'labels']);

/** Why nothing can be sent for it, which types need not have kept from getting here. */
function eventFault(given: unknown): MillraceError | null {
  if (!isObject(given)) return badEvent('An event is an object with its name: { event, data }.');
  const { event, data } = given;
  if (typeof event !== 'string' || !isName(event))
    return badEvent(`'${String(event)}' is not a valid name of an event.`);
  const other = Object.keys(given).find((name) => !FIELDS.has(name));
  if (other !== undefined) return badEvent(`Event ${event} has no field '${other}'.`);
  const why = data === undefined ? null : jsonFault(data);
  return why === null ? null : badEvent(`The data of event ${event} is not valid JSON: ${why}.`);
}

/** It is part of the path of the call. */
function isName(event: string): boolean {
  try {
    return !['', '.', '..'].includes(event) && encodeURIComponent(event) !== '';
  } catch {
    return false;
  }
}

function jsonFault(data: unknown): string | null {
  try {
    const text = JSON.stringify(data, (_key, value: unknown) => {
      if (typeof value !== 'number' || Number.isFinite(value)) return value;
      throw new RangeError(`it has the number ${value}`);
    });
    return text === undefined ? `it is a ${typeof data}` : null;
  } catch (error) {
    return error instanceof RangeError
      ? error.message
      : 'it contains itself, or a value that JSON does not have';
  }
}

function badEvent(what: string): MillraceError {
  return new MillraceError({ code: 'bad_input', what });
}

function noAnswer(event: string): MillraceError {
  return new MillraceError({
    code: 'invariant',
    what: `The server did not answer for event ${event}.`,
  });
}
