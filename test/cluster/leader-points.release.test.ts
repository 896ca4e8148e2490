import { expect, test } from 'vitest';
import {
  LONG_SESSIONS,
  expectAllEnded,
  expectOnce,
  startTestCluster,
  takenFrom,
  tablesFollow,
} from '../rig/cluster/test-cluster.ts';
import type { TestCluster } from '../rig/cluster/test-cluster.ts';
import { writeFileSync } from 'node:fs';
import { LossyDatabase } from '../rig/cluster/lost-answer.ts';

interface Trapped {
  readonly fixture: TestCluster;
  /** What the next commit of the leader comes to; the leader does not hear of it, and is killed. */
  readonly killAfterCommit: () => Promise<void>;
}

async function trapped(): Promise<Trapped> {
  const lossy: LossyDatabase[] = [];
  const route = async (url: string): Promise<string> => {
    lossy.push(await LossyDatabase.start(url));
    return lossy[0]?.url ?? url;
  };
  const fixture = await startTestCluster({
    leaders: 2,
    workers: 1,
    settings: LONG_SESSIONS,
    route,
  });
  const killAfterCommit = async (): Promise<void> => {
    expect(await lossy[0]?.loseAnswer()).toBe('done');
    await fixture.cluster.node('n-1').process.crash();
  };
  return { fixture, killAfterCommit };
}

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
  await tablesFollow(sql);
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
