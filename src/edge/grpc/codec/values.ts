/**
 * Single values on the wire. Whatever comes from outside is checked here: a number that a double
 * cannot hold is refused, never rounded, and bytes that are no text are refused, never mended.
 */
import { isUtf8 } from 'node:buffer';
import { MillraceError } from '../../../scheduler/core/index.ts';
import type { Json } from '../../../scheduler/core/index.ts';

const SAFE_MAX = BigInt(Number.MAX_SAFE_INTEGER);

export function refuse(field: string, what: string): never {
  throw new MillraceError({ code: 'bad_input', path: `/${field}`, what });
}

/** Both signs, because times may lie before 1970. */
export function safeNumber(value: bigint, field: string): number {
  if (value > SAFE_MAX || value < -SAFE_MAX) {
    refuse(field, `${value} is too large to be represented exactly.`);
  }
  return Number(value);
}

export function wireNumber(value: number, field: string): bigint {
  if (!Number.isSafeInteger(value)) refuse(field, `${value} is not a whole number.`);
  return BigInt(value);
}

/** For the fields of 32 bits: the generated code would fail with an error of its own. */
export function wireCount(value: number, field: string): number {
  if (!Number.isInteger(value) || value < 0 || value > 0xff_ff_ff_ff) {
    refuse(field, `${value} is not a whole number from 0 to 4294967295.`);
  }
  return value;
}

/** A required id or name; what it may look like is the service's business. */
export function requiredText<T extends string>(text: string, field: string): T {
  if (text === '') refuse(field, 'It is missing.');
  return text as T;
}

/** Empty stands for none. */
export function optionalText<T extends string>(text: string): T | null {
  return text === '' ? null : (text as T);
}

export function present<T>(message: T | undefined, field: string): T {
  return message ?? refuse(field, 'It is missing.');
}

export function jsonText(bytes: Buffer, field: string): string {
  if (!isUtf8(bytes)) refuse(field, 'It is not valid UTF-8.');
  return bytes.toString('utf8');
}

export function jsonBytes(text: string): Buffer {
  return Buffer.from(text, 'utf8');
}

export function parsedJson(text: string, field: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return refuse(field, 'It is not valid JSON.');
  }
}

/** Times that people read as ISO 8601 text travel as milliseconds; 0 stands for none. */
export function wireTime(text: string, field: string): bigint {
  const ms = Date.parse(text);
  if (Number.isNaN(ms)) refuse(field, `'${text.slice(0, 40)}' is not a valid time.`);
  return BigInt(ms);
}

export function wireTimeOrNone(text: string | null, field: string): bigint {
  return text === null ? 0n : wireTime(text, field);
}

/** As far as a date goes, in both directions. */
const DATE_MAX_MS = 8_640_000_000_000_000n;

export function isoTime(ms: bigint, field: string): string {
  if (ms > DATE_MAX_MS || ms < -DATE_MAX_MS) refuse(field, `${ms} is not a valid time.`);
  return new Date(Number(ms)).toISOString();
}

export function isoTimeOrNull(ms: bigint, field: string): string | null {
  return ms === 0n ? null : isoTime(ms, field);
}
