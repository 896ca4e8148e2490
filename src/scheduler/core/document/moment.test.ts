import fc from 'fast-check';
import { expect, test } from 'vitest';
import { refusalOf } from '../../../../test/rig/refusal.ts';
import { instant } from '../ids.ts';
import { momentText, readMoment } from './moment.ts';

const read = (value: unknown): number => readMoment(value, () => '/at');

test('a point in time is read as the platform reads it', () => {
  const moment = fc.date({
    min: new Date(0),
    max: new Date('9999-12-31T23:59:59.999Z'),
    noInvalidDate: true,
  });
  fc.assert(
    fc.property(moment, (date) => {
      expect(read(date.toISOString())).toBe(date.getTime());
      expect(read(date.getTime())).toBe(date.getTime());
    }),
    { numRuns: 1_000 },
  );
});

test.each([
  ['2026-11-15T02:00:00+01:00', '2026-11-15T01:00:00.000Z'],
  ['2026-11-15T02:00:00-05:30', '2026-11-15T07:30:00.000Z'],
  ['2026-11-15t02:00:00.5z', '2026-11-15T02:00:00.500Z'],
  ['2026-11-15 02:00:00.123456789Z', '2026-11-15T02:00:00.123Z'],
  ['2000-02-29T00:00:00Z', '2000-02-29T00:00:00.000Z'],
])('%s is %s', (text, utc) => {
  expect(new Date(read(text)).toISOString()).toBe(utc);
});

test.each<unknown>([
  '2026-11-15',
  '2026-11-15T02:00:00',
  '2026-02-29T00:00:00Z',
  '2100-02-29T00:00:00Z',
  '2026-04-31T00:00:00Z',
  '2026-13-01T00:00:00Z',
  '2026-01-01T24:00:00Z',
  '2026-01-01T00:00:60Z',
  '1969-12-31T23:59:59Z',
  'tomorrow',
  '',
  null,
  -1,
  1.5,
  NaN,
  true,
])('%j is not a point in time', (value) => {
  expect(refusalOf(() => read(value))).toMatchObject({ code: 'bad_input', path: '/at' });
});

test('writes a time as the platform does', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 253_402_300_799_999 }), (at) => {
      expect(momentText(instant(at))).toBe(new Date(at).toISOString());
    }),
  );
});
