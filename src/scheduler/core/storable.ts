/**
 * What every store can keep, as one rule for all that reaches the scheduler. A row that only the store refuses costs
 * everybody: by then the memory has changed, and it has to be reloaded. So an event is checked as a whole before the
 * scheduler sees it, whoever made it and whatever was checked before.
 *
 * Text is well-formed UTF-16 without NUL: PostgreSQL has neither, and a driver would change it silently. Numbers
 * are finite. JSON text is made by `JSON.stringify`, which escapes both, or was parsed before it got here.
 */
import type { TaskDocument } from './document/document.ts';
import { below, refuse } from './document/refuse.ts';
import { described } from './document/text.ts';
import type { ListedJob, SchedulerEvent } from './event.ts';

export interface Unstorable {
  /** Where in the event, such as `/document/tasks/0/executor`. */
  readonly path: string;
  /** As the end of a sentence. */
  readonly why: string;
}

/** Whether a store can keep the text as it is. Both looks are the platform's own: a document has megabytes. */
export function isStorableText(text: string): boolean {
  return (text as string & { isWellFormed(): boolean }).isWellFormed() && !text.includes('\0');
}

/** Refuses a value with text in it that no store can keep, keys included. Its depth was checked before. */
export function checkStorable(value: unknown, path = ''): void {
  if (typeof value === 'string') return checkText(value, path);
  if (typeof value !== 'object' || value === null) return;
  for (const [key, each] of Object.entries(value)) {
    checkText(key, path);
    if (typeof each === 'string' ? isStorableText(each) : typeof each !== 'object') continue;
    checkStorable(each, below(path, key));
  }
}

function checkText(text: string, path: string): void {
  if (isStorableText(text)) return;
  const why = 'contains NUL or an unpaired surrogate';
  refuse(path, `The text ${described(text)} ${why}.`, 'Send well-formed text.');
}

/** Stored as text that `JSON.stringify` makes of it, so nothing in it can be wrong. */
const SAFE_FIELDS: ReadonlySet<string> = new Set(['capabilities', 'options']);

/** The first thing in the event that no store can keep; null when there is none. */
export function unstorableIn(event: SchedulerEvent): Unstorable | null {
  switch (event.type) {
    // Only looked up: nothing of it is stored that is not there already.
    case 'heartbeat':
    case 'poll':
    case 'hangUp':
    case 'leave':
    case 'sessionGone':
    case 'drain':
    case 'releaseNode':
    case 'setPriority':
    case 'reschedule':
    case 'changeSchedule':
    case 'backfillSchedule':
    case 'dropInbox':
    // The leader's own, as JSON text.
    case 'decide':
    case 'assign':
    case 'tick':
      return null;
    case 'putSchedule':
      // The specification is stored as JSON; the document is what its jobs are made of.
      return found({ scheduleId: event.scheduleId, document: event.document });
    case 'declareSchedules':
      return found({
        flow: event.flow,
        schedules: event.schedules.map(({ id, document }) => ({ id, document })),
      });
    case 'submit':
    case 'submitAll':
    case 'reject':
    case 'cancel':
    case 'noteRemoval':
    case 'rerun':
    case 'signal':
    case 'raise':
    case 'answerCall':
    case 'register':
    case 'report':
    case 'pauseQueue':
    case 'resumeQueue':
      return found(event);
  }
}

/** The same of a job in a list. `before`: one in which nothing was found. What is the very same in both is not looked at
 * again: the jobs of a list have most in common. */
export function unstorableJob(job: ListedJob, before: ListedJob | null): Unstorable | null {
  if (before === null || !isLike(job, before)) return found(job);
  const input = job.document.tasks[0]?.input ?? null;
  const isGood = isStorableText(job.jobId) && (input === null || isStorableText(input));
  return isGood ? null : found(job);
}

