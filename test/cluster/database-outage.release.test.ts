import { expect, test } from 'vitest';
import { LossyDatabase } from '../rig/cluster/lost-answer.ts';
import { expectOnce, expectRest, expectSucceeded, Load, stage } from './stage.ts';
import { OUTLASTING } from './stage.ts';

const settings = OUTLASTING;

test('all connections of all nodes are ended again and again, and every job comes to its end', async () => {
  const play = await stage({ leaders: 2, workers: 2, slots: 4, settings });
  const load = new Load(play.client, { jobs: 300 });
  let ended = 0;
  for (let count = 15; count <= 270; count += 15) {
    await load.reached(count);
    const rows = await play.sql`
      select pg_terminate_backend(pid) from pg_stat_activity
       where datname = current_database() and application_name = 'millrace'`;
    ended += rows.length;
  }
  expect(ended).toBeGreaterThan(20);
  await expectSucceeded(play, await load.done);
  expectOnce(play);
  await expectRest(play);
});

test('commits whose answers are lost: what was sent again is there once', async () => {
  let lossy: LossyDatabase | null = null;
  const play = await stage({
    leaders: 2,
    workers: 2,
    slots: 4,
    settings,
    way: async (url) => (lossy = await LossyDatabase.start(url)).url,
  });
  const load = new Load(play.client, { jobs: 240 });
  const losses: unknown[] = [];
  for (let count = 20; count <= 200; count += 30) {
    await load.reached(count);
    losses.push(await (lossy as LossyDatabase | null)?.loseAnswer());
  }
  // Each was done, and nobody was told.
  expect(losses).toEqual(Array.from({ length: 7 }, () => 'done'));
  const ids = await load.done;
  expect(new Set(ids).size).toBe(240);
  await expectSucceeded(play, ids);
  expect(await play.sql`select count(*)::int from millrace.job`).toEqual([{ count: 240 }]);
  expectOnce(play);
  await expectRest(play);
});
