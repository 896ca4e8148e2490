import { describe, expect, test } from 'vitest';
import { report } from './report.ts';
import { simulate } from './run.ts';

const SEEDS_PER_PORTION = 25;
const portions = Array.from({ length: 6 }, (_, at) => 1 + at * SEEDS_PER_PORTION);

describe('the simulated cluster, before a release', () => {
  test.each(portions)(
    `keeps every rule, ${SEEDS_PER_PORTION} seeds from %i`,
    { timeout: 600_000 },
    async (from) => {
      for (let seed = from; seed < from + SEEDS_PER_PORTION; seed += 1) {
        const outcome = await simulate(seed);
        expect(report(outcome)).toBe('');
      }
    },
  );
});
