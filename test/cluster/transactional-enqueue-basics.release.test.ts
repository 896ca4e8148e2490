import { expect, test } from 'vitest';
import { document, submit, counts } from './transactional-enqueue-setup.ts';
import { expectAllEnded, expectSucceeded, startTestCluster } from '../rig/cluster/test-cluster.ts';

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
