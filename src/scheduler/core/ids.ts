/** Ids are branded so that a task id can never be passed where a job id is wanted. */
declare const brand: unique symbol;
type Brand<T, Name extends string> = T & { readonly [brand]: Name };

/** What people see and type. */
export type JobId = Brand<string, 'JobId'>;
export type TaskId = Brand<string, 'TaskId'>;
export type NodeId = Brand<string, 'NodeId'>;
export type SessionId = Brand<string, 'SessionId'>;
export type ScheduleId = Brand<string, 'ScheduleId'>;

/** The random name of one leader's term. It stands beside every epoch and fence, so that a
 * restored database cannot make an old number valid again. */
export type TermId = Brand<string, 'TermId'>;

/** Narrow numbers for rows and memory: a job's number in its shard, a task's number in its job. */
export type JobNo = Brand<number, 'JobNo'>;
export type TaskNo = Brand<number, 'TaskNo'>;

/** Task numbers stay below this, so a job and a task number fit into one exact double. */
export const TASKS_PER_JOB_LIMIT: number = 2 ** 18;

/**
 * Names a task of a shard by one number: a text for each of a batch's rows is what a busy leader would throw away most.
 * Most jobs have one task, and its key stays a small integer, which maps find several times faster than a double.
 */
export function taskKey(job: number, task: number): number {
  return task === 0 ? -job : taskOrder(job, task);
}

/** Rises with the job's number, and within the job with the task's. */
export function taskOrder(job: number, task: number): number {
  return job * TASKS_PER_JOB_LIMIT + task;
}

/** Milliseconds since 1970 by the database's clock. Durations are plain numbers named `...Ms`. */
export type Instant = Brand<number, 'Instant'>;

export const jobNo = (value: number): JobNo => value as JobNo;
export const taskNo = (value: number): TaskNo => value as TaskNo;
export const instant = (value: number): Instant => value as Instant;
export const later = (from: Instant, byMs: number): Instant => (from + byMs) as Instant;

/** Ids end up in paths, URLs and log lines: letters, digits and a few marks, never `/` or NUL. */
const ID = /^[A-Za-z0-9_][A-Za-z0-9_.:@+=-]*$/;
export const ID_LENGTH_MAX = 200;

export function isId(text: string): boolean {
  return text.length <= ID_LENGTH_MAX && ID.test(text);
}

declare const askBrand: unique symbol;

/** Identifies the caller that waits for the reply. */
export type Ask = number & { readonly [askBrand]: true };
