/** Rows written by hash, fetched by other workers and read: against DuckDB that writes and reads them as Parquet. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { Folder } from './cluster/node.ts';
import { figure, ratio } from './figures.ts';
import type { Benchmark } from './figures.ts';
import { benchData } from './tpch/data.ts';
import { LocalDuckDB, SqlCluster, timedMs } from './tpch/sql-cluster.ts';

const WORKERS = 2;
const COLUMNS = 'l_orderkey, l_partkey, l_quantity, l_extendedprice, l_shipdate, l_comment';
const READ = `count(*) AS n, sum(l_partkey) AS parts, sum(l_quantity) AS quantity,
  sum(l_extendedprice) AS price, max(l_shipdate) AS last, max(l_comment) AS comment`;
/** Few match, and nothing is sent to everybody: all rows go by the hash of their key, and that is all. */
const SHUFFLED = `SELECT ${READ}, count(k) AS found FROM lineitem
  LEFT JOIN (SELECT n_nationkey * 1000 + 1 AS k FROM nation) ON l_orderkey = k`;
const SETTINGS = { broadcastThresholdBytes: 0, singleFragmentBytes: 0, shufflePartitions: WORKERS };

export const shuffle: Benchmark = {
  name: 'shuffle',
  summary:
    'rows of six columns by hash from worker to worker, against DuckDB writing and reading Parquet',
  settings: {
    rows: `lineitem of TPC-H, ${COLUMNS}, read from Parquet by both`,
    cluster: `${WORKERS} workers with 1 slot, ${WORKERS} partitions; in place, and fetched over the network`,
    duckdb: 'COPY to one Parquet file (defaults) and the same sums over it, 2 threads',
  },
  async run(quick, say) {
    const rounds = quick ? 1 : 5;
    const tables = await benchData(quick ? 0.1 : 1, say);
    const folder = new Folder();
    const inPlace = await SqlCluster.start({ workers: WORKERS, slots: 1, tables });
    const fetched = await SqlCluster.start({
      ...{ workers: WORKERS, slots: 1, tables },
      args: ['--shuffle-by-network'],
    });
    const duckdb = await LocalDuckDB.open(tables, 2);
    const times = { inPlace: [] as number[], fetched: [] as number[], duckdb: [] as number[] };
    try {
      const bytes = await audit(inPlace, fetched, duckdb);
      say(`  ${(bytes / 2 ** 20).toFixed(1)} MiB are shuffled`);
      for (let round = 0; round <= rounds; round += 1) {
        const file = join(folder.path, `${round}.parquet`);
        const taken = {
          inPlace: await timedMs(() => inPlace.run(SHUFFLED, SETTINGS)),
          fetched: await timedMs(() => fetched.run(SHUFFLED, SETTINGS)),
          duckdb: await timedMs(async () => {
            await duckdb.run(
              `COPY (SELECT ${COLUMNS} FROM lineitem) TO '${file}' (FORMAT parquet)`,
            );
            await duckdb.run(`SELECT ${READ} FROM read_parquet('${file}')`);
          }),
        };
        rmSync(file);
        // The first round warms up.
        if (round === 0) continue;
        for (const side of ['inPlace', 'fetched', 'duckdb'] as const) times[side].push(taken[side]);
      }
      const speed = (ms: readonly number[]): readonly number[] =>
        ms.map((each) => bytes / 2 ** 20 / (each / 1_000));
      return [
        figure('shuffled bytes, in place', 'MiB/s', speed(times.inPlace)),
        figure('shuffled bytes, fetched', 'MiB/s', speed(times.fetched)),
        figure('the same rows written and read by DuckDB', 'ms', times.duckdb),
        figure('the same rows shuffled and fetched', 'ms', times.fetched),
        // More is better: how fast we are when DuckDB is 1.
        ratio('speed of the shuffle in place / DuckDB', times.duckdb, times.inPlace),
        ratio('speed of the shuffle with fetching / DuckDB', times.duckdb, times.fetched),
      ];
    } finally {
      duckdb.close();
      await inPlace.close();
      await fetched.close();
      folder.remove();
    }
  },
};

/** All rows went through, where they should; answers the bytes that were shuffled. */
async function audit(
  inPlace: SqlCluster,
  fetched: SqlCluster,
  duckdb: LocalDuckDB,
): Promise<number> {
  let bytes = 0;
  const answers: string[] = [];
  for (const [cluster, isFetched] of [
    [inPlace, false],
    [fetched, true],
  ] as const) {
    const { rows } = await cluster.run(SHUFFLED, SETTINGS, ({ stages }) => {
      bytes = Math.max(...stages.map(({ bytesOut }) => bytesOut));
      const received = stages.reduce((sum, stage) => sum + stage.fetchedBytes, 0);
      if (received > 0 !== isFetched)
        throw new Error(`The audit failed: ${received} bytes came over the network.`);
    });
    answers.push(JSON.stringify(rows));
  }
  const own = await duckdb.rows(SHUFFLED);
  if (answers.some((answer) => answer !== own))
    throw new Error(`The audit failed: ${answers.join(' and ')} instead of ${own}.`);
  return bytes;
}
