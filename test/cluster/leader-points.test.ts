import { writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { expectOnce, expectRest, takenFrom } from './stage.ts';
import { trapped } from './leader-points-setup.ts';

test('killed after a report was committed, before the worker was answered: the result counts once', async () => {
  const { play, killAfterCommit } = await trapped();
  const { client, cluster } = play;
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
  await takenFrom(play, cluster.node('n-1'));
  const job = await client.waitForJob(id);
  expect(job.tasks).toMatchObject([
    { id: 'a', state: 'succeeded', attempt: 1, result: { value: 7 } },
    { id: 'b', state: 'succeeded', attempt: 1 },
  ]);
  expectOnce(play);
  await expectRest(play);
});
