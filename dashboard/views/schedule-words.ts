/** When a schedule runs, as text. A cron expression beyond these patterns is shown as it is. */
import type { Json } from '../../src/scheduler/core/index.ts';
import { duration } from '../words.ts';
import { cronWords } from './cron-words.ts';

type Fields = Readonly<Record<string, Json | undefined>>;

export function fieldsOf(value: Json | undefined): Fields {
  return value !== null && typeof value === 'object' && !Array.isArray(value)
    ? (value as Fields)
    : {};
}

export const textOf = (value: Json | undefined): string | null =>
  typeof value === 'string' ? value : null;

export function timingWords(spec: Json): string {
  const timing = fieldsOf(fieldsOf(spec)['timing']);
  const [cron, zone, at] = [textOf(timing['cron']), textOf(timing['zone']), timing['at']];
  const { everyMs } = timing;
  if (cron !== null) return `${cronWords(cron) ?? cron}${zone === null ? '' : `, ${zone}`}`;
  if (typeof everyMs === 'number') return `every ${duration(everyMs).replace(/^1 /, '')}`;
  if (at !== undefined)
    return `once, at ${typeof at === 'number' ? new Date(at).toISOString() : (textOf(at) ?? 'a time that is not understood')}`;
  return 'never';
}

/** The zone that a schedule's times are meant in; null for one without. */
export const zoneOf = (spec: Json): string | null =>
  textOf(fieldsOf(fieldsOf(spec)['timing'])['zone']);
