import { expect, test } from 'vitest';
import { Proxy, targetOf } from '../rig/cluster/proxy.ts';
import {
  expectAllEnded,
  expectSucceeded,
  LONG_SESSIONS,
  startTestCluster,
  takenFrom,
} from '../rig/cluster/test-cluster.ts';
import { Load } from '../rig/cluster/load.ts';

/** Reads and requests that wait for the database have limits of their own, one after the other. */
const TIMEOUT_MS = 40_000;

test('a node that is cut off from its database forever still shuts down cleanly', async () => {
  const fixture = await startTestCluster({
    leaders: 0,
    workers: 0,
    slots: 4,
    settings: LONG_SESSIONS,
  });
  const { cluster, database } = fixture;
  const wire = await Proxy.start(targetOf(database));
  const first = await cluster.startNode({ database: wire.through(database) });
  await cluster.startNode();
  await cluster.startWorker();
  const load = new Load(fixture.client, { jobs: 100 });
  await load.reached(30);
  wire.drop();
  await takenFrom(fixture, first);
  expect(await first.process.stop(TIMEOUT_MS)).toEqual({ code: 0, signal: null });
  await expectSucceeded(fixture, await load.done);
  await expectAllEnded(fixture);
});
