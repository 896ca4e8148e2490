import { expect, test } from 'vitest';
import type { StageJoin } from '../../../src/scheduler/contract/index.ts';
import { joinWords } from './joins.ts';

const join: StageJoin = {
  ...{ build: 0, rows: 9, bytes: 700, thresholdBytes: 1_000, probe: 1 },
  isBroadcast: true,
};
const words = (decided: StageJoin | null): string | null =>
  joinWords(decided, (value) => `${value} B`, String);

test('a side that is broadcast because of its size is named with its size', () => {
  expect(words(join)).toBe(
    'Adapted: every task has all of stage 0 (9 rows, 700 B), and stage 1 is not exchanged.',
  );
  expect(words({ ...join, rows: 1 })).toContain('(1 row, 700 B)');
});

test('a join that runs as planned is not mentioned', () => {
  expect(words(null)).toBeNull();
  expect(words({ ...join, isBroadcast: false })).toBeNull();
});
