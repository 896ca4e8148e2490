import { writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import {
  expectOnce,
  expectAllEnded,
  expectSucceeded,
  LONG_TTLS,
  terms,
  startTestCluster,
  takenFrom,
} from '../rig/cluster/test-cluster.ts';
import { Load } from '../rig/cluster/load.ts';

test('the leader is killed: what runs goes on and is accepted by the next leader', async () => {
  const fixture = await startTestCluster({ leaders: 2, workers: 2, slots: 2, settings: LONG_TTLS });
  const { cluster, client } = fixture;
  const file = cluster.file('go');
  const { id } = await client.submit({
    tasks: [
      { id: 'a', executor: 'waitForFile', input: { file } },
      { id: 'b', executor: 'waitForFile', input: { file } },
      { id: 'c', executor: 'note', dependsOn: ['a', 'b'], input: { value: 'after' } },
    ],
  });
  const begun = await cluster.effects.wait({ job: id, what: 'begin' }, 2);
  await cluster.node('n-1').process.crash();
  expect(await takenFrom(fixture, cluster.node('n-1'))).toEqual({ nodeId: 'n-2', epoch: 2 });
  writeFileSync(file, '');
  const job = await client.waitForJob(id);
  expect(job.state).toBe('succeeded');
  // The leases that the dead leader gave are the ones that won.
  for (const { task, fence } of begun) {
    const seen = job.tasks.find((each) => each.id === task);
    expect(seen).toMatchObject({ attempt: 1, result: { signed: { attempt: 1, fence } } });
  }
  expectOnce(fixture);
  await expectAllEnded(fixture);
  expect(await terms(fixture)).toEqual([
    { nodeId: 'n-1', epoch: 1 },
    { nodeId: 'n-2', epoch: 2 },
  ]);
});

test('a leader that is asked to end hands over at once, and under load nothing is lost', async () => {
  const fixture = await startTestCluster({ leaders: 2, workers: 2, slots: 4, settings: LONG_TTLS });
  const { cluster } = fixture;
  const load = new Load(fixture.client, { jobs: 200 });
  await load.reached(60);
  const askedAt = performance.now();
  expect(await cluster.node('n-1').process.stop()).toEqual({ code: 0, signal: null });
  expect(await takenFrom(fixture, cluster.node('n-1'))).toEqual({ nodeId: 'n-2', epoch: 2 });
  expect(performance.now() - askedAt).toBeLessThan(10_000);
  await expectSucceeded(fixture, await load.done);
  expectOnce(fixture);
  await expectAllEnded(fixture);
});
