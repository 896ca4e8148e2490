import { expect, test } from 'vitest';
import { everyCalendar } from '../../../../test/rig/harness/every-calendar.ts';
import { instant } from '../ids.ts';
import type { Instant } from '../ids.ts';
import { backfillTimes, readBackfill } from './backfill.ts';
import type { Timing } from './schedule.ts';

const NOW = instant(Date.parse('2030-01-10T00:00:00Z'));
const HOUR_MS = 3_600_000;
const ago = (hours: number): Instant => instant(NOW - hours * HOUR_MS);

function times(timing: Timing, from: Instant, to: Instant, more: object = {}): readonly number[] {
  const spec = { timing, misfire: 'once', overlap: 'skip', document: null, ...more } as const;
  const nextAt = instant(NOW + HOUR_MS / 2);
  const found = backfillTimes({ from, to }, { spec, nextAt, lastAt: null }, everyCalendar);
  return found.map((at) => (NOW - at) / HOUR_MS);
}

test('the times of a pattern in the range, with both ends', () => {
  const cron = { cron: `every ${HOUR_MS} ms`, zone: 'UTC' };
  expect(times(cron, ago(3), ago(1))).toEqual([3, 2, 1]);
  expect(times(cron, instant(ago(3) + 1), instant(ago(1) - 1))).toEqual([2]);
  expect(times(cron, ago(3), ago(1), { endAt: ago(2) })).toEqual([3, 2]);
});

test('the steps of an interval, from its anchor or from its own times', () => {
  expect(times({ everyMs: HOUR_MS }, ago(3), ago(1))).toEqual([2.5, 1.5]);
  expect(times({ everyMs: HOUR_MS, anchorAt: ago(2) }, ago(9), ago(0))).toEqual([2, 1, 0]);
  expect(times({ everyMs: HOUR_MS, anchorAt: ago(9) }, ago(2), ago(1))).toEqual([2, 1]);
  expect(times({ at: ago(2) }, ago(3), ago(1))).toEqual([2]);
  expect(times({ at: ago(5) }, ago(3), ago(1))).toEqual([]);
});

test('of more than a thousand it says how to go on', () => {
  const range = { from: ago(24 * 365), to: NOW };
  expect(() => times({ everyMs: HOUR_MS, anchorAt: ago(1_000) }, range.from, NOW)).toThrow(
    'Ask for it up to 2030-01-09T23:00:00.000Z, and then from 2030-01-10T00:00:00.000Z on.',
  );
  expect(times({ everyMs: HOUR_MS, anchorAt: ago(999) }, range.from, NOW)).toHaveLength(1_000);
});

test('a range of a client is checked, and what has not come is left to the schedule', () => {
  const iso = (at: number): string => new Date(at).toISOString();
  expect(readBackfill({ from: iso(ago(2)) }, NOW)).toEqual({ from: ago(2), to: NOW });
  expect(readBackfill({ from: iso(ago(2)), to: iso(ago(-9)) }, NOW)).toEqual({
    from: ago(2),
    to: NOW,
  });
  expect(readBackfill({ at: iso(ago(2)) }, NOW)).toEqual({ at: ago(2) });
  const refused: readonly (readonly [unknown, string])[] = [
    [null, 'A backfill'],
    [{}, "The field 'from' is missing"],
    [{ from: 'yesterday' }, '/from'],
    [{ from: iso(ago(1)), to: iso(ago(2)) }, 'ends before it begins'],
    [{ at: iso(ago(-1)) }, 'has not come yet'],
    [{ at: iso(ago(1)), to: iso(ago(0)) }, 'one time or a range'],
    [{ from: iso(ago(1)), until: 1 }, '/until'],
  ];
  for (const [value, message] of refused) expect(() => readBackfill(value, NOW)).toThrow(message);
});
