import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { instant } from '../core/index.ts';
import { cronCalendar } from './calendar.ts';

const at = (text: string): ReturnType<typeof instant> => instant(Date.parse(text));

/** The next `count` times after a moment, in UTC. */
function next(cron: string, zone: string, after: string, count: number): string[] {
  const found: string[] = [];
  let moment = at(after);
  for (let run = 0; run < count; run += 1) {
    moment = cronCalendar.next(cron, zone, moment) ?? expect.fail(`${cron} has ended`);
    found.push(new Date(moment).toISOString().replace(':00.000Z', 'Z'));
  }
  return found;
}

describe('a cron pattern', () => {
  test('is read in the wall-clock time of its zone', () => {
    expect(next('0 2 * * *', 'Europe/Berlin', '2026-01-10T00:00:00Z', 1)).toEqual([
      '2026-01-10T01:00Z',
    ]);
    expect(next('0 2 * * *', 'Europe/Berlin', '2026-07-10T00:00:00Z', 1)).toEqual([
      '2026-07-11T00:00Z',
    ]);
    expect(next('0 2 * * *', 'Asia/Kolkata', '2026-01-10T00:00:00Z', 1)).toEqual([
      '2026-01-10T20:30Z',
    ]);
    expect(next('0 2 * * *', 'UTC', '2026-01-10T00:00:00Z', 1)).toEqual(['2026-01-10T02:00Z']);
  });

  test('gives a time strictly after the one asked about', () => {
    expect(next('0 2 * * *', 'UTC', '2026-01-10T02:00:00Z', 1)).toEqual(['2026-01-11T02:00Z']);
    expect(next('0 2 * * *', 'UTC', '2026-01-10T01:59:59.999Z', 1)).toEqual(['2026-01-10T02:00Z']);
    expect(next('0 2 * * *', 'UTC', '2026-01-10T02:00:00.001Z', 1)).toEqual(['2026-01-11T02:00Z']);
  });

  test('may have seconds, names and a nickname', () => {
    expect(next('*/30 * * * * *', 'UTC', '2026-01-01T00:00:00Z', 2)).toEqual([
      '2026-01-01T00:00:30.000Z',
      '2026-01-01T00:01Z',
    ]);
    expect(next('0 9 * * MON-FRI', 'UTC', '2026-01-02T12:00:00Z', 1)).toEqual([
      '2026-01-05T09:00Z',
    ]);
    expect(next('@daily', 'UTC', '2026-01-02T12:00:00Z', 1)).toEqual(['2026-01-03T00:00Z']);
  });

  test('waits for a leap day', () => {
    expect(next('0 0 29 2 *', 'UTC', '2026-01-01T00:00:00Z', 2)).toEqual([
      '2028-02-29T00:00Z',
      '2032-02-29T00:00Z',
    ]);
  });

  test('that has a last year ends', () => {
    expect(cronCalendar.next('0 0 0 1 1 * 2026', 'UTC', at('2026-06-01T00:00:00Z'))).toBeNull();
  });

  test('never goes backwards or stands still', () => {
    const asked = fc.record({
      cron: fc.constantFrom('* * * * * *', '*/7 * * * *', '30 2 * * *', '0 */5 * * *', '0 0 1 * *'),
      zone: fc.constantFrom(
        'UTC',
        'Europe/Berlin',
        'America/New_York',
        'Australia/Lord_Howe',
        'Asia/Kathmandu',
      ),
      after: fc.integer({ min: Date.UTC(2020), max: Date.UTC(2035) }),
      step: fc.nat(7 * 24 * 3_600_000),
    });
    fc.assert(
      fc.property(asked, ({ cron, zone, after, step }) => {
        const first = cronCalendar.next(cron, zone, instant(after)) ?? expect.fail('ended');
        const second = cronCalendar.next(cron, zone, instant(after + step)) ?? expect.fail('ended');
        expect(first).toBeGreaterThan(after);
        expect(second).toBeGreaterThanOrEqual(first);
        expect(cronCalendar.next(cron, zone, instant(first - 1))).toBe(first);
      }),
      { numRuns: 300 },
    );
  });
});

