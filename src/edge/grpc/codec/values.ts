/**
 * Single values on the wire. Whatever comes from outside is checked here: a number that a double
 * cannot hold is refused, never rounded, and bytes that are no text are refused, never mended.
 */
import { isUtf8 } from 'node:buffer';
import { ID_LENGTH_MAX, MillraceError, isStorableText } from '../../../scheduler/core/index.ts';
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

/** The same for what is looked up in a store, which holds no text with NUL and would call that a fault of its own. */
export function soughtText<T extends string>(text: string, field: string): T {
  if (!isStorableText(text)) refuse(field, 'It contains NUL or an unpaired surrogate.');
  return requiredText(text, field);
}

/** No id is longer. Some of it is kept for a while, so it must be short whoever sends it. */
export function shortText<T extends string>(text: T, field: string): T {
  if (text.length > ID_LENGTH_MAX) {
    refuse(field, `It has ${text.length} characters; the limit is ${ID_LENGTH_MAX}.`);
  }
  return text;
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

/** Times travel as milliseconds. */
export function toWireTime(time: Date, field: string): bigint {
  const ms = time.getTime();
  if (Number.isNaN(ms)) refuse(field, 'It is not a valid time.');
  return BigInt(ms);
}

/** 0 stands for none. */
export function toWireTimeOrNone(time: Date | null, field: string): bigint {
  return time === null ? 0n : toWireTime(time, field);
}

/** As far as a date goes, in both directions. */
const DATE_MAX_MS = 8_640_000_000_000_000n;

export function fromWireTime(ms: bigint, field: string): Date {
  if (ms > DATE_MAX_MS || ms < -DATE_MAX_MS) refuse(field, `${ms} is not a valid time.`);
  return new Date(Number(ms));
}

export function fromWireTimeOrNone(ms: bigint, field: string): Date | null {
  return ms === 0n ? null : fromWireTime(ms, field);
}
