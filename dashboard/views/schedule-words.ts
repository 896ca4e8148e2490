/** When a schedule runs, as text. A cron expression beyond these patterns is shown as it is. */
import type { Json } from '../../src/scheduler/core/index.ts';
import { duration } from '../words.ts';

type Fields = Readonly<Record<string, Json | undefined>>;

const DAYS = [
  'Sunday',
  'Monday',
  'Tuesday',
  'Wednesday',
  'Thursday',
  'Friday',
  'Saturday',
  'Sunday',
];

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
  if (typeof everyMs === 'number') return `every ${duration(everyMs)}`;
  if (at !== undefined)
    return `once, at ${typeof at === 'number' ? new Date(at).toISOString() : (textOf(at) ?? 'a time that is not understood')}`;
  return 'never';
}

const number = (text: string): number | null => (/^\d{1,2}$/.test(text) ? Number(text) : null);

function cronWords(cron: string): string | null {
  const parts = cron.trim().split(/\s+/);
  if (parts.length !== 5) return null;
  const [minute = '', hour = '', day = '', month = '', weekday = ''] = parts;
  if (month !== '*') return null;
  const [, every] = /^\*\/(\d{1,2})$/.exec(minute) ?? [];
  const isDaily = day === '*' && weekday === '*';
  if (minute === '*' && hour === '*' && isDaily) return 'every minute';
  if (every !== undefined && hour === '*' && isDaily) return `every ${every} minutes`;
  const m = number(minute);
  if (m === null) return null;
  if (hour === '*' && isDaily) return `every hour at :${String(m).padStart(2, '0')}`;
  const h = number(hour);
  if (h === null) return null;
  const time = `${String(h).padStart(2, '0')}:${String(m).padStart(2, '0')}`;
  if (isDaily) return `every day at ${time}`;
  if (day === '*' && weekday === '1-5') return `weekdays at ${time}`;
  const w = number(weekday);
  if (day === '*' && w !== null) return `every ${DAYS[w] ?? weekday} at ${time}`;
  return weekday === '*' && number(day) !== null ? `day ${day} of every month at ${time}` : null;
}
