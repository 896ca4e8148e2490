import { describe, expect, test } from 'vitest';
import { scratch } from '../sql/scratch.ts';
import { QueryCluster, SLOW, isLinux, letGo, recomputed } from '../rig/cluster/query-cluster.ts';
import { until } from '../rig/until.ts';

const here = scratch();

describe.runIf(isLinux)('queries', () => {
  test('go on under the next leader, and what was done is not done again', async () => {
    const fixture = await QueryCluster.start(here, {
      leaders: 2,
      settings: { sessionTtlMs: 30_000, nodeDeadMs: 40_000 },
    });
    const { cluster } = fixture;
    const id = await fixture.submit(SLOW);
    await fixture.held(id);
    const leader = await cluster.leading();
    await leader.process.crash();
    await until(async () => (await cluster.leading()).id !== leader.id, 'nobody else leads');
    letGo(...cluster.workers);
    expect(recomputed(await fixture.expectRight(id, SLOW))).toBe(0);
    for (const task of (await fixture.tasks(id)).values())
      expect(task).toMatchObject({ run: 1, attempt: 1 });
    await fixture.end();
  });
});
