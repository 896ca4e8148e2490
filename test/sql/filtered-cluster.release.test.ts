import { expect, test, vi } from 'vitest';
import { KILLED, killedAfterDecision } from './killed-after-decision.ts';
import { scratch } from './scratch.ts';
import { FILTERED } from './sql-cluster.ts';

// Real processes on a machine that may be busy with others.
vi.setConfig({ testTimeout: 240_000 });
const here = scratch();

test.each(KILLED)(
  'a filter stays the same when %s is killed right after it was decided',
  async (...killed) => {
    const stages = await killedAfterDecision(here, 'filter', killed, FILTERED);
    const filters = stages.flatMap((stage) => stage.filters);
    expect(filters.length).toBeGreaterThan(2);
    expect(filters.filter(({ by }) => by === 'none')).toEqual([]);
  },
);
