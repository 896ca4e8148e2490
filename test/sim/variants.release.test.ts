import { describe, expect, test } from 'vitest';
import { simulate } from './run.ts';
import { VARIANTS, withoutQueries } from './variants.ts';

/** A mistake of this size must show within so many seeds. */
const SEEDS_MAX = 60;

describe('a cluster that is broken on purpose', () => {
  test.each(VARIANTS)(
    '$name is caught by the rule "$caughtBy"',
    { timeout: 180_000 },
    async ({ sabotage, caughtBy, change = withoutQueries, from = 1 }) => {
      const broken = new Set<string>();
      for (let seed = from; seed < from + SEEDS_MAX && !broken.has(caughtBy); seed += 1) {
        const { findings } = await simulate(seed, { sabotage, change, convergeMs: 120_000 });
        for (const { rule } of findings) broken.add(rule);
      }
      expect([...broken]).toContain(caughtBy);
    },
  );
});
