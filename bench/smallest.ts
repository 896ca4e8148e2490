/** What a cluster adds to the smallest query there is: a count over one small file. */
import { figure, quantile } from './figures.ts';
import type { Benchmark } from './figures.ts';
import { benchData } from './tpch/data.ts';
import { LocalDuckDB, SqlCluster, timedMs } from './tpch/sql-cluster.ts';

const SQL = 'SELECT count(*) FROM nation';
const WORKERS = 2;
const WARM_UP = 10;

export const smallest: Benchmark = {
  name: 'smallest',
  summary: 'a count over one small file, warm: what a cluster adds to the time that DuckDB takes',
  settings: {
    query: `${SQL}, 25 rows in one Parquet file`,
    cluster: `1 leader on PostgreSQL with fsync on, ${WORKERS} workers with 1 slot, the SDK over HTTP`,
    duckdb: 'in this process, 2 threads, a view over the same file',
    plans: 'the same text, whose plan the leader has; and, apart, another text each time',
  },
  async run(quick, say) {
    const [rounds, queries] = quick ? [1, 10] : [5, 60];
    const { nation = '' } = await benchData(0.01, say);
    const tables = { nation };
    const cluster = await SqlCluster.start({ workers: WORKERS, slots: 1, tables });
    const duckdb = await LocalDuckDB.open(tables, 2);
    try {
      const [row = {}] = await cluster.rows(SQL);
      const [count] = Object.values(row);
      if (count !== 25n) throw new Error('The audit failed: the answer is not 25.');
      for (let at = 0; at < WARM_UP; at += 1) {
        await cluster.rows(SQL);
        await duckdb.run(SQL);
      }
      const ours: number[] = [];
      const theirs: number[] = [];
      const added: number[] = [];
      const planned: number[] = [];
      let texts = 0;
      const another = (): Promise<unknown> => {
        texts += 1;
        return cluster.rows(`/* ${texts} */ ${SQL}`);
      };
      for (let round = 1; round <= rounds; round += 1) {
        const apart = await times(queries, () => cluster.rows(SQL));
        const fresh = await times(queries, another);
        const local = await times(queries, () => duckdb.run(SQL));
        ours.push(quantile(apart, 0.5));
        theirs.push(quantile(local, 0.5));
        added.push(quantile(apart, 0.5) - quantile(local, 0.5));
        planned.push(quantile(fresh, 0.5) - quantile(local, 0.5));
        say(
          `  round ${round} of ${rounds}: ${ours.at(-1)?.toFixed(1)} ms, DuckDB ${theirs.at(-1)?.toFixed(2)} ms`,
        );
      }
      return [
        figure('smallest query, cluster, p50', 'ms', ours),
        figure('smallest query, DuckDB, p50', 'ms', theirs),
        figure('added to the time of DuckDB, p50', 'ms', added),
        figure('added when it is planned each time, p50', 'ms', planned),
      ];
    } finally {
      duckdb.close();
      await cluster.close();
    }
  },
};

async function times(count: number, work: () => Promise<unknown>): Promise<readonly number[]> {
  const all: number[] = [];
  for (let at = 0; at < count; at += 1) all.push(await timedMs(work));
  return all;
}
