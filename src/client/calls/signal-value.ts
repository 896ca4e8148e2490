import { MillraceError } from '../../scheduler/core/index.ts';
import type { Json } from '../../scheduler/core/index.ts';

/** Undefined becomes null. */
export function signalValue(name: string, value: unknown): Json {
  if (value === undefined) return null;
  if (JSON.stringify(value) !== undefined) return value as Json;
  throw new MillraceError({
    code: 'bad_input',
    what: `The value of signal ${name} is not valid JSON: it is a ${typeof value}.`,
  });
}
