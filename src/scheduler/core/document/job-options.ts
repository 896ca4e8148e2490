/** What a document says of a job beyond its own columns, and the JSON text that is stored of it. */
import type { Instant, JobId, TaskId } from '../ids.ts';
import { canonicalJson } from '../json.ts';
import type { JsonObject } from '../json.ts';
import type { JobRow } from '../rows.ts';
import { isFinished } from '../task/chart.ts';
import type { Priority } from '../task/chart.ts';
import { readBatch } from './batched.ts';
import { readCancelOn } from './cancel-on.ts';
import type { CancelOn, Debounce, JobOptions, Keep, Singleton } from './document.ts';
import type { Fields } from './reader.ts';
import { refuse } from './refuse.ts';
import { readTrace } from './trace.ts';
import { readWebhooks } from './webhooks.ts';

export const NO_JOB_OPTIONS: JobOptions = Object.freeze({
  keep: 'all',
  webhooks: Object.freeze([]),
  fairnessKey: null,
  debounce: null,
  singleton: null,
  trace: null,
  batch: null,
  cancelOn: Object.freeze([]),
  whenFailed: null,
});

/** What has started a job: a task that has called or submitted it, or an event. */
export type StartedBy =
  | { readonly job: JobId; readonly task: TaskId }
  | { readonly event: string; readonly id: string };

/** The options of a job that has been submitted. */
export interface StoredJobOptions extends JobOptions {
  /** When the first of the jobs came that this one has replaced, or itself; null without `debounce`. */
  readonly firstAt: Instant | null;
  /** The first job of the batch that it has joined; null for that one itself, and without `batch`. */
  readonly batchOf: JobId | null;
  /** For the job and all its tasks, in place of those that they were submitted with; null if nobody has changed it. */
  readonly priority: Priority | null;
  /** When it starts, in place of what it was submitted with; null if nobody has changed it. */
  readonly runAt: Instant | null;
  /** Null for a job that a client or a schedule has started. */
  readonly startedBy: StartedBy | null;
}

const NOTHING_STORED: StoredJobOptions = Object.freeze({
  ...NO_JOB_OPTIONS,
  firstAt: null,
  batchOf: null,
  priority: null,
  runAt: null,
  startedBy: null,
});

export function readJobOptions(fields: Fields): JobOptions {
  const fairnessKey = fields.name('fairnessKey') ?? null;
  const debounce = readDebounce(fields);
  const singleton = readSingleton(fields);
  const batch = readBatch(fields);
  const trace = readTrace(fields.raw('traceparent'), fields.raw('tracestate'));
  const keep = fields.choice<Keep>('keep') ?? 'all';
  const webhooks = readWebhooks(fields);
  const cancelOn = readCancelOn(fields);
  const rest = { fairnessKey, debounce, singleton, batch, trace };
  const isUsual =
    keep === 'all' &&
    webhooks.length + cancelOn.length === 0 &&
    Object.values(rest).every((each) => each === null);
  // It needs the settings: see `parse.ts`.
  const whenFailed = null;
  return isUsual ? NO_JOB_OPTIONS : { keep, webhooks, cancelOn, whenFailed, ...rest };
}

function readDebounce(job: Fields): Debounce | null {
  const fields = job.inner('debounce');
  if (fields === undefined) return null;
  const key =
    fields.name('key') ?? fields.missing('key', 'Jobs with the same key replace each other.');
  const ms = fields.whole('ms') ?? fields.missing('ms', 'Say how long it waits for another one.');
  const maxMs = fields.whole('maxMs');
  if (maxMs !== null && maxMs < ms) {
    refuse(
      fields.at('maxMs'),
      `maxMs (${maxMs} ms) is less than ms (${ms} ms).`,
      'Raise maxMs, or omit it.',
    );
  }
  if (job.raw('runAt') !== undefined) {
    refuse(job.at('runAt'), 'A debounced job has no time of its own.', 'Remove runAt or debounce.');
  }
  return { key, ms, maxMs };
}

function readSingleton(job: Fields): Singleton | null {
  const fields = job.inner('singleton');
  if (fields === undefined) return null;
  const key =
    fields.name('key') ?? fields.missing('key', 'Jobs with the same key exclude each other.');
  for (const other of ['debounce', 'batch']) {
    if (job.raw(other) === undefined) continue;
    const what = `A job with ${other} cannot be a singleton: jobs of one key have to come together.`;
    refuse(job.at('singleton'), what, `Remove singleton or ${other}.`);
  }
  return { key, whenBusy: fields.choice<Singleton['whenBusy']>('whenBusy') ?? 'skip' };
}

