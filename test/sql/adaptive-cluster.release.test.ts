import { expect, test, vi } from 'vitest';
import { KILLED, killedAfterDecision } from './killed-after-decision.ts';
import { scratch } from './scratch.ts';

// Real processes on a machine that may be busy with others.
vi.setConfig({ testTimeout: 240_000 });
const here = scratch();

/** Each side is small, and whether it is broadcast is decided by its size. */
const ADAPTIVE = { singleFragmentBytes: 0, targetPartitionBytes: 4_096, adaptiveJoins: 2 } as const;

test.each(KILLED)(
  'whether a side is broadcast stays the same when %s is killed right after it was decided',
  async (...killed) => {
    const stages = await killedAfterDecision(here, 'join', killed, ADAPTIVE);
    const joins = stages.flatMap((stage) => stage.join ?? []);
    expect(joins.filter(({ isBroadcast }) => isBroadcast)).not.toEqual([]);
    for (const { probe } of joins.filter(({ isBroadcast }) => isBroadcast))
      expect(stages[probe]).toMatchObject({ state: 'succeeded', bytesOut: 0 });
  },
);
