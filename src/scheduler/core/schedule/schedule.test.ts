import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { instant, type Instant } from '../ids.ts';
import {
  dueOccurrences,
  firstOccurrence,
  resumedOccurrence,
  upcomingOccurrences,
  MISFIRES,
  type Calendar,
  type Due,
  type Misfire,
  type Timing,
} from './schedule.ts';

/** A calendar whose pattern is a list of times; counts how often it is asked. */
function listCalendar(times: readonly number[]): Calendar & { asked: number } {
  return {
    asked: 0,
    next(_cron, _zone, after) {
      this.asked += 1;
      const found = times.find((time) => time > after);
      return found === undefined ? null : instant(found);
    },
    check: () => null,
  };
}

/** A calendar that matches every whole `everyMs`, for `openMs` out of each `cycleMs`. */
function burstCalendar(
  everyMs: number,
  openMs: number,
  cycleMs: number,
): Calendar & { asked: number } {
  return {
    asked: 0,
    next(_cron, _zone, after) {
      this.asked += 1;
      const at = (Math.floor(after / everyMs) + 1) * everyMs;
      return instant(at % cycleMs < openMs ? at : (Math.floor(at / cycleMs) + 1) * cycleMs);
    },
    check: () => null,
  };
}

const CRON: Timing = { cron: '* * * * *', zone: 'UTC' };
const none = listCalendar([]);
const ats = (...times: number[]): Instant[] => times.map(instant);

interface Asked {
  readonly timing: Timing;
  readonly misfire: Misfire;
  readonly nextAt: number;
  readonly now: number;
  readonly calendar?: Calendar;
  readonly graceMs?: number;
  readonly catchUpMax?: number;
}

function due({
  timing,
  misfire,
  nextAt,
  now,
  calendar = none,
  graceMs = 5,
  catchUpMax = 3,
}: Asked): Due {
  return dueOccurrences(
    { timing, misfire },
    instant(nextAt),
    instant(now),
    calendar,
    graceMs,
    catchUpMax,
  );
}

describe('an interval', () => {
  const timing = { everyMs: 100 };

  test('is not due before its time', () => {
    expect(due({ timing, misfire: 'all', nextAt: 200, now: 199 })).toEqual({
      fire: [],
      missed: 0,
      missedExact: true,
      nextAt: 200,
    });
  });

  test.each(MISFIRES)('that is on time fires under the policy %s', (misfire) => {
    expect(due({ timing, misfire, nextAt: 200, now: 205 })).toMatchObject({
      fire: [200],
      missed: 0,
      nextAt: 300,
    });
  });

  test.each([
    ['skip', [], 3],
    ['once', [400], 2],
    ['all', [200, 300, 400], 0],
  ] as const)('that is late is handled by the policy %s', (misfire, fire, missed) => {
    expect(due({ timing, misfire, nextAt: 200, now: 450 })).toMatchObject({
      fire,
      missed,
      nextAt: 500,
    });
  });

  test.each([
    ['skip', [400], 2],
    ['once', [300, 400], 1],
    ['all', [200, 300, 400], 0],
  ] as const)(
    'whose newest is on time fires that one besides, under %s',
    (misfire, fire, missed) => {
      expect(due({ timing, misfire, nextAt: 200, now: 403 })).toMatchObject({
        fire,
        missed,
        nextAt: 500,
      });
    },
  );

  test('that slept for a year catches up with the newest, at once', () => {
    const year = 365 * 24 * 3_600_000;
    const found = due({ timing: { everyMs: 1_000 }, misfire: 'all', nextAt: 0, now: year });
    expect(found.fire).toEqual([year - 2_000, year - 1_000, year]);
    expect(found).toMatchObject({
      missed: year / 1_000 - 2,
      missedExact: true,
      nextAt: year + 1_000,
    });
  });

  test('never fires more than the limit, even when all are on time', () => {
    const found = due({ timing, misfire: 'skip', nextAt: 0, now: 1_000, graceMs: 10_000 });
    expect(found).toMatchObject({ fire: [800, 900, 1_000], missed: 8 });
  });

  test('starts one interval after its creation, or in step with its anchor', () => {
    const first = (now: number, anchorAt?: number): number | null =>
      firstOccurrence(
        anchorAt === undefined ? timing : { ...timing, anchorAt: instant(anchorAt) },
        instant(now),
        none,
      );
    expect(first(1_234)).toBe(1_334);
    expect(first(1_234, 10)).toBe(1_310);
    expect(first(1_310, 10)).toBe(1_410);
    expect(first(1_234, 5_000)).toBe(5_000);
  });
});

