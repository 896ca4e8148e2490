import { expect, test } from 'vitest';
import { Proxy, targetOf } from '../rig/cluster/proxy.ts';
import { expectRest, expectSucceeded, Load, OUTLASTING, stage, takenFrom } from './stage.ts';

/** Reads and requests that wait for the database have limits of their own, one after the other. */
const TIMEOUT_MS = 40_000;

test('a node that never hears of its database again still ends in order when it is asked to', async () => {
  const play = await stage({ leaders: 0, workers: 0, slots: 4, settings: OUTLASTING });
  const { cluster, database } = play;
  const wire = await Proxy.start(targetOf(database));
  const first = await cluster.startNode({ database: wire.through(database) });
  await cluster.startNode();
  await cluster.startWorker();
  const load = new Load(play.client, { jobs: 100 });
  await load.reached(30);
  wire.drop();
  await takenFrom(play, first);
  expect(await first.process.stop(TIMEOUT_MS)).toEqual({ code: 0, signal: null });
  await expectSucceeded(play, await load.done);
  await expectRest(play);
});
