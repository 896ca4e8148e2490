/** Queries on a cluster with two workers, of which one is killed, compared with DuckDB's own answers. */
import { expect, vi } from 'vitest';
import type { CorpusQuery } from './corpus.ts';
import { scratch } from './scratch.ts';
import { COALESCED, FILTERED, FORCED, SPLIT, nextOutput, startSqlCluster } from './sql-cluster.ts';
import { inLanes, knownQueries, sample, tryKnown, tryRandom } from './trial.ts';
import type { Run } from './trial.ts';

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
  const ways = [FORCED, COALESCED, SPLIT, FILTERED].map((way) =>
    settings({ ...way, shufflePartitions: 4 }),
  );
  /** Each query in one way, its neighbours in the other ones. */
  const turns = <T>(list: readonly T[]): readonly { readonly each: T; readonly run: Run }[] =>
    list.map((each, at) => ({ each, run: ways[at % ways.length] as Run }));
  const known = knownQueries();
  const chosen = [
    ...known.filter(({ name }) => choice.tpch.test(name)),
    ...sample(known, choice.oneOf),
  ];
  const answer = ({ each, run }: { each: CorpusQuery; run: Run }): Promise<string | null> =>
    tryKnown(here.oracle, each, run);
  const wrong = await inLanes(turns(chosen), LANES, answer);
  expect(wrong).toEqual([]);
  const seeds = Array.from({ length: choice.randomQueries }, (_, at) => at + 1);
  const random = async ({ each, run }: { each: number; run: Run }): Promise<string | null> =>
    (await tryRandom(here.oracle, each, run)).wrong;
  expect(await inLanes(turns(seeds), LANES, random)).toEqual([]);
  const output = nextOutput(cluster);
  const underway = inLanes(turns(known.slice(1, 5)), LANES, answer);
  await output;
  await cluster.workers[0]!.process.crash();
  await cluster.workers[0]!.start();
  expect(await underway).toEqual([]);
  await cluster.stop();
}
