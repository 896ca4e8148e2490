import { expect, test } from 'vitest';
import { trapped } from './leader-points-setup.ts';
import { expectOnce, expectAllEnded, takenFrom } from '../rig/cluster/test-cluster.ts';

test('killed after a submission and its lease were committed, before any reply: one job, one run', async () => {
  const { fixture, killAfterCommit } = await trapped();
  const { client, cluster, sql } = fixture;
  const killed = killAfterCommit();
  // Tries until it is answered, under the same key.
  const submitted = client.submit({ tasks: [{ id: 'a', executor: 'note' }] });
  await killed;
  await takenFrom(fixture, cluster.node('n-1'));
  const { id } = await submitted;
  const job = await client.waitForJob(id);
  expect(job.tasks[0]).toMatchObject({ state: 'succeeded', attempt: 1 });
  expect(await sql`select count(*)::int from millrace.job`).toEqual([{ count: 1 }]);
  expectOnce(fixture);
  await expectAllEnded(fixture);
});

test('killed after a cancel was committed, before the client was answered: it is cancelled', async () => {
  const { fixture, killAfterCommit } = await trapped();
  const { client, cluster } = fixture;
  const { id } = await client.submit({ tasks: [{ id: 'a', executor: 'hang' }] });
  await client.waitForEvent(({ event }) => event === 'started', { job: id });
  const killed = killAfterCommit();
  const asked = client.cancel(id);
  await killed;
  await takenFrom(fixture, cluster.node('n-1'));
  expect(await asked).toMatchObject({ id });
  expect(await client.waitForJob(id)).toMatchObject({ state: 'cancelled' });
  // The handler has heard of it, by way of the next leader.
  await cluster.effects.wait({ job: id, what: 'aborted' });
  expectOnce(fixture);
  await expectAllEnded(fixture);
});
