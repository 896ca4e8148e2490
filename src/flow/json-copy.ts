/** A value as it will be after its way through JSON. */
import { isMillraceError } from '../core/index.ts';
import type { Json } from '../core/index.ts';
import { type About, refuse, shown } from './fault.ts';

/** Undefined stays undefined. Refuses what JSON cannot hold. */
export function jsonCopy(value: unknown, about: About): Json | undefined {
  if (value === undefined) return undefined;
  const text = jsonText(value, about);
  if (text === undefined) {
    refuse(about, `the input is ${shown(value)}, which is not JSON.`, 'Pass plain data.');
  }
  return JSON.parse(text) as Json;
}

function jsonText(value: unknown, about: About): string | undefined {
  try {
    return JSON.stringify(value);
  } catch (cause) {
    // A reference says itself what is wrong.
    if (isMillraceError(cause)) throw cause;
    // The first line: engines draw the way of a cycle below it.
    const [reason] = (cause instanceof Error ? cause.message : String(cause)).split('\n', 1);
    return refuse(about, `the input is not JSON: ${reason}.`, 'Pass plain data.', cause);
  }
}
