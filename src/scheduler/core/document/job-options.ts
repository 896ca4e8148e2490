/** What a document says of a job beyond its own columns, and the JSON text that is stored of it. */
import type { Instant } from '../ids.ts';
import { canonicalJson } from '../json.ts';
import type { Debounce, JobOptions } from './document.ts';
import type { Fields } from './reader.ts';
import { refuse } from './refuse.ts';
import { readTrace } from './trace.ts';

export const NO_JOB_OPTIONS: JobOptions = Object.freeze({
  fairnessKey: null,
  debounce: null,
  trace: null,
});

/** The options of a job that has been submitted. */
export interface StoredJobOptions extends JobOptions {
  /** When the first of the jobs came that this one has replaced, or itself; null without `debounce`. */
  readonly firstAt: Instant | null;
}

const NOTHING_STORED: StoredJobOptions = Object.freeze({ ...NO_JOB_OPTIONS, firstAt: null });

export function readJobOptions(fields: Fields): JobOptions {
  const fairnessKey = fields.name('fairnessKey') ?? null;
  const debounce = readDebounce(fields);
  const trace = readTrace(fields.raw('traceparent'), fields.raw('tracestate'));
  const isNothing = fairnessKey === null && debounce === null && trace === null;
  return isNothing ? NO_JOB_OPTIONS : { fairnessKey, debounce, trace };
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

/** Null when there is nothing to say. */
export function encodeJobOptions(options: StoredJobOptions): string | null {
  const { fairnessKey, debounce, trace, firstAt } = options;
  const text = canonicalJson({
    ...(fairnessKey === null ? {} : { fairnessKey }),
    ...(debounce === null ? {} : { debounce: { ...debounce } }),
    ...(trace === null ? {} : { trace: { ...trace } }),
    ...(firstAt === null ? {} : { firstAt }),
  });
  return text === '{}' ? null : text;
}

/** The inverse of `encodeJobOptions`. */
export function decodeJobOptions(text: string | null): StoredJobOptions {
  return text === null ? NOTHING_STORED : { ...NOTHING_STORED, ...(JSON.parse(text) as object) };
}
