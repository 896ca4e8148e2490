import { describe, expect, test } from 'vitest';
import { report } from './report.ts';
import { simulate } from './run.ts';
import { manyStragglers } from './straggler-variants.ts';
import { manyRewinds } from './variants.ts';

/** Seeds of the gate, in portions so that a failure names its neighbourhood. The release tests run more. */
const PORTIONS = 1;
const SEEDS_PER_PORTION = 6;

describe('the simulated cluster', () => {
  test('gives one trace a seed, the same each time', { timeout: 240_000 }, async () => {
    const digests = new Set<number>();
    for (const seed of [11, 12]) {
      const one = await simulate(seed);
      const other = await simulate(seed);
      expect(other.trace.tail()).toEqual(one.trace.tail());
      expect(other.digest).toBe(one.digest);
      expect(other.events).toBe(one.events);
      expect(one.leases).toBeGreaterThan(0);
      digests.add(one.digest);
    }
    expect(digests.size).toBe(2);
  });

  test(
    'takes the store back while processes live, and keeps every rule',
    { timeout: 120_000 },
    async () => {
      let rewinds = 0;
      for (const seed of [21, 23]) {
        const outcome = await simulate(seed, { change: manyRewinds });
        expect(report(outcome)).toBe('');
        rewinds += outcome.rewinds;
      }
      expect(rewinds).toBeGreaterThan(0);
    },
  );

  test('starts stragglers a second time, and keeps every rule', { timeout: 120_000 }, async () => {
    const outcome = await simulate(3, { change: manyStragglers });
    expect(report(outcome)).toBe('');
    expect(outcome.duplicates).toBeGreaterThan(0);
  });

  const portions = Array.from({ length: PORTIONS }, (_, at) => at * SEEDS_PER_PORTION + 1);
  test.each(portions)(
    `keeps every rule, ${SEEDS_PER_PORTION} seeds from %i`,
    { timeout: 300_000 },
    async (from) => {
      for (let seed = from; seed < from + SEEDS_PER_PORTION; seed += 1) {
        const outcome = await simulate(seed);
        expect(report(outcome)).toBe('');
      }
    },
  );
});