describe('a single time', () => {
  const timing = { at: instant(1_000) };

  test('fires once', () => {
    expect(firstOccurrence(timing, instant(5), none)).toBe(1_000);
    expect(due({ timing, misfire: 'skip', nextAt: 1_000, now: 1_001 })).toMatchObject({
      fire: [1_000],
      missed: 0,
      nextAt: null,
    });
  });

  test('that has passed before it was made is a misfire', () => {
    expect(firstOccurrence(timing, instant(9_000), none)).toBe(1_000);
    const late = { timing, nextAt: 1_000, now: 9_000 };
    expect(due({ ...late, misfire: 'skip' })).toMatchObject({ fire: [], missed: 1, nextAt: null });
    expect(due({ ...late, misfire: 'once' })).toMatchObject({ fire: [1_000], missed: 0 });
    expect(due({ ...late, misfire: 'all' })).toMatchObject({ fire: [1_000], missed: 0 });
  });
});

describe('a cron schedule', () => {
  test('fires what its calendar says', () => {
    const calendar = listCalendar([100, 250, 300, 900]);
    expect(due({ timing: CRON, misfire: 'all', nextAt: 100, now: 500, calendar })).toEqual({
      fire: ats(100, 250, 300),
      missed: 0,
      missedExact: true,
      nextAt: 900,
    });
  });

  test('ends with its calendar', () => {
    const calendar = listCalendar([100]);
    expect(
      due({ timing: CRON, misfire: 'once', nextAt: 100, now: 101, calendar }).nextAt,
    ).toBeNull();
  });

  test('that slept for a year is not walked through', () => {
    const year = 365 * 24 * 3_600_000;
    const calendar = burstCalendar(1_000, 1, 1);
    const found = due({
      timing: CRON,
      misfire: 'all',
      nextAt: 0,
      now: year,
      calendar,
      catchUpMax: 100,
    });
    expect(found.fire).toHaveLength(100);
    expect(found.fire[0]).toBe(year - 99_000);
    expect(found.fire[99]).toBe(year);
    expect(found).toMatchObject({ missed: 101, missedExact: false, nextAt: year + 1_000 });
    expect(calendar.asked).toBeLessThan(1_000);
  });

  test('finds the newest across the quiet hours of an uneven pattern', () => {
    // Every second in the first minute of each day.
    const day = 24 * 3_600_000;
    const calendar = burstCalendar(1_000, 60_000, day);
    const now = 400 * day + 2_500;
    const found = due({ timing: CRON, misfire: 'all', nextAt: 0, now, calendar, catchUpMax: 5 });
    const yesterday = 399 * day;
    expect(found.fire).toEqual([
      yesterday + 58_000,
      yesterday + 59_000,
      400 * day,
      400 * day + 1_000,
      400 * day + 2_000,
    ]);
    expect(calendar.asked).toBeLessThan(300);
  });

  test('fires what a walk through all its times would, under every policy', () => {
    const asked = fc.record({
      times: fc.uniqueArray(fc.integer({ min: 1, max: 2_000 }), { minLength: 1, maxLength: 40 }),
      now: fc.integer({ min: 0, max: 2_500 }),
      graceMs: fc.nat(300),
      catchUpMax: fc.integer({ min: 1, max: 10 }),
      misfire: fc.constantFrom(...MISFIRES),
    });
    fc.assert(
      fc.property(asked, ({ times, now, graceMs, catchUpMax, misfire }) => {
        const sorted = times.toSorted((left, right) => left - right);
        const calendar = listCalendar(sorted);
        const nextAt = sorted[0] ?? 0;
        const found = due({ timing: CRON, misfire, nextAt, now, calendar, graceMs, catchUpMax });
        const passed = sorted.filter((at) => at <= now);
        const late = passed.filter((at) => now - at > graceMs);
        const onTime = passed.filter((at) => now - at <= graceMs);
        const caught = { skip: [], once: late.slice(-1), all: late }[misfire];
        const fire = [...caught, ...onTime].slice(-catchUpMax);
        expect(found.fire).toEqual(fire);
        expect(found.nextAt).toBe(sorted.find((at) => at > now) ?? null);
        const missed = passed.length - fire.length;
        if (found.missedExact) expect(found.missed).toBe(missed);
        else expect(found.missed).toBeLessThanOrEqual(missed);
        expect(found.missed > 0).toBe(missed > 0);
      }),
      { numRuns: 1_000 },
    );
  });
});