/** In all but the id and the input of the only task. Field by field: a walk over names costs as much as to look at the texts. */
function isLike(job: ListedJob, before: ListedJob): boolean {
  const [one, other] = [job.document, before.document];
  const [task, taskBefore] = [one.tasks[0], other.tasks[0]];
  if (task === undefined || taskBefore === undefined) return false;
  return (
    one.tasks.length === 1 &&
    job.startedBy === before.startedBy &&
    one.name === other.name &&
    one.priority === other.priority &&
    one.idempotencyKey === other.idempotencyKey &&
    one.maxParallel === other.maxParallel &&
    one.onFailure === other.onFailure &&
    one.totalMs === other.totalMs &&
    one.labels === other.labels &&
    one.runAt === other.runAt &&
    one.options === other.options &&
    one.output === other.output &&
    isLikeTask(task, taskBefore)
  );
}

function isLikeTask(task: TaskDocument, before: TaskDocument): boolean {
  return (
    task.id === before.id &&
    task.executor === before.executor &&
    task.priority === before.priority &&
    task.parent === before.parent &&
    task.dependsOn === before.dependsOn &&
    task.idempotencyKey === before.idempotencyKey &&
    task.options === before.options &&
    task.isAdded === before.isAdded
  );
}

/** Nearly always nothing, so where it is found is only worked out when there is something. */
function found(value: object): Unstorable | null {
  return isStorable(value) ? null : walk(value, '');
}

/** What `walk` finds nothing in, without a path for each part of it: there are thousands a second. */
function isStorable(value: unknown): boolean {
  if (typeof value === 'string') return isStorableText(value);
  if (typeof value === 'number') return Number.isFinite(value);
  if (typeof value !== 'object' || value === null) return true;
  if (Array.isArray(value)) {
    for (let at = 0; at < value.length; at += 1) if (!isStorable(value[at])) return false;
    return true;
  }
  // Few events have these, and the slow way is right for them too.
  if (value instanceof Set || value instanceof Map) return walkInside(value, '') === null;
  const fields = value as Readonly<Record<string, unknown>>;
  for (const name in fields) {
    const each = fields[name];
    // The common leaves first: to ask whether the field is safe costs more than to look at them.
    if (typeof each === 'string') {
      if (!isStorableText(each)) return false;
    } else if (each === null || typeof each === 'boolean' || SAFE_FIELDS.has(name)) continue;
    else if (!isStorable(each)) return false;
  }
  return true;
}

/** Events are trees of bounded depth: documents in them were weighed. */
function walk(value: unknown, path: string): Unstorable | null {
  switch (typeof value) {
    case 'string':
      return isStorableText(value) ? null : { path, why: 'contains NUL or an unpaired surrogate' };
    case 'number':
      return Number.isFinite(value) ? null : { path, why: `is ${value}, which is not a number` };
    case 'object':
      return value === null ? null : walkInside(value, path);
    case 'boolean':
    case 'undefined':
    case 'bigint':
    case 'function':
    case 'symbol':
      return null;
  }
}

function walkInside(value: object, path: string): Unstorable | null {
  if (Array.isArray(value) || value instanceof Set) return walkList(value, path);
  if (value instanceof Map) {
    for (const [key, each] of value as Map<unknown, unknown>) {
      const bad = walk(key, path) ?? walk(each, `${path}/${String(key)}`);
      if (bad !== null) return bad;
    }
    return null;
  }
  const fields = value as Readonly<Record<string, unknown>>;
  for (const name in fields) {
    const each = fields[name];
    // The common leaves, without a path for each of them.
    if (each === null || typeof each === 'boolean' || SAFE_FIELDS.has(name)) continue;
    if (typeof each === 'string' && isStorableText(each)) continue;
    const bad = walk(each, `${path}/${name}`);
    if (bad !== null) return bad;
  }
  return null;
}

function walkList(list: Iterable<unknown>, path: string): Unstorable | null {
  let at = 0;
  for (const each of list) {
    const bad = walk(each, typeof each === 'object' ? `${path}/${at}` : path);
    if (bad !== null) return bad;
    at += 1;
  }
  return null;
}
