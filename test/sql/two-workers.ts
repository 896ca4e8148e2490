/** Queries on a cluster with two workers, of which one is killed, compared with DuckDB's own answers. */
import { expect, vi } from 'vitest';
import { scratch } from './scratch.ts';
import { FORCED, nextOutput, startSqlCluster } from './sql-cluster.ts';
import { inLanes, knownQueries, sample, tryKnown, tryRandom } from './trial.ts';

// Real processes on a machine that may be busy with others.
vi.setConfig({ testTimeout: 180_000 });
const here = scratch();

const LANES = 3;

export interface Choice {
  /** Queries of TPC-H by name. */
  readonly tpch: RegExp;
  /** One of so many queries of the corpus. */
  readonly oneOf: number;
  readonly randomQueries: number;
}

export async function expectAnswersOfDuckdb(choice: Choice): Promise<void> {
  const { cluster, settings } = await startSqlCluster(here.tables, 2);
  const run = settings({ ...FORCED, shufflePartitions: 4 });
  const known = knownQueries();
  const chosen = [
    ...known.filter(({ name }) => choice.tpch.test(name)),
    ...sample(known, choice.oneOf),
  ];
  const wrong = await inLanes(chosen, LANES, (query) => tryKnown(here.oracle, query, run));
  expect(wrong).toEqual([]);
  const seeds = Array.from({ length: choice.randomQueries }, (_, at) => at + 1);
  const random = async (seed: number): Promise<string | null> =>
    (await tryRandom(here.oracle, seed, run)).wrong;
  expect(await inLanes(seeds, LANES, random)).toEqual([]);
  const output = nextOutput(cluster);
  const underway = inLanes(known.slice(1, 5), LANES, (query) => tryKnown(here.oracle, query, run));
  await output;
  await cluster.workers[0]!.process.crash();
  await cluster.workers[0]!.start();
  expect(await underway).toEqual([]);
  await cluster.stop();
}
