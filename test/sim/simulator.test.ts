import { describe, expect, test } from 'vitest';
import { report } from './report.ts';
import { simulate } from './run.ts';

/** Seeds of the gate, in portions so that a failure names its neighbourhood. */
const PORTIONS = 6;
const SEEDS_PER_PORTION = 25;

describe('the simulated cluster', () => {
  test('does the same again when it is given the same seed', async () => {
    for (const seed of [11, 12, 13]) {
      const one = await simulate(seed);
      const other = await simulate(seed);
      expect(other.trace.tail()).toEqual(one.trace.tail());
      expect(other.digest).toBe(one.digest);
      expect(other.events).toBe(one.events);
    }
  });

  test('does something else when it is given another seed', async () => {
    const one = await simulate(11);
    const other = await simulate(12);
    expect(other.digest).not.toBe(one.digest);
  });

  const portions = Array.from({ length: PORTIONS }, (_, at) => at * SEEDS_PER_PORTION + 1);
  test.each(portions)(
    `keeps every rule, ${SEEDS_PER_PORTION} seeds from %i`,
    { timeout: 120_000 },
    async (from) => {
      for (let seed = from; seed < from + SEEDS_PER_PORTION; seed += 1) {
        const outcome = await simulate(seed);
        expect(report(outcome)).toBe('');
      }
    },
  );
});