/** Null when there is nothing to say. */
export function encodeJobOptions(options: StoredJobOptions): string | null {
  const { keep, webhooks, fairnessKey, debounce, singleton, batch, trace } = options;
  const { firstAt, batchOf, priority, runAt, startedBy, cancelOn, whenFailed } = options;
  // Most jobs, each time that their row is written.
  const isUsual = keep === 'all' && webhooks.length + cancelOn.length === 0 && fairnessKey === null;
  const rest = debounce ?? singleton ?? batch ?? trace ?? firstAt ?? batchOf ?? priority;
  if (isUsual && (rest ?? runAt ?? startedBy ?? whenFailed) === null) return null;
  return canonicalJson({
    ...(keep === 'all' ? {} : { keep }),
    ...(webhooks.length === 0
      ? {}
      : { webhooks: webhooks.map(({ url, on }) => ({ url, on: [...on] })) }),
    ...(fairnessKey === null ? {} : { fairnessKey }),
    ...(debounce === null ? {} : { debounce: { ...debounce } }),
    ...(singleton === null ? {} : { singleton: { ...singleton } }),
    ...(batch === null ? {} : { batch: { ...batch } }),
    ...(trace === null ? {} : { trace: { ...trace } }),
    ...(firstAt === null ? {} : { firstAt }),
    ...(batchOf === null ? {} : { batchOf }),
    ...(priority === null ? {} : { priority }),
    ...(runAt === null ? {} : { runAt }),
    ...(startedBy === null ? {} : { startedBy: { ...startedBy } }),
    ...(cancelOn.length === 0 ? {} : { cancelOn: cancelOn.map(storedCancel) }),
    ...(whenFailed === null ? {} : { whenFailed }),
  });
}

/** The match is a list: stores look for fields in the text. */
function storedCancel({ event, match }: CancelOn): JsonObject {
  return { event, match: match.map((each) => [...each]) };
}

/** Options and their text, which is written with every row of the job: jobs that say the same share one. */
export interface WrittenOptions {
  readonly options: StoredJobOptions;
  readonly text: string | null;
}

/** Null when there is nothing to say. */
const NOTHING_WRITTEN: WrittenOptions = Object.freeze({
  options: NOTHING_STORED,
  text: null,
});

export function writtenOptions(options: StoredJobOptions): WrittenOptions {
  return { options, text: encodeJobOptions(options) };
}

export function readOptions(text: string | null): WrittenOptions {
  return text === null ? NOTHING_WRITTEN : { options: decodeJobOptions(text), text };
}

/** What is said of a new job beyond its document. */
export type NewOptions = Pick<StoredJobOptions, 'firstAt' | 'batchOf' | 'startedBy'>;

/** The options of new jobs. Like jobs come one after the other, and their documents have the same object as options. */
export class NewJobOptions {
  #given: JobOptions = NO_JOB_OPTIONS;
  #written: WrittenOptions = NOTHING_WRITTEN;

  of(given: JobOptions, { firstAt, batchOf, startedBy }: NewOptions): WrittenOptions {
    const isPlain = (firstAt ?? batchOf ?? startedBy) === null;
    if (isPlain && given === this.#given) return this.#written;
    const { keep, webhooks, fairnessKey, debounce, singleton, trace, batch } = given;
    const { cancelOn, whenFailed } = given;
    // Field by field: options of many shapes would make every access to one slower.
    const written = writtenOptions({
      keep,
      webhooks,
      fairnessKey,
      debounce,
      singleton,
      trace,
      batch,
      cancelOn,
      whenFailed,
      firstAt,
      batchOf,
      priority: null,
      runAt: null,
      startedBy,
    });
    if (!isPlain) return written;
    this.#given = given;
    this.#written = written;
    return written;
  }
}

/** Of the job as it is now. */
export function priorityOf({ priority, options }: Pick<JobRow, 'priority' | 'options'>): Priority {
  return decodeJobOptions(options).priority ?? priority;
}

/** When the job starts, as it is now; null for one that has no such time. */
export function runAtOf({ runAt, options }: Pick<JobRow, 'runAt' | 'options'>): Instant | null {
  return decodeJobOptions(options).runAt ?? runAt;
}

/** The inverse of `encodeJobOptions`. */
export function decodeJobOptions(text: string | null): StoredJobOptions {
  return text === null ? NOTHING_STORED : { ...NOTHING_STORED, ...(JSON.parse(text) as object) };
}

/**
 * How stores find the jobs that do not remain: by a part of the text of their options. Quotation marks within a value are
 * escaped, so neither can be a part of anything else.
 */
export const KEEP_TEXT = { some: '"keep":', none: '"keep":"none"' } as const;

/** Whether an ended job is removed soon instead of after the retention of jobs. */
export function isUnkept({ state, options }: Pick<JobRow, 'state' | 'options'>): boolean {
  if (options === null || !options.includes(KEEP_TEXT.some) || !isFinished(state)) return false;
  return state === 'succeeded' || options.includes(KEEP_TEXT.none);
}
