/** Numbers, times and sizes as people read them. */
import { signal } from '@preact/signals';
import type { FlowShape } from '../src/scheduler/contract/index.ts';
import { clockAheadMs } from './api/call.ts';

/** The server's time, once a second: whatever shows an age follows it. */
export const now = signal(Date.now());

export const serverNow = (): number => Date.now() + clockAheadMs.peek();

export function watchClock(): void {
  const tick = (): void => {
    now.value = serverNow();
  };
  tick();
  setInterval(tick, 1_000);
}

const UNITS: readonly (readonly [string, number])[] = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1_000],
];

/** `420 ms`, `4.2 s`, `3 min 20 s`, `2 d 4 h`. */
export function duration(ms: number): string {
  if (ms < 0) return '0 ms';
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(ms < 10_000 ? 1 : 0)} s`;
  const at = UNITS.findIndex(([, size]) => ms >= size);
  const [unit, size] = UNITS[at] as readonly [string, number];
  const [small, smallSize] = UNITS[at + 1] ?? ['s', 1_000];
  const whole = Math.floor(ms / size);
  const rest = Math.floor((ms - whole * size) / smallSize);
  return rest === 0 ? `${whole} ${unit}` : `${whole} ${unit} ${rest} ${small}`;
}

/** Reasons come with exact figures: `in 93000 ms`, `at 2026-11-15T02:00:00.000Z`. */
export const withoutFigures = (text: string): string =>
  text
    .replaceAll('>=', '≥')
    .replaceAll('<=', '≤')
    .replaceAll(/\b(\d+) ms\b/g, (_, ms: string) => duration(Number(ms)))
    .replaceAll(/\b20\d\d-\d\d-\d\dT[\d:.]+Z/g, (at) => calendarTime(at));

/** An error without a code of its own has the code `error`, which says nothing. */
export const errorWords = (text: string): string =>
  text.replace('the last error was error: ', 'the last error was: ');

/** One unit only: `4 min`. */
export function roughly(ms: number): string {
  if (ms < 1_000) return 'a moment';
  const [unit, size] = UNITS.find(([, each]) => ms >= each) ?? ['s', 1_000];
  return `${Math.floor(ms / size)} ${unit}`;
}

export function ago(at: string, nowMs: number): string {
  const ms = nowMs - Date.parse(at);
  if (Math.abs(ms) < 1_000) return 'now';
  return ms < 0 ? `in ${roughly(-ms)}` : `${roughly(ms)} ago`;
}

const clock = new Intl.DateTimeFormat(undefined, {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hourCycle: 'h23',
});
const CALENDAR: Intl.DateTimeFormatOptions = {
  weekday: 'short',
  day: 'numeric',
  month: 'short',
  hour: '2-digit',
  minute: '2-digit',
  hourCycle: 'h23',
};
const calendar = new Intl.DateTimeFormat(undefined, CALENDAR);
export const clockTime = (at: string | number): string => clock.format(new Date(at));

/** A weekday and a month do not tell years apart. */
const FAR_MS = 300 * 86_400_000;

/** In the zone of this machine, or in the one that is given, if the browser knows it. */
export function calendarTime(at: string, zone: string | null = null, withSeconds = false): string {
  const moment = new Date(at);
  const isFar = Math.abs(moment.getTime() - Date.now()) > FAR_MS;
  if (zone === null && !withSeconds && !isFar) return calendar.format(moment);
  try {
    return new Intl.DateTimeFormat(undefined, {
      ...CALENDAR,
      ...(zone === null ? {} : { timeZone: zone }),
      ...(withSeconds ? { second: '2-digit' } : {}),
      ...(isFar ? { year: 'numeric' } : {}),
    }).format(moment);
  } catch {
    return calendar.format(moment);
  }
}

const grouped = new Intl.NumberFormat('en');
export const count = (value: number): string => grouped.format(value);
export const plural = (value: number, one: string, many = `${one}s`): string =>
  `${count(value)} ${value === 1 ? one : many}`;

export function bytes(value: number): string {
  if (value < 1_000) return `${value} B`;
  let [size, unit] = [value, 'B'];
  for (const next of ['kB', 'MB', 'GB', 'TB']) {
    if (size < 1_000) break;
    [size, unit] = [size / 1_000, next];
  }
  return `${size.toFixed(size < 10 ? 1 : 0)} ${unit}`;
}

/** The end is what differs between ids that grow with time. */
export const shortId = (id: string): string => (id.length <= 14 ? id : `…${id.slice(-10)}`);

/** An event that starts a flow: `order.created`, or `order.created (region = eu)`. */
export function startWords(start: NonNullable<FlowShape['on']>[number]): string {
  if (typeof start === 'string') return start;
  const fields = Object.entries(start.match).map(([field, value]) => `${field} = ${value}`);
  return `${start.event} (${fields.join(', ')})`;
}
