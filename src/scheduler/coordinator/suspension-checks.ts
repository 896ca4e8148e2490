/** What a task that steps aside wants to wait for, or the error with which it fails for good. */
import {
  ID_LENGTH_MAX,
  OWN_EVENTS,
  awaitedEvent,
  isEventMatch,
  isId,
  isOccurrenceId,
  isMillraceError,
  parseJobDocument,
  parseTaskDocuments,
} from '../core/index.ts';
import type {
  ChildJob,
  JobDocument,
  JobId,
  Keep,
  KnownTasks,
  Priority,
  Settings,
  SuspendUntil,
  TaskDocument,
  TaskError,
} from '../core/index.ts';
import type { CalledJob, WorkerSuspension } from '../contract/index.ts';
import { CALLED_JOB } from './called-jobs.ts';
import { isQueryDocument, queryDocumentFault } from './called-queries.ts';
import { stepNameFault } from './payload-checks.ts';
import { cleanText } from './text.ts';

/** A job in memory, as one of its tasks sees it. */
export interface LeasedJob {
  readonly id: JobId;
  /** Of the task: its children and the jobs that it calls inherit it. */
  readonly priority: Priority;
  /** The jobs that it calls inherit it: what is left should not depend on how work is split into jobs. */
  readonly keep: Keep;
  /** The tasks of the job; children of this very task may be named again. */
  readonly known: KnownTasks;
}

export interface SuspensionChecks {
  readonly settings: Settings;
  /** The document of a called job: one that names a flow stands for the flow's own. */
  readonly documentOf: (called: unknown) => unknown;
}

/** Items in one wait. They are part of the task's row. */
const THINGS_MAX = 1_000;
/** Ten years, like the timeouts in a document. */
const SLEEP_MS_MAX = 3_650 * 24 * 3_600_000;

/** A task whose job is not in memory is checked all the same: the core will say that it is lost. */
export function checkedSuspension(
  until: WorkerSuspension,
  checks: SuspensionChecks,
  job: LeasedJob | null,
): SuspendUntil | TaskError {
  const { settings } = checks;
  if (until.type === 'wait') return checkedWait(until, checks, job);
  const known: KnownTasks = job?.known ?? new Map();
  const read = (): readonly TaskDocument[] =>
    parseTaskDocuments(until.tasks, settings, known, job?.priority);
  const tasks = documentOr('bad_children', read);
  return 'code' in tasks ? tasks : { type: 'children', tasks: tasks.document };
}

type Wait = Extract<WorkerSuspension, { type: 'wait' }>;

function checkedWait(
  { sleeps, signals, jobs }: Wait,
  checks: SuspensionChecks,
  job: LeasedJob | null,
): SuspendUntil | TaskError {
  const count = sleeps.length + signals.length + jobs.length;
  if (count === 0) return fault('bad_wait', 'it wants to wait for nothing');
  if (count > THINGS_MAX) {
    return fault('bad_wait', `it waits for ${count} things at once; the limit is ${THINGS_MAX}`);
  }
  const others = new Set([...sleeps, ...signals].map(({ step }) => step));
  for (const step of [...others, ...jobs.map((job) => job.step)]) {
    // The leader reads what called jobs leave when it sends the task out.
    const isTaken = others.has(step) && step.startsWith(CALLED_JOB);
    const wrong = isTaken ? 'belongs to a called job' : reservedNameFault(step);
    if (wrong !== null)
      return fault('bad_wait', `the name ${shown(step)} of what it waits for ${wrong}`);
  }
  for (const { forMs } of sleeps) {
    if (!isDuration(forMs)) return fault('bad_sleep', `it wants to sleep for ${forMs} ms`);
  }
  for (const signal of signals) {
    const wrong = signalFault(signal);
    if (wrong !== null) return fault('bad_wait', wrong);
  }
  const children: ChildJob[] = [];
  for (const called of jobs) {
    const child = checkedJob(called, checks, job);
    if ('code' in child) return child;
    children.push(child);
  }
  return { type: 'wait', sleeps, signals, jobs: children };
}

