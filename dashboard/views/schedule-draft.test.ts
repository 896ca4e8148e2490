import { expect, test } from 'vitest';
import { draftOf, specOf } from './schedule-draft.ts';

const job = { document: { tasks: [] } };

test.each([
  [{ cron: '0 2 * * 1-5', zone: 'Europe/Berlin' }],
  [{ everyMs: 90_000 }],
  [{ everyMs: 1_500, anchorAt: '2026-11-15T00:00:00.000Z' }],
  [{ at: '2026-11-15T02:00:00.000Z' }],
])('%j is the same after it was edited', (timing) => {
  const spec = { timing, misfire: 'all', overlap: 'queue', ...job };
  expect(specOf(draftOf(spec), job)).toEqual(spec);
});

test('a moment that the store keeps as a number is shown as a time', () => {
  const at = Date.parse('2026-11-15T02:00:00Z');
  expect(draftOf({ timing: { at } }).at).toBe('2026-11-15T02:00:00.000Z');
});

test.each([
  [{ kind: 'every', every: 'soon' }, 'Seconds are a number of at least 0.1.'],
  [{ kind: 'every', every: '0' }, 'Seconds are a number of at least 0.1.'],
  [{ kind: 'once', at: 'tomorrow' }, "'tomorrow' is not a time."],
] as const)('%j is said as: %s', (parts, words) => {
  expect(specOf({ ...draftOf({}), ...parts }, job)).toBe(words);
});
