import { expect, test, vi } from 'vitest';
import { pauseMs } from '../rig/cluster/deadline.ts';
import { Dice } from './random/dice.ts';
import { scratch } from './scratch.ts';
import { COALESCED, FILTERED, FORCED, SPLIT, startSqlCluster } from './sql-cluster.ts';
import { inLanes, knownQueries, tryKnown } from './trial.ts';

vi.setConfig({ testTimeout: 6 * 3_600_000 });
const here = scratch();

const SEED = Number(process.env['TEST_SQL_SEED'] ?? 1);
/** Queries that are under way when a worker is killed. */
const TOGETHER = 4;
const KILL_WITHIN_MS = 1_200;

/** Runs all queries, a few at a time; a worker is killed at a random moment of each round and started again. */
async function expectRightUnderFire(
  workers: number,
  shufflePartitions: number,
  seed: number,
): Promise<void> {
  const dice = new Dice(seed);
  const { cluster, settings, recomputed } = await startSqlCluster(here.tables, workers);
  const ways = [FORCED, COALESCED, SPLIT, FILTERED].map((way) =>
    settings({ ...way, shufflePartitions }),
  );
  const queries = knownQueries();
  const wrong: string[] = [];
  let kills = 0;
  for (let at = 0; at < queries.length; at += TOGETHER) {
    const round = queries.slice(at, at + TOGETHER);
    const run = dice.pick(ways);
    const answers = inLanes(round, TOGETHER, (query) => tryKnown(here.oracle, query, run));
    await pauseMs(dice.below(KILL_WITHIN_MS));
    const victim = dice.pick(cluster.workers);
    await victim.process.crash();
    kills += 1;
    await victim.start();
    wrong.push(...(await answers));
  }
  console.log(
    `seed ${seed}, ${workers} workers, ${shufflePartitions} parts: ${kills} kills, ` +
      `${queries.length} queries, ${recomputed()} tasks run again for what was lost`,
  );
  await cluster.stop();
  expect(wrong).toEqual([]);
  expect(recomputed()).toBeGreaterThan(0);
}

test.each([
  [1, 4],
  [2, 4],
  [2, 16],
  [5, 4],
] as const)(
  'every query on %i workers in %i parts is right, though a worker is killed in each round',
  async (workers, partitions) => {
    await expectRightUnderFire(workers, partitions, SEED + workers * 100 + partitions);
  },
);
