import { expect, test, vi } from 'vitest';
import { scratch } from './scratch.ts';
import { FORCED, startSqlCluster } from './sql-cluster.ts';
import { inLanes, knownQueries, tryKnown, tryPair, tryRandom } from './trial.ts';
import type { Outcome } from './trial.ts';

vi.setConfig({ testTimeout: 6 * 3_600_000 });
const here = scratch();

const QUERIES = Number(process.env['TEST_SQL_CLUSTER_QUERIES'] ?? 1_500);
const FIRST = Number(process.env['TEST_SQL_SEED'] ?? 50_000);
const LANES = 3;

/** Few and many of both, and the middle: each takes minutes. */
const SHAPES = [
  [1, 1],
  [1, 16],
  [2, 4],
  [5, 1],
  [5, 16],
] as const;

test.each(SHAPES)(
  'every query on %i workers in %i parts gives what DuckDB gives, with all exchanges forced',
  async (workers, shufflePartitions) => {
    const { cluster, settings } = await startSqlCluster(here.tables, workers);
    const run = settings({ ...FORCED, shufflePartitions });
    const wrong = await inLanes(knownQueries(), LANES, (query) =>
      tryKnown(here.oracle, query, run),
    );
    await cluster.stop();
    expect(wrong).toEqual([]);
  },
);

test('every query with the settings that users have gives what DuckDB gives', async () => {
  const { cluster, settings } = await startSqlCluster(here.tables, 2);
  const run = settings({});
  const wrong = await inLanes(knownQueries(), LANES, (query) => tryKnown(here.oracle, query, run));
  await cluster.stop();
  expect(wrong).toEqual([]);
});

test(`${QUERIES} random queries and their pairs on two workers give what DuckDB gives`, async () => {
  const { cluster, settings } = await startSqlCluster(here.tables, 2);
  const seeds = Array.from({ length: QUERIES }, (_, at) => FIRST + at);
  let valid = 0;
  const wrong = await inLanes(seeds, LANES, async (seed) => {
    const run = settings({
      shufflePartitions: [1, 3, 4][seed % 3]!,
      broadcastThresholdBytes: seed % 4 === 0 ? 4_096 : 0,
      singleFragmentBytes: 0,
      targetPartitionBytes: [0, 2_000, 10_000, 2 ** 26][seed % 4]!,
    });
    const attempt = seed % 6 === 0 ? tryPair : tryRandom;
    const outcome: Outcome = await attempt(here.oracle, seed, run);
    if (!outcome.isInvalid) valid += 1;
    return outcome.wrong;
  });
  await cluster.stop();
  console.log(`${valid} of ${QUERIES} random queries were valid and compared`);
  expect(wrong).toEqual([]);
  expect(valid).toBeGreaterThan(QUERIES * 0.95);
});
