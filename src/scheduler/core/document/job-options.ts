/** What a document says of a job beyond its own columns, as the JSON text that is stored. */
import { canonicalJson } from '../json.ts';
import type { JobOptions } from './document.ts';
import type { Fields } from './reader.ts';

export const NO_JOB_OPTIONS: JobOptions = Object.freeze({ fairnessKey: null });

export function readJobOptions(fields: Fields): JobOptions {
  const fairnessKey = fields.name('fairnessKey') ?? null;
  return fairnessKey === null ? NO_JOB_OPTIONS : { fairnessKey };
}

/** Null when there is nothing to say. */
export function encodeJobOptions({ fairnessKey }: JobOptions): string | null {
  const text = canonicalJson({ ...(fairnessKey === null ? {} : { fairnessKey }) });
  return text === '{}' ? null : text;
}

/** The inverse of `encodeJobOptions`. */
export function decodeJobOptions(text: string | null): JobOptions {
  return text === null ? NO_JOB_OPTIONS : { ...NO_JOB_OPTIONS, ...(JSON.parse(text) as object) };
}
