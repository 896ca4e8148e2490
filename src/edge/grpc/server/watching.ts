/** Events as streams. */
import { isFinished, MillraceError } from '../../../scheduler/core/index.ts';
import type { JobId, TaskId } from '../../../scheduler/core/index.ts';
import { toWireEventPage } from '../codec/cluster.ts';
import { safeNumber, soughtText } from '../codec/values.ts';
import type {
  WatchEventsRequest,
  WatchEventsResponse,
  WatchJobRequest,
  WatchJobResponse,
} from '../gen/millrace/v1/job.ts';
import type { EventPage, EventsQuery, Reader } from '../../../scheduler/contract/index.ts';

export async function* watchEvents(
  reader: Reader,
  request: WatchEventsRequest,
  signal: AbortSignal,
): AsyncIterable<WatchEventsResponse> {
  const after = safeNumber(request.afterSeq, 'after_seq');
  const query = { after, ...historyIn(request) };
  for await (const page of reader.follow(query, signal)) yield toWireEventPage(page);
}

/** Ends with the job. A job that has ended is streamed up to its last event at that time. */
export async function* watchJob(
  reader: Reader,
  request: WatchJobRequest,
  signal: AbortSignal,
): AsyncIterable<WatchJobResponse> {
  const job: JobId = soughtText(request.jobId, 'job_id');
  const after = safeNumber(request.afterSeq, 'after_seq');
  let lastSeq = await endOf(reader, job);
  if (lastSeq !== null && after >= lastSeq) return;
  for await (const page of reader.follow({ after, job, ...historyIn(request) }, signal)) {
    yield toWireEventPage(page);
    if (lastSeq === null && hasEnd(page)) lastSeq = await endOf(reader, job);
    if (lastSeq !== null && page.asOf.seq >= lastSeq) return;
  }
}

function historyIn({ history }: { readonly history: string }): Pick<EventsQuery, 'history'> {
  return history === '' ? {} : { history: soughtText(history, 'history') };
}

/** Everything about the ended job is in the log up to here; null for a job that goes on. */
async function endOf(reader: Reader, id: JobId): Promise<number | null> {
  const { value, asOf } = await reader.job(id);
  if (value === null) throw unknownJob(id);
  return isFinished(value.state) ? asOf.seq : null;
}

function hasEnd(page: EventPage): boolean {
  return page.events.some(
    ({ kind }) => kind === 'job.succeeded' || kind === 'job.failed' || kind === 'job.cancelled',
  );
}

export function unknownJob(id: JobId): MillraceError {
  return new MillraceError({ code: 'not_found', what: `There is no job ${id.slice(0, 200)}.` });
}

export function unknownTask(job: JobId, task: TaskId): MillraceError {
  const what = `There is no task ${task.slice(0, 200)} in job ${job.slice(0, 200)}.`;
  return new MillraceError({ code: 'not_found', what });
}
