/** What an event takes of memory and of its transaction, in bytes and roughly: payloads, and what stands around them. */
import type { JobDocument, ReportItem, SchedulerEvent, TaskDocument } from '../core/index.ts';

const EVENT_BYTES = 256;
const JOB_BYTES = 2_048;
/** Two rows, an event in the log, and the columns of each. */
const TASK_BYTES = 512;

export function weightOf(event: SchedulerEvent): number {
  switch (event.type) {
    case 'submit':
      return documentWeight(event.document) + seedsWeight(event.seeds);
    case 'submitAll':
      return event.jobs.reduce((total, { document }) => total + documentWeight(document), 0);
    case 'answerCall':
      if (event.made.error !== null) return JOB_BYTES;
      return documentWeight(event.made.document) + seedsWeight(event.seeds);
    case 'putSchedule':
      return documentWeight(event.document);
    case 'declareSchedules':
      return event.schedules.reduce(
        (total, { document }) => total + documentWeight(document),
        EVENT_BYTES,
      );
    case 'signal':
      return EVENT_BYTES + event.body.length;
    case 'raise':
      return EVENT_BYTES + event.raised.data.length;
    case 'report':
      return event.items.reduce((total, item) => total + itemWeight(item), EVENT_BYTES);
    case 'rerun':
      return JOB_BYTES + seedsWeight(event.seeds);
    case 'reject':
    case 'dropInbox':
    case 'cancel':
    case 'setPriority':
    case 'reschedule':
    case 'noteRemoval':
    case 'register':
    case 'heartbeat':
    case 'poll':
    case 'hangUp':
    case 'leave':
    case 'sessionGone':
    case 'drain':
    case 'releaseNode':
    case 'changeSchedule':
    case 'backfillSchedule':
    case 'pauseQueue':
    case 'resumeQueue':
    case 'decide':
    case 'assign':
    case 'tick':
      return EVENT_BYTES;
  }
}

function itemWeight(item: ReportItem): number {
  switch (item.kind) {
    case 'completed':
      return EVENT_BYTES + (item.result?.length ?? 0);
    case 'step':
      return (
        EVENT_BYTES +
        item.name.length +
        item.body.length +
        (item.job === undefined ? 0 : documentWeight(item.job.document)) +
        (item.sent?.jobs ?? []).reduce((sum, job) => sum + documentWeight(job.document), 0)
      );
    case 'suspended': {
      const { until } = item;
      if (until.type === 'children') return tasksWeight(until.tasks);
      const jobs = until.jobs.map(({ document }) =>
        document === null ? JOB_BYTES : documentWeight(document),
      );
      return jobs.reduce((total, bytes) => total + bytes, EVENT_BYTES);
    }
    case 'started':
    case 'progress':
    case 'failed':
    case 'inputLost':
    case 'aborted':
    case 'released':
    case 'skipped':
      return EVENT_BYTES;
  }
}

function documentWeight({ tasks, output }: JobDocument): number {
  return JOB_BYTES + (output?.length ?? 0) + tasksWeight(tasks);
}

function tasksWeight(tasks: readonly TaskDocument[]): number {
  let bytes = 0;
  for (const { input } of tasks) bytes += TASK_BYTES + (input?.length ?? 0);
  return bytes;
}

function seedsWeight(seeds?: ReadonlyMap<unknown, { readonly result: string | null }>): number {
  let bytes = 0;
  if (seeds === undefined) return bytes;
  for (const { result } of seeds.values()) bytes += result?.length ?? 0;
  return bytes;
}

/** A submission of more than this waits in a line of its own. */
export const LARGE_BYTES: number = 1024 * 1024;

/** A list counts as its jobs. */
export function eventsIn(event: SchedulerEvent): number {
  return event.type === 'submitAll' ? event.jobs.length : 1;
}

/** Only what nothing else rests on may be overtaken: callers wait for their answers before they go on. */
export function isLarge({ type }: SchedulerEvent, bytes: number): boolean {
  return bytes > LARGE_BYTES && (type === 'submit' || type === 'answerCall');
}
