/** When a schedule runs, as text. A cron expression beyond these patterns is shown as it is. */
import type { Json } from '../../src/scheduler/core/index.ts';
import { duration } from '../words.ts';
import { cronWords } from './cron-words.ts';

type Fields = Readonly<Record<string, Json | undefined>>;

const ONE: Readonly<Record<number, string>> = {
  1_000: 'second',
  60_000: 'minute',
  3_600_000: 'hour',
  86_400_000: 'day',
};

export function fieldsOf(value: Json | undefined): Fields {
  return value !== null && typeof value === 'object' && !Array.isArray(value)
    ? (value as Fields)
    : {};
}

const textOf = (value: Json | undefined): string | null =>
  typeof value === 'string' ? value : null;

export function timingWords(spec: Json): string {
  const timing = fieldsOf(fieldsOf(spec)['timing']);
  const [cron, zone, at] = [textOf(timing['cron']), textOf(timing['zone']), timing['at']];
  const { everyMs } = timing;
  if (cron !== null) return `${cronWords(cron) ?? cron}${zone === null ? '' : `, ${zone}`}`;
  if (typeof everyMs === 'number')
    return `every ${ONE[everyMs] ?? duration(everyMs).replace('.0 ', ' ')}`;
  if (at !== undefined)
    return `once, at ${typeof at === 'number' ? new Date(at).toISOString() : (textOf(at) ?? 'a time that is not understood')}`;
  return 'never';
}

/** The zone that a schedule's times are meant in; null for one without. */
export const zoneOf = (spec: Json): string | null =>
  textOf(fieldsOf(fieldsOf(spec)['timing'])['zone']);

type Choices = readonly (readonly [string, string])[];

/** When its time has passed unnoticed. */
export const MISFIRES: Choices = [
  ['once', 'run once'],
  ['all', 'run each'],
  ['skip', 'skip'],
];
/** When the job before has not ended. */
export const OVERLAPS: Choices = [
  ['skip', 'skip it'],
  ['queue', 'wait for the one before'],
  ['cancel', 'cancel that one'],
];

export const wordsFor = (choices: Choices, value: Json | undefined): string =>
  choices.find(([each]) => each === value)?.[1] ?? textOf(value) ?? '';
