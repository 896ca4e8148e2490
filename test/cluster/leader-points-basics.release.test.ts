import { writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { trapped } from './leader-points-setup.ts';
import { expectOnce, expectAllEnded, takenFrom } from '../rig/cluster/test-cluster.ts';

test('killed after a report was committed, before the worker was answered: the result counts once', async () => {
  const { fixture, killAfterCommit } = await trapped();
  const { client, cluster } = fixture;
  const file = cluster.file('go');
  const { id } = await client.submit({
    tasks: [
      { id: 'a', executor: 'waitForFile', input: { file, value: 7 } },
      { id: 'b', executor: 'note', dependsOn: ['a'], input: { value: { $from: 'a' } } },
    ],
  });
  await client.waitForEvent(({ event }) => event === 'started', { job: id });
  const killed = killAfterCommit();
  writeFileSync(file, '');
  await killed;
  await takenFrom(fixture, cluster.node('n-1'));
  const job = await client.waitForJob(id);
  expect(job.tasks).toMatchObject([
    { id: 'a', state: 'succeeded', attempt: 1, result: { value: 7 } },
    { id: 'b', state: 'succeeded', attempt: 1 },
  ]);
  expectOnce(fixture);
  await expectAllEnded(fixture);
});
