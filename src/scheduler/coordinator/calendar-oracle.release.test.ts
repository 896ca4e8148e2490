import { describe, expect, test } from 'vitest';
import { instant } from '../core/index.ts';
import { cronCalendar } from './calendar.ts';

/**
 * The calendar against a scan of every minute around every change of the clocks, which shares nothing with
 * it: it asks the platform what a clock on the wall shows, and reads patterns on its own.
 */

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
/** So far before and after a change is looked. */
const AROUND_MS = 3 * DAY_MS;

interface Wall {
  readonly at: number;
  readonly date: string;
  readonly minute: number;
  readonly hour: number;
  readonly day: number;
  readonly month: number;
  readonly weekday: number;
}

function wallClock(zone: string): (at: number) => Wall {
  const format = new Intl.DateTimeFormat('sv-SE', {
    timeZone: zone,
    dateStyle: 'short',
    timeStyle: 'short',
  });
  return (at) => {
    const text = format.format(at);
    const [, year, month, day, hour, minute] = (
      /^(\d+)-(\d+)-(\d+) (\d+):(\d+)$/.exec(text) ?? expect.fail(text)
    ).map(Number) as [number, number, number, number, number, number];
    const weekday = new Date(Date.UTC(year, month - 1, day)).getUTCDay();
    return { at, date: text.slice(0, 10), minute, hour, day, month, weekday };
  };
}

/** What the clock on the wall is ahead of UTC. */
function offsetMs({ at, date, hour, minute }: Wall): number {
  return Date.parse(`${date}T00:00:00Z`) + hour * HOUR_MS + minute * MINUTE_MS - at;
}

/** All minutes near a change of the clocks of that year, a list for each change. */
function minutesAroundChanges(zone: string, year: number): readonly (readonly Wall[])[] {
  const wall = wallClock(zone);
  const around: Wall[][] = [];
  let before = offsetMs(wall(Date.UTC(year)));
  for (let at = Date.UTC(year); at < Date.UTC(year + 1); at += HOUR_MS) {
    const offset = offsetMs(wall(at));
    if (offset !== before) around.push(minutesFrom(at - AROUND_MS, at + AROUND_MS, wall));
    before = offset;
  }
  return around;
}

function minutesFrom(from: number, to: number, wall: (at: number) => Wall): Wall[] {
  const minutes: Wall[] = [];
  for (let at = from; at <= to; at += MINUTE_MS) minutes.push(wall(at));
  return minutes;
}

type Field = (value: number) => boolean;

function field(text: string): Field {
  const parts = text.split(',').map((part): Field => {
    const [, low, high, step] = /^(\*|\d+)(?:-(\d+))?(?:\/(\d+))?$/.exec(part) ?? expect.fail(part);
    if (low === '*') return (value) => value % Number(step ?? 1) === 0;
    const [from, to] = [Number(low), Number(high ?? low)];
    return (value) => value >= from && value <= to && (value - from) % Number(step ?? 1) === 0;
  });
  return (value) => parts.some((part) => part(value));
}

interface Pattern {
  readonly isFixed: boolean;
  readonly matchesTime: (wall: Wall) => boolean;
  readonly matchesDay: (wall: Wall) => boolean;
}

function pattern(cron: string): Pattern {
  const texts = cron.split(' ') as [string, string, string, string, string];
  const [minute, hour, day, month, weekday] = texts.map(field) as [
    Field,
    Field,
    Field,
    Field,
    Field,
  ];
  const [, , days, , weekdays] = texts;
  return {
    isFixed: /^\d+ \d+ /.test(cron),
    matchesTime: (wall) => minute(wall.minute) && hour(wall.hour),
    matchesDay: (wall) => {
      if (!month(wall.month)) return false;
      const [byDay, byWeekday] = [day(wall.day), weekday(wall.weekday)];
      return days === '*' || weekdays === '*' ? byDay && byWeekday : byDay || byWeekday;
    },
  };
}