/** A wait for an event is one for a signal with a name of its own, and with a condition. */
function signalFault({ name, match }: Wait['signals'][number]): string | null {
  const event = awaitedEvent(name);
  if (!isId(event ?? name))
    return `${shown(event ?? name)} is not a valid ${event === null ? 'signal' : 'event'} name: ${ID_RULE}`;
  if (event === null) return match === undefined ? null : 'a signal has no condition';
  if (event.startsWith(OWN_EVENTS)) return `no task can wait for the event ${event} of Millrace`;
  return match === undefined || isEventMatch(match) ? null : 'the condition of an event is not one';
}

const ID_RULE = `use up to ${ID_LENGTH_MAX} letters, digits and _ . : @ + = -`;

/** Names that begin with `$` belong to waits, so that no step of a user can be taken for one. */
export function reservedNameFault(step: string): string | null {
  if (!step.startsWith('$')) return 'does not begin with $';
  if (cleanText(step) !== step) return 'contains a character that cannot be stored';
  return stepNameFault(step);
}

function checkedJob(
  { step, jobId, document }: CalledJob,
  checks: SuspensionChecks,
  parent: LeasedJob | null,
): ChildJob | TaskError {
  const wrong = childIdFault(jobId, parent);
  if (wrong !== null) return fault('bad_child_job', wrong);
  if (isQueryDocument(document)) {
    const bad = queryDocumentFault(document);
    if (bad !== null) return fault('bad_child_job', bad);
    // It is planned when the task waits for it.
    return { step, jobId, document: null, ended: null };
  }
  const parsed = checkedDocument(document, checks, parent);
  return 'code' in parsed ? parsed : { step, jobId, ...parsed, ended: null };
}

/** The document of a job that a task calls or submits; a called one inherits from its caller. */
export function checkedDocument(
  document: unknown,
  { settings, documentOf }: SuspensionChecks,
  caller: LeasedJob | null,
): { readonly document: JobDocument } | TaskError {
  const read = (): JobDocument =>
    parseJobDocument(inheriting(documentOf(document), caller), settings);
  const parsed = documentOr('bad_child_job', read);
  // The id identifies the job already; a key could name another user's.
  return 'code' in parsed ? parsed : { document: { ...parsed.document, idempotencyKey: null } };
}

/** The caller should not wait longer than for a task of its own, nor leave more behind. */
function inheriting(document: unknown, parent: LeasedJob | null): unknown {
  const isObject = typeof document === 'object' && document !== null && !Array.isArray(document);
  if (!isObject || parent === null) return document;
  const { priority, keep } = parent;
  return { priority, ...(keep === 'all' ? {} : { keep }), ...document };
}

/** Only below its own id: the waiting task also ends the job. */
function childIdFault(jobId: string, parent: LeasedJob | null): string | null {
  if (jobId.length > ID_LENGTH_MAX) {
    return (
      `the called job would have an id of ${jobId.length} characters; the limit is ${ID_LENGTH_MAX}` +
      '; each level of calls makes it longer, so nest fewer calls, or give the first job a shorter id'
    );
  }
  if (!isId(jobId)) return `${shown(jobId)} is not a valid job id: ${ID_RULE}`;
  if (isOccurrenceId(jobId)) return `the id ${jobId} is reserved for jobs of schedules`;
  if (parent === null || jobId.startsWith(`${parent.id}.`)) return null;
  return `the id ${jobId} of the called job does not begin with the id of its caller, ${parent.id}`;
}

/** In an object, because a document could be mistaken for an error. */
function documentOr<T>(code: string, read: () => T): { readonly document: T } | TaskError {
  try {
    return { document: read() };
  } catch (error) {
    if (isMillraceError(error, 'bad_input') || isMillraceError(error, 'too_large')) {
      return fault(code, error.message);
    }
    throw error;
  }
}

function isDuration(ms: number): boolean {
  return Number.isSafeInteger(ms) && ms >= 0 && ms <= SLEEP_MS_MAX;
}

function fault(code: string, message: string): TaskError {
  return { code, message };
}

function shown(text: string): string {
  return JSON.stringify(cleanText(text).slice(0, 80));
}
