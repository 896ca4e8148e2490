/** A value as it will be after a round trip through JSON. */
import { isMillraceError } from '../../scheduler/core/index.ts';
import type { Json } from '../../scheduler/core/index.ts';
import { jsonText } from '../executors/index.ts';
import { type About, refuse } from './fault.ts';

/** Undefined stays undefined. Refuses what JSON cannot hold, or would lose. */
export function jsonCopy(value: unknown, about: About): Json | undefined {
  if (value === undefined) return undefined;
  const json = jsonText(value);
  if (json.isJson) return JSON.parse(json.text) as Json;
  // A reference says itself what is wrong.
  if (isMillraceError(json.cause)) throw json.cause;
  return refuse(about, `the input ${json.fault}.`, undefined, json.cause);
}
