import { writeFileSync } from 'node:fs';
import { onTestFinished, test } from 'vitest';
import { startPostgres } from '../rig/postgres-server.ts';
import {
  expectOnce,
  expectAllEnded,
  expectSucceeded,
  startTestCluster,
  LONG_SESSIONS,
} from '../rig/cluster/test-cluster.ts';
import { Load } from '../rig/cluster/load.ts';

const settings = LONG_SESSIONS;

test('PostgreSQL stops without a farewell under load and starts again: nothing is lost or done twice', async () => {
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