test('an interval does what the same times on a calendar do', () => {
  const asked = fc.record({
    everyMs: fc.integer({ min: 1, max: 50 }),
    nextAt: fc.nat(100),
    now: fc.nat(600),
    graceMs: fc.nat(100),
    catchUpMax: fc.integer({ min: 1, max: 800 }),
    misfire: fc.constantFrom(...MISFIRES),
  });
  fc.assert(
    fc.property(asked, ({ everyMs, ...rest }) => {
      const times = Array.from({ length: 800 }, (_, at) => rest.nextAt + at * everyMs);
      const byInterval = due({ ...rest, timing: { everyMs } });
      const byCalendar = due({ ...rest, timing: CRON, calendar: listCalendar(times) });
      expect(byInterval).toMatchObject({ fire: byCalendar.fire, nextAt: byCalendar.nextAt });
      if (byCalendar.missedExact) expect(byInterval.missed).toBe(byCalendar.missed);
    }),
    { numRuns: 300 },
  );
});

test('a calendar that breaks its word cannot hold the scheduler up', () => {
  const stuck: Calendar = { next: () => instant(50), check: () => null };
  expect(
    due({ timing: CRON, misfire: 'all', nextAt: 50, now: 5_000, calendar: stuck }).fire.length,
  ).toBeLessThan(4);
});

test('a schedule goes on after a pause in step, and does not repeat what has ended', () => {
  const resumed = (timing: Timing, nextAt: number | null, now: number): number | null =>
    resumedOccurrence(
      timing,
      nextAt === null ? null : instant(nextAt),
      instant(now),
      listCalendar([10, 20, 30]),
    );
  expect(resumed({ everyMs: 100 }, 50, 49)).toBe(50);
  expect(resumed({ everyMs: 100 }, 50, 420)).toBe(450);
  expect(resumed({ everyMs: 100 }, 50, 450)).toBe(550);
  expect(resumed(CRON, 10, 20)).toBe(30);
  expect(resumed(CRON, 10, 30)).toBeNull();
  expect(resumed({ at: instant(50) }, 50, 40)).toBe(50);
  expect(resumed({ at: instant(50) }, 50, 60)).toBeNull();
  expect(resumed({ at: instant(50) }, null, 60)).toBeNull();
});

test('the next runs can be listed', () => {
  expect(upcomingOccurrences({ timing: { everyMs: 100 } }, instant(50), 3, none)).toEqual([
    50, 150, 250,
  ]);
  expect(upcomingOccurrences({ timing: { at: instant(50) } }, instant(50), 3, none)).toEqual([50]);
  expect(upcomingOccurrences({ timing: CRON }, instant(10), 3, listCalendar([10, 20]))).toEqual([
    10, 20,
  ]);
  expect(upcomingOccurrences({ timing: CRON }, null, 3, none)).toEqual([]);
});
