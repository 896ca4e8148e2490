import { writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { startPooler } from '../rig/cluster/pooler.ts';
import {
  expectOnce,
  expectAllEnded,
  expectSucceeded,
  LONG_SESSIONS,
  startTestCluster,
  takenFrom,
} from '../rig/cluster/test-cluster.ts';
import { Load } from '../rig/cluster/load.ts';

test.each(['forgotten', 'kept'] as const)(
  'behind a transaction pooler (prepared statements %s) a cluster works, and fails over by its TTL',
  async (preparedStatements) => {
    const fixture = await startTestCluster({
      leaders: 2,
      workers: 2,
      slots: 4,
      settings: LONG_SESSIONS,
      route: async (url) => (await startPooler(url, { preparedStatements, connections: 12 })).url,
    });
    const { cluster, client } = fixture;
    const file = cluster.file('go');
    const { id } = await client.submit({
      tasks: [{ id: 'a', executor: 'waitForFile', input: { file } }],
    });
    await cluster.effects.wait({ job: id, what: 'begin' });
    const load = new Load(client, { jobs: 200 });
    await load.reached(60);
    const [row] = await fixture.sql`select backend_pid from millrace.leader`;
    // No connection is its own, so none can stand for it.
    expect(row).toEqual({ backend_pid: null });
    const leader = cluster.node('n-1');
    await leader.process.crash();
    expect(await takenFrom(fixture, leader)).toEqual({ nodeId: 'n-2', epoch: 2 });
    const enqueued = await fixture.sql`
      select millrace.submit('{"tasks": [{"id": "a", "executor": "note"}]}') as id`;
    writeFileSync(file, '');
    await expectSucceeded(fixture, [id, String(enqueued[0]?.['id']), ...(await load.done)]);
    expectOnce(fixture);
    await expectAllEnded(fixture);
  },
);
