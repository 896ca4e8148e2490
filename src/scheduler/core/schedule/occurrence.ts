/** The job of one firing carries its time in its id: it needs no column, and no two firings meet. */
import { instant, type Instant, type JobId, type JobNo, type ScheduleId } from '../ids.ts';

/**
 * With the job's number: a schedule that is deleted and created again must not collide with its earlier jobs. The shape is reserved:
 * a client that could take such an id beforehand would make the firing fail, again and again.
 */
export function occurrenceJobId(scheduleId: ScheduleId, at: Instant, no: JobNo): JobId {
  return `${scheduleId}@${at}.${no}` as JobId;
}

/** No job has the number 0: asked for the same time again, it is the same job. */
export function backfilledJobId(scheduleId: ScheduleId, at: Instant): JobId {
  return `${scheduleId}@${at}.0` as JobId;
}

/** Of a job that was started by a backfill. */
export function isBackfilled({ id }: { readonly id: JobId }): boolean {
  return id.endsWith('.0') && isOccurrenceId(id);
}

const OCCURRENCE = /@\d{1,15}\.\d+$/;

/** Whether only a schedule may make a job of this id. */
export function isOccurrenceId(id: string): boolean {
  return OCCURRENCE.test(id);
}

/** Leaves room for the time and the number in the ids of its jobs. */
export const SCHEDULE_ID_LENGTH_MAX = 160;

/** The time for which a schedule started the job, however late it came to run; null for all others. */
export function scheduledTime(job: {
  readonly id: JobId;
  readonly scheduleId: ScheduleId | null;
}): Instant | null {
  const { id, scheduleId } = job;
  if (scheduleId === null || !id.startsWith(scheduleId)) return null;
  // With a dot in front: as they were made before the shape was reserved.
  const at = /^[@.](\d{1,15})\.\d+$/.exec(id.slice(scheduleId.length))?.[1];
  return at === undefined ? null : instant(Number(at));
}
