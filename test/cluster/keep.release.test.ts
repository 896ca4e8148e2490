import { expect, test } from 'vitest';
import { connect } from '../../src/client/millrace.ts';
import { RefusedCall } from '../rig/cluster/client.ts';
import { startTestCluster, takenFrom } from '../rig/cluster/test-cluster.ts';
import { until } from '../rig/until.ts';

test('a waiting caller gets the result of a job that is not kept, also after a fail-over', async () => {
  const fixture = await startTestCluster({
    leaders: 2,
    workers: 1,
    settings: { unkeptRetentionMs: 15_000, pruneEveryMs: 500 },
  });
  const { cluster, client, sql } = fixture;
  const sdk = connect(cluster.urls.join(','));
  try {
    const task = { id: 'a', executor: 'note', input: { value: 7 } };
    const job = await sdk.submit({ keep: 'none', tasks: [task] });
    const failing = { id: 'a', executor: 'fail', retry: { maxAttempts: 1 } };
    const bad = await sdk.submit({ keep: 'failed', tasks: [failing] });
    await expect(bad.result()).rejects.toMatchObject({ state: 'failed' });
    await client.waitForJob(job.id);
    await cluster.node('n-1').process.crash();
    const result = job.result();
    await takenFrom(fixture, cluster.node('n-1'));
    expect(await result).toMatchObject({ value: 7 });
    const isGone = async (): Promise<boolean> =>
      client.job(job.id).then(
        () => false,
        (error: unknown) => error instanceof RefusedCall && error.status === 404,
      );
    await until(isGone, 'the job to be removed');
    const rows = await until(async () => {
      const [counts] = await sql<{ jobs: number; tasks: number; results: number }[]>`
        select (select count(*)::int from millrace.job) as jobs,
               (select count(*)::int from millrace.any_task) as tasks,
               (select count(*)::int from millrace.any_result) as results`;
      // What hung on the job is swept table by table.
      return counts?.tasks === 1 ? counts : null;
    }, 'its rows to be removed');
    expect(rows).toEqual({ jobs: 1, tasks: 1, results: 0 });
    expect(await client.job(bad.id)).toMatchObject({ state: 'failed', keep: 'failed' });
  } finally {
    await sdk.close();
  }
}, 120_000);
