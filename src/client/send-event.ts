/** Sends an event, which starts every flow that listens to it. */
import { uuidv7 } from 'uuidv7';
import { MillraceError, isMillraceError, isObject } from '../scheduler/core/index.ts';
import type { JobId, JobState, Labels } from '../scheduler/core/index.ts';
import { eventJobId } from '../scheduler/contract/index.ts';
import { backoffMs, sleep } from '../kit/index.ts';
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
  /** That no flow does. */
  readonly note?: string;
}

/** The job of one flow, or why there is none. */
export type SentJob =
  | {
      readonly flow: string;
      readonly id: JobId;
      readonly state: JobState;
      /** False when the event was sent before. */
      readonly isNew: boolean;
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
    const { jobs, note } = sent;
    if (!Array.isArray(jobs)) throw strangeAnswer(status, server);
    const read = jobs.map((item: unknown): SentJob => {
      if (!isObject(item) || typeof item['flow'] !== 'string') throw strangeAnswer(status, server);
      const { flow, error } = item;
      if (isObject(error)) return { flow, error: errorFrom(error, status) };
      const job = item as unknown as Extract<SentJob, { readonly state: JobState }>;
      // With an id that was made here, what a repeated call finds is its own, unless it is a singleton of somebody else.
      const isOurs = options.id === undefined && job.id === eventJobId(event, id, flow);
      return { flow, id: job.id, state: job.state, isNew: job.isNew || isOurs };
    });
    const isWhole = !read.some(({ error }) => isMillraceError(error) && isPassing(error));
    if (isWhole || tries === TRIES_MAX) {
      return { event, id, jobs: read, ...(typeof note === 'string' ? { note } : {}) };
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
