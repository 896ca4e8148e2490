/** Sends an event, which starts every flow that listens to it, wakes tasks and cancels jobs. */
import { uuidv7 } from 'uuidv7';
import { MillraceError, isMillraceError, isObject } from '../scheduler/core/index.ts';
import type { JobId, JobState, Labels, WokenTask } from '../scheduler/core/index.ts';
import { eventJobId } from '../scheduler/contract/index.ts';
import type { EventJobReason } from '../scheduler/contract/index.ts';
import { backoffMs, defined, sleep } from '../kit/index.ts';
import { type Caller, isPassing } from './calls/caller.ts';
import { errorFrom, strangeAnswer } from './calls/problem.ts';
import { objectIn } from './calls/reading.ts';
import { BACKOFF, type CallOptions, type Pace } from './options.ts';
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

/** Of an event that was taken in part. */
const TRIES_MAX = 8;

/** Where some of its jobs are refused for now, it is sent again a little later: those that are there stay. */
export async function sendEvent(
  caller: Caller,
  pace: Pace,
  event: string,
  data: unknown,
  options: SendOptions,
): Promise<SentEvent> {
  const { id = uuidv7(), labels, signal, retriesForever } = options;
  if (data !== undefined && JSON.stringify(data) === undefined) throw notJson(event, data);
  // What the first of several tries has woken, the next ones do not.
  const woken: WokenTask[] = [];
  const cancelled: JobId[] = [];
  for (let tries = 1; ; tries += 1) {
    const answer = await traced(event, id, (headers) =>
      caller.call({
        method: 'POST',
        path: `/api/v1/triggers/${encodeURIComponent(event)}`,
        headers,
        body: JSON.stringify({ data, id, labels }),
        isRepeatable: true,
        what: 'the event',
        retriesForever,
        signal,
      }),
    );
    const sent = objectIn(answer, 'jobs');
    const { status, server } = answer;
    const { jobs, note, unlisted } = sent;
    woken.push(...((sent['woken'] ?? []) as readonly WokenTask[]));
    cancelled.push(...((sent['cancelled'] ?? []) as readonly JobId[]));
    if (!Array.isArray(jobs)) throw strangeAnswer(status, server);
    const read = jobs.map((item: unknown): SentJob => {
      if (!isObject(item) || typeof item['flow'] !== 'string') throw strangeAnswer(status, server);
      const { flow, error } = item;
      if (isObject(error)) return { flow, error: errorFrom(error, status) };
      const job = item as unknown as Extract<SentJob, { readonly state: JobState }>;
      // With an id that was made here, what a repeated call finds is its own, unless it is a singleton of somebody else.
      const isOurs = options.id === undefined && job.id === eventJobId(event, id, flow);
      const { because } = job;
      if (job.isNew || isOurs) return { flow, id: job.id, state: job.state, isNew: true };
      return { flow, id: job.id, state: job.state, isNew: false, ...defined({ because }) };
    });
    const isWhole = !read.some(({ error }) => isMillraceError(error) && isPassing(error));
    if (isWhole || tries === TRIES_MAX) {
      return {
        event,
        id,
        jobs: read,
        woken,
        cancelled,
        ...(typeof unlisted === 'number' ? { unlisted } : {}),
        ...(typeof note === 'string' ? { note } : {}),
      };
    }
    await sleep(pace.clock, backoffMs(BACKOFF, tries, pace.random), signal);
  }
}

function notJson(event: string, data: unknown): MillraceError {
  return new MillraceError({
    code: 'bad_input',
    what: `The data of event ${event} is not valid JSON: it is a ${typeof data}.`,
  });
}