describe('when clocks go forward in Berlin (02:00 to 03:00, 2026-03-29 01:00 UTC)', () => {
  test('a fixed time inside the gap runs right after it, once', () => {
    expect(next('30 2 * * *', 'Europe/Berlin', '2026-03-28T12:00:00Z', 2)).toEqual([
      '2026-03-29T01:00Z',
      '2026-03-30T00:30Z',
    ]);
  });

  test('a fixed time outside the gap keeps its wall-clock time', () => {
    expect(next('30 3 * * *', 'Europe/Berlin', '2026-03-28T00:00:00Z', 2)).toEqual([
      '2026-03-28T02:30Z',
      '2026-03-29T01:30Z',
    ]);
  });

  test('a pattern that follows the clock has no run inside the gap', () => {
    expect(next('*/30 * * * *', 'Europe/Berlin', '2026-03-29T00:00:00Z', 3)).toEqual([
      '2026-03-29T00:30Z',
      '2026-03-29T01:00Z',
      '2026-03-29T01:30Z',
    ]);
    expect(next('*/15 2 * * *', 'Europe/Berlin', '2026-03-28T12:00:00Z', 1)).toEqual([
      '2026-03-30T00:00Z',
    ]);
  });
});

describe('when clocks go back in Berlin (03:00 to 02:00, 2026-10-25 01:00 UTC)', () => {
  test('a fixed time that comes twice runs the first time only', () => {
    expect(next('30 2 * * *', 'Europe/Berlin', '2026-10-24T12:00:00Z', 2)).toEqual([
      '2026-10-25T00:30Z',
      '2026-10-26T01:30Z',
    ]);
    expect(next('30 2 * * *', 'Europe/Berlin', '2026-10-25T00:30:00Z', 1)).toEqual([
      '2026-10-26T01:30Z',
    ]);
  });

  test('a pattern that follows the clock runs in both hours', () => {
    expect(next('*/30 * * * *', 'Europe/Berlin', '2026-10-24T23:45:00Z', 5)).toEqual([
      '2026-10-25T00:00Z',
      '2026-10-25T00:30Z',
      '2026-10-25T01:00Z',
      '2026-10-25T01:30Z',
      '2026-10-25T02:00Z',
    ]);
    expect(next('30 2,14 * * *', 'Europe/Berlin', '2026-10-24T23:00:00Z', 3)).toEqual([
      '2026-10-25T00:30Z',
      '2026-10-25T01:30Z',
      '2026-10-25T13:30Z',
    ]);
  });
});

describe('checking', () => {
  test.each([
    '0 2 * * *',
    '0 0 2 * * *',
    '0 0 0 1 1 * 2099',
    '@hourly',
    '0 0 L * *',
    '0 0 * * 1#1',
  ])('%s is right', (cron) => {
    expect(cronCalendar.check(cron, 'Europe/Berlin')).toBeNull();
  });

  test.each([
    ['* * *', 'five, six, or seven'],
    ['', 'five, six, or seven'],
    ['61 * * * *', 'Invalid value for minute'],
    ['*/0 * * * *', 'illegal stepping'],
    ['a b c d e', 'illegal characters'],
    ['@reboot', 'not supported'],
    ['0 0 31 2 *', 'never matches'],
    ['2026-01-01T00:00:00Z', 'is a date, not a cron pattern'],
  ])('%j is wrong, because it %s', (cron, words) => {
    const fault = cronCalendar.check(cron, 'UTC');
    expect(fault).toContain(words);
    expect(fault).not.toContain('CronPattern');
    expect(fault).toMatch(/\.$/);
  });

  test.each(['Europe/Bärlin', 'Nowhere/Else', '', '+02:00', 'local'])(
    '%j is not a zone',
    (zone) => {
      expect(cronCalendar.check('0 2 * * *', zone)).toBe(`'${zone}' is not a valid time zone.`);
    },
  );
});