/** What is promised: see the top of calendar.ts. */
function promised(cron: string, minutes: readonly Wall[]): number[] {
  const { isFixed, matchesTime, matchesDay } = pattern(cron);
  if (!isFixed) {
    return minutes.filter((wall) => matchesTime(wall) && matchesDay(wall)).map(({ at }) => at);
  }
  const found = new Map<string, number>();
  for (const wall of minutes) {
    const isFirst = !found.has(wall.date) && matchesDay(wall);
    if (isFirst && matchesTime(wall)) found.set(wall.date, wall.at);
  }
  const [minuteText, hourText] = cron.split(' ');
  const wanted = Number(hourText) * 60 + Number(minuteText);
  for (const [index, wall] of minutes.entries()) {
    const before = minutes[index - 1];
    if (before === undefined || found.has(wall.date) || !matchesDay(wall)) continue;
    // The day has no such minute: the clock has jumped over it just now, perhaps from the day before.
    const last = before.date === wall.date ? before.hour * 60 + before.minute : -1;
    if (last < wanted && wanted < wall.hour * 60 + wall.minute) found.set(wall.date, wall.at);
  }
  return [...found.values()].toSorted((left, right) => left - right);
}

function given(cron: string, zone: string, from: number, to: number): number[] {
  const found: number[] = [];
  for (let at = cronCalendar.next(cron, zone, instant(from - 1)); at !== null && at <= to;) {
    found.push(at);
    at = cronCalendar.next(cron, zone, at);
  }
  return found;
}

const CRONS = [
  '30 2 * * *',
  '0 2 * * *',
  '15 2 * * *',
  '59 1 * * *',
  '0 3 * * *',
  '0 0 * * *',
  '30 0 * * *',
  '30 23 * * *',
  '30 2 * * 0',
  '30 0 1-7 * *',
  '15 2 1 * 0',
  '*/15 * * * *',
  '* 2 * * *',
  '*/7 0-3 * * *',
  '30 0,2 * * *',
  '30 1-2 * * *',
  '0 * * * *',
  '0 */2 * * *',
  '5 0-23/3 * * 6,0',
] as const;

const iso = (times: readonly number[]): string[] => times.map((at) => new Date(at).toISOString());

/** Zones with a rule of their own, in a year in which it held, and how often their clocks changed. */
const ZONES = [
  ['Europe/Berlin', 2026, 2],
  ['America/New_York', 2026, 2],
  // By half an hour.
  ['Australia/Lord_Howe', 2026, 2],
  // At midnight: a day without its first hour, and one whose last hour comes twice.
  ['America/Sao_Paulo', 2018, 2],
  ['Africa/Cairo', 2026, 2],
  // By two hours.
  ['Antarctica/Troll', 2026, 2],
  // Back and forth around the month of fasting.
  ['Africa/Casablanca', 2026, 2],
  // Besides two ordinary changes, a whole day that never was.
  ['Pacific/Apia', 2011, 3],
] as const;

test('the scan says what one reads off a clock in Berlin', () => {
  const nights = minutesAroundChanges('Europe/Berlin', 2026);
  const [spring, autumn] = ['30 2 * * *', '30 1-2 * * *'].map((cron) =>
    nights.map((minutes) => iso(promised(cron, minutes))),
  ) as [string[][], string[][]];
  // 02:30 on the days before and after, and between them the first moment after the gap.
  expect(spring[0]?.slice(2, 5)).toEqual([
    '2026-03-28T01:30:00.000Z',
    '2026-03-29T01:00:00.000Z',
    '2026-03-30T00:30:00.000Z',
  ]);
  expect(spring[1]).toContain('2026-10-25T00:30:00.000Z');
  expect(spring[1]).not.toContain('2026-10-25T01:30:00.000Z');
  const night = autumn[1]?.filter((time) => time.startsWith('2026-10-25')) ?? [];
  expect(night).toEqual(['2026-10-25T00:30:00.000Z', '2026-10-25T01:30:00.000Z']);
});

describe.each(ZONES)('the clocks of %s in %i', (zone, year, changes) => {
  const around = minutesAroundChanges(zone, year);

  test('change as often as the table says', () => {
    expect(around).toHaveLength(changes);
  });

  test.each(CRONS)('%s runs when a scan of every minute says', (cron) => {
    for (const minutes of around) {
      const [from, to] = [minutes[0]?.at ?? 0, minutes.at(-1)?.at ?? 0];
      // The first day is cut, and a fixed time may lie before the cut.
      const within = (at: number): boolean => at >= from + DAY_MS && at <= to - DAY_MS;
      const times = promised(cron, minutes).filter(within);
      expect(iso(given(cron, zone, from, to).filter(within))).toEqual(iso(times));
      // Wherever one asks, the next one is the next one.
      for (let at = from + DAY_MS; at < to - 2 * DAY_MS; at += 37 * MINUTE_MS) {
        const next = times.find((time) => time > at);
        if (next !== undefined) expect(cronCalendar.next(cron, zone, instant(at))).toBe(next);
      }
    }
  });
});
