import { expect, onTestFinished, test } from 'vitest';
import { LossyDatabase } from '../rig/cluster/lost-answer.ts';
import {
  LONG_SESSIONS,
  expectAllEnded,
  expectOnce,
  expectSucceeded,
  startTestCluster,
  tablesFollow,
} from '../rig/cluster/test-cluster.ts';
import { Load } from '../rig/cluster/load.ts';
import { writeFileSync } from 'node:fs';
import { startPostgres } from '../rig/postgres-server.ts';

const settings = LONG_SESSIONS;

test('PostgreSQL crashes under load and restarts: nothing is lost or done twice', async () => {
  const server = await startPostgres('throw-away');
  onTestFinished(() => server.stop());
  const fixture = await startTestCluster({
    database: server.url,
    leaders: 2,
    workers: 2,
    slots: 4,
    settings,
  });
  const { cluster, client } = fixture;
  const file = cluster.file('go');
  const { id } = await client.submit({
    tasks: [{ id: 'a', executor: 'waitForFile', input: { file } }],
  });
  await cluster.effects.wait({ job: id, what: 'begin' });
  const load = new Load(client, { jobs: 300 });
  for (const count of [80, 180]) {
    await load.reached(count);
    await server.crash();
    await server.start();
  }
  await load.reached(250);
  writeFileSync(file, '');
  await expectSucceeded(fixture, [id, ...(await load.done)]);
  expectOnce(fixture);
  await expectAllEnded(fixture);
});

test('all connections of all nodes are ended again and again, and every job comes to its end', async () => {
  const fixture = await startTestCluster({ leaders: 2, workers: 2, slots: 4, settings });
  const load = new Load(fixture.client, { jobs: 300 });
  let ended = 0;
  for (let count = 15; count <= 270; count += 15) {
    await load.reached(count);
    const rows = await fixture.sql`
      select pg_terminate_backend(pid) from pg_stat_activity
       where datname = current_database() and application_name = 'millrace'`;
    ended += rows.length;
  }
  expect(ended).toBeGreaterThan(20);
  await expectSucceeded(fixture, await load.done);
  expectOnce(fixture);
  await expectAllEnded(fixture);
});

test('commits whose answers are lost: what was sent again is there once', async () => {
  let lossy: LossyDatabase | null = null;
  const fixture = await startTestCluster({
    leaders: 2,
    workers: 2,
    slots: 4,
    settings,
    route: async (url) => (lossy = await LossyDatabase.start(url)).url,
  });
  const load = new Load(fixture.client, { jobs: 240 });
  const losses: unknown[] = [];
  for (let count = 20; count <= 200; count += 30) {
    await load.reached(count);
    losses.push(await (lossy as LossyDatabase | null)?.loseAnswer());
  }
  // Each was done, and not reported.
  expect(losses).toEqual(Array.from({ length: 7 }, () => 'done'));
  const ids = await load.done;
  expect(new Set(ids).size).toBe(240);
  await expectSucceeded(fixture, ids);
  await tablesFollow(fixture.sql);
  expect(await fixture.sql`select count(*)::int from millrace.job`).toEqual([{ count: 240 }]);
  expectOnce(fixture);
  await expectAllEnded(fixture);
});
