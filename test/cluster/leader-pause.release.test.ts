import { writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import {
  expectOnce,
  expectAllEnded,
  expectSucceeded,
  LONG_SESSIONS,
  startTestCluster,
  takenFrom,
} from '../rig/cluster/test-cluster.ts';
import { expectSoon } from '../rig/until.ts';
import { Load } from '../rig/cluster/load.ts';

test('two nodes that stand still in turn lead in turn, and what runs is executed once', async () => {
  const fixture = await startTestCluster({
    leaders: 2,
    workers: 1,
    slots: 4,
    settings: LONG_SESSIONS,
  });
  const { cluster, client } = fixture;
  const file = cluster.file('go');
  const { id } = await client.submit({
    tasks: [{ id: 'a', executor: 'progress', input: { file, ms: 100 } }],
  });
  await cluster.effects.wait({ job: id, what: 'begin' });
  const load = new Load(client, { jobs: 120, lanes: 3 });
  for (const [round, name] of ['n-1', 'n-2', 'n-1'].entries()) {
    await load.reached((round + 1) * 30);
    const node = cluster.node(name);
    node.process.pause();
    expect(await takenFrom(fixture, node)).toMatchObject({ epoch: round + 2 });
    node.process.resume();
    // The next round needs it as a candidate.
    await expectSoon(async () => {
      const answer = await fetch(`${node.plan.url}/api/v1/leader`);
      expect(await answer.json()).toMatchObject({ epoch: round + 2 });
    });
  }
  writeFileSync(file, '');
  await expectSucceeded(fixture, [id, ...(await load.done)]);
  expectOnce(fixture);
  await expectAllEnded(fixture);
});
