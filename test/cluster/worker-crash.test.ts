import { writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { LONG_TTL, kindsOf, MARK, lossyWay } from './worker-crash-setup.ts';
import { eventsOf, expectCleanEnd, startTestCluster } from '../rig/cluster/test-cluster.ts';

test('a task whose worker is killed in the middle runs elsewhere at once, with a new fence and the same key', async () => {
  const fixture = await startTestCluster({ workers: 1, settings: LONG_TTL });
  const { cluster } = fixture;
  const file = cluster.file('go');
  const { id } = await cluster.client.submit({
    tasks: [{ id: 'a', executor: 'waitForFile', input: { file } }],
  });
  const [first] = await cluster.effects.wait({ job: id, what: 'begin' });
  await cluster.startWorker();
  await cluster.node('w-1').process.crash();
  const [, second] = await cluster.effects.wait({ job: id, what: 'begin' }, 2);
  writeFileSync(file, '');
  const job = await cluster.client.waitForJob(id);
  expect(job).toMatchObject({ state: 'succeeded', tasks: [{ node: 'w-2', attempt: 2 }] });
  expect(second?.key).toBe(first?.key);
  expect(second?.fence).toBeGreaterThan(first?.fence ?? Infinity);
  expect(second?.pid).not.toBe(first?.pid);
  const lost = (await eventsOf(cluster, id)).find(({ kind }) => kind === 'reassigned');
  expect(lost).toMatchObject({ node: 'w-1', detail: { why: 'its process is gone' } });
  await expectCleanEnd(fixture);
});

test('a report whose answer is lost counts once, also when the worker dies before it is answered', async () => {
  const fixture = await startTestCluster({ workers: 0, settings: LONG_TTL });
  const { cluster } = fixture;
  const way = await lossyWay(cluster);
  const worker = await cluster.startWorker({ servers: [way.address] });
  await cluster.startWorker();
  const { id } = await cluster.client.submit({
    tasks: [
      {
        id: 'a',
        executor: 'note',
        input: { value: MARK },
        placement: { allowedNodes: ['w-1'] },
      },
      { id: 'b', executor: 'note', dependsOn: ['a'], placement: { forbiddenNodes: ['w-1'] } },
    ],
  });
  // That the next one runs shows that the report of the first was accepted.
  await cluster.effects.wait({ job: id, task: 'b', what: 'begin' });
  await worker.process.crash();
  expect(await cluster.client.waitForJob(id)).toMatchObject({ state: 'succeeded' });
  expect(cluster.effects.all({ job: id, task: 'a', what: 'begin' })).toHaveLength(1);
  expect(await kindsOf(cluster, id)).not.toContain('reassigned');
  await expectCleanEnd(fixture);
});
