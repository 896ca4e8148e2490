import { expect, test } from 'vitest';
import { migratePostgres } from '../../src/scheduler/store/index.ts';
import {
  expectAllEnded,
  expectSucceeded,
  leaderRow,
  LONG_TTLS,
  startTestCluster,
} from '../rig/cluster/test-cluster.ts';
import { expectSoon } from '../rig/until.ts';
import { Load } from '../rig/cluster/load.ts';

test('ten nodes start on an empty database at once: one leads, all are ready, the schema is right', async () => {
  const fixture = await startTestCluster({ leaders: 0, workers: 0, settings: LONG_TTLS });
  const { cluster, client, database, sql } = fixture;
  const nodes = [];
  for (let at = 0; at < 10; at += 1) nodes.push(await cluster.planNode());
  // Ten processes on a few cores take their time to load.
  await Promise.all(nodes.map((node) => node.start(90_000)));
  const leader = await leaderRow(fixture);
  expect(leader.epoch).toBe(1);
  const leaders = nodes.filter(({ output }) => output.includes('This node is now the leader'));
  expect(leaders.map(({ id }) => id)).toEqual([leader.nodeId]);
  const standbys = nodes.filter(({ id }) => id !== leader.nodeId);
  for (const { output } of standbys) {
    expect(output).toMatch(
      new RegExp(
        `^stderr: 20\\d\\d-\\S+Z Standing by: ${leader.nodeId} leads at http://\\S+, epoch 1\\.$`,
        'm',
      ),
    );
  }
  for (const { plan } of nodes) {
    expect((await fetch(`${plan.url}/readyz`)).status).toBe(200);
    await expectSoon(async () => {
      expect(await (await fetch(`${plan.url}/api/v1/leader`)).json()).toMatchObject(leader);
    });
  }
  const status = await migratePostgres({ url: database }, (migrations) => migrations.status());
  expect(status).toEqual({ current: status.latest, latest: status.latest, pending: [] });
  const applied = await sql`select version from millrace.migration order by 1`;
  expect(applied.map(({ version }) => version as number)).toEqual(
    Array.from({ length: status.latest }, (_, at) => at + 1),
  );
  await cluster.startWorker({ slots: 4 });
  const load = new Load(client, { jobs: 50 });
  await expectSucceeded(fixture, await load.done);
  await expectAllEnded(fixture);
});
