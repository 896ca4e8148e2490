import { expect, test } from 'vitest';
import {
  LONG_SESSIONS,
  expectAllEnded,
  expectOnce,
  expectSucceeded,
  startTestCluster,
  takenFrom,
  tablesFollow,
} from '../rig/cluster/test-cluster.ts';
import type { TestCluster } from '../rig/cluster/test-cluster.ts';
import { expectSoon } from '../rig/until.ts';
import type postgres from 'postgres';

const document = (more: object = {}): postgres.JSONValue => ({
  tasks: [{ id: 'a', executor: 'note' }],
  ...more,
});

async function submit(sql: postgres.ISql, given: postgres.JSONValue): Promise<string> {
  const text = JSON.stringify(given);
  const [row] = await sql`select millrace.submit(${text}::text::jsonb) as id`;
  return String(row?.['id']);
}

/** Jobs of this id in any state, and what waits for the leader. */
async function counts({ sql }: TestCluster): Promise<unknown> {
  await tablesFollow(sql);
  const [row] = await sql`
    select (select count(*) from millrace.job)::int as jobs,
           (select count(*) from millrace.inbox)::int as inbox`;
  return row;
}

test("a job that is submitted in a user's transaction exists exactly if that commits", async () => {
  const fixture = await startTestCluster({ leaders: 1, workers: 1 });
  const { sql, client, cluster } = fixture;
  await sql`create table orders (id int primary key)`;
  const refused = sql.begin(async (tx) => {
    await tx`insert into orders values (1)`;
    await submit(tx, document());
    await tx`insert into orders values (1)`;
  });
  await expect(refused).rejects.toThrow('duplicate key');
  expect(await counts(fixture)).toEqual({ jobs: 0, inbox: 0 });
  const id = await sql.begin(async (tx) => {
    await tx`insert into orders values (1)`;
    return submit(tx, document({ name: 'ship' }));
  });
  client.acknowledged.add(id);
  await expectSucceeded(fixture, [id]);
  expect(await client.job(id)).toMatchObject({ name: 'ship', state: 'succeeded' });
  expect(cluster.effects.all({ what: 'begin' })).toHaveLength(1);
  expect(await counts(fixture)).toEqual({ jobs: 1, inbox: 0 });
  await expectAllEnded(fixture);
});

test('one key makes one job, whether it came by SQL or by HTTP', async () => {
  const fixture = await startTestCluster({ leaders: 1, workers: 1 });
  const { sql, client } = fixture;
  const keyed = document({ idempotencyKey: 'order-7' });
  const together = await Promise.all(
    Array.from({ length: 8 }, () => sql.begin((tx) => submit(tx, keyed))),
  );
  const id = together[0] ?? '';
  expect(new Set(together).size).toBe(1);
  client.acknowledged.add(id);
  await expectSucceeded(fixture, [id]);
  expect(await submit(sql, keyed)).toBe(id);
  expect((await client.submit(keyed as Record<string, unknown>)).id).toBe(id);
  expect(await counts(fixture)).toEqual({ jobs: 1, inbox: 0 });
  await expectAllEnded(fixture);
});

test('a document that cannot run becomes a failed job that says why', async () => {
  const fixture = await startTestCluster({ leaders: 1, workers: 1 });
  const { sql, client } = fixture;
  const bad = [
    { tasks: [{ id: 'a', executor: 'note', dependsOn: ['nowhere'] }] },
    { tasks: 'none' },
    'not even an object',
  ];
  for (const given of bad) {
    const id = await submit(sql, given);
    client.acknowledged.add(id);
    const job = await expectSoon(() => client.waitForJob(id));
    expect(job.state).toBe('failed');
    const failed = await client.waitForEvent(({ event }) => event === 'job.failed', { job: id });
    expect(failed.data).toMatch(/nowhere|tasks|document/);
  }
  // What comes after them is not held up.
  const id = await submit(sql, document());
  client.acknowledged.add(id);
  await expectSucceeded(fixture, [id]);
  await expectAllEnded(fixture);
});

test('200 transactions at once, half of them rolled back, with a fail-over in the middle', async () => {
  const fixture = await startTestCluster({
    leaders: 2,
    workers: 2,
    slots: 4,
    settings: LONG_SESSIONS,
  });
  const { sql, client, cluster } = fixture;
  await sql`create table orders (id int primary key, job text)`;
  const rolledBack = new Error('changed my mind');
  const order = (no: number): Promise<unknown> =>
    sql
      .begin(async (tx) => {
        const id = await submit(tx, document({ name: `order-${no}` }));
        await tx`insert into orders values (${no}, ${id})`;
        if (no % 2 === 1) throw rolledBack;
      })
      .catch((error: unknown) => {
        if (error !== rolledBack) throw error;
      });
  const half = Array.from({ length: 100 }, (_, at) => order(at));
  await Promise.all(half.slice(0, 40));
  const leader = cluster.node('n-1');
  await leader.process.crash();
  await Promise.all([...half, ...Array.from({ length: 100 }, (_, at) => order(100 + at))]);
  await takenFrom(fixture, leader);
  const orders = await sql`select job from orders`;
  const ids = orders.map(({ job }) => String(job));
  expect(ids).toHaveLength(100);
  for (const id of ids) client.acknowledged.add(id);
  await expectSucceeded(fixture, ids);
  expect(await counts(fixture)).toEqual({ jobs: 100, inbox: 0 });
  expectOnce(fixture);
  await expectAllEnded(fixture);
});
