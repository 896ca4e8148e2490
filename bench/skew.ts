/** A join in which one key has half of the rows, against the same join with even keys. */
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { Folder } from './cluster/node.ts';
import { canWeigh } from './cluster/proc.ts';
import { figure, ratio } from './figures.ts';
import type { Benchmark } from './figures.ts';
import { LocalDuckDB, SqlCluster, timedMs } from './tpch/sql-cluster.ts';

const WORKERS = 2;
const KEYS = 100_000;
const SETTINGS = { broadcastThresholdBytes: 0, singleFragmentBytes: 0 };
const WHOLE = { ...SETTINGS, skewFactor: 0 };
/** Off unless a query asks for it. */
const SPLIT = { ...SETTINGS, skewFactor: 5 };

const joined = (facts: string): string =>
  `SELECT d.kind, count(*) AS n, sum(f.amount) AS amount, max(f.note) AS note
  FROM ${facts} f JOIN keys d ON f.k = d.k GROUP BY d.kind`;

export const skew: Benchmark = {
  name: 'skew',
  summary: 'a join with one key in half of the rows, against the same with even keys',
  settings: {
    rows: `4 million facts, joined with ${KEYS} keys; nothing is broadcast`,
    cluster: `${WORKERS} workers with 1 slot and 1 thread, ${WORKERS} partitions`,
    rounds: 'alternating; the first one warms up, and its answers are compared',
  },
  async run(quick, say) {
    const rounds = quick ? 1 : 5;
    const folder = new Folder();
    const tables = await written(folder.path, quick ? 800_000 : 4_000_000);
    const args = ['--threads', '1'];
    const cluster = await SqlCluster.start({ workers: WORKERS, slots: 1, tables, args });
    const ways = {
      even: (): Promise<unknown> => cluster.run(joined('even'), SPLIT),
      split: (): Promise<unknown> => cluster.run(joined('hot'), SPLIT),
      whole: (): Promise<unknown> => cluster.run(joined('hot'), WHOLE),
    };
    const times = { even: [] as number[], split: [] as number[], whole: [] as number[] };
    const work = { even: [] as number[], split: [] as number[], whole: [] as number[] };
    try {
      await audit(cluster, tables, quick);
      for (let round = 0; round <= rounds; round += 1)
        for (const way of ['even', 'split', 'whole'] as const) {
          const before = cluster.workOfEach();
          const taken = await timedMs(ways[way]);
          const own = cluster.workOfEach().map((ms, at) => ms - (before[at] ?? 0));
          if (round === 0) continue;
          times[way].push(taken);
          work[way].push(Math.max(...own));
        }
      say(`  ${rounds} rounds of each`);
      return [
        figure('even keys', 'ms', times.even),
        figure('one key in half of the rows', 'ms', times.split),
        figure('one key in half of the rows, partitions left whole', 'ms', times.whole),
        ratio('one key in half of the rows / even keys', times.split, times.even),
        ratio('partitions left whole / even keys', times.whole, times.even),
        // What is elapsed on a machine that has nothing else to do is about this.
        ...(canWeigh
          ? [
              ratio('processor time of the busier worker / even keys', work.split, work.even),
              ratio('the same, partitions left whole / even keys', work.whole, work.even),
            ]
          : []),
      ];
    } finally {
      await cluster.close();
      folder.remove();
    }
  },
};

async function written(folder: string, rows: number): Promise<Readonly<Record<string, string>>> {
  const instance = await DuckDBInstance.create(':memory:', { threads: '2' });
  const connection = await instance.connect();
  const file = (name: string): string => join(folder, `${name}.parquet`);
  const facts = (key: string): string =>
    `SELECT ${key} AS k, (i % 1000)::DECIMAL(12, 2) AS amount, 'note ' || (i * 7919 % 100000) AS note
    FROM range(${rows}) t(i)`;
  // Keys are far apart: a dense range of numbers is joined in a way of its own.
  const spread = (key: string): string => `(${key}) * 7919000001`;
  const even = spread(`(i * 2654435761) % ${KEYS}`);
  const selects = {
    keys: `SELECT ${spread('i')} AS k, 'kind ' || (i % 20) AS kind FROM range(${KEYS}) t(i)`,
    even: facts(even),
    hot: facts(`CASE WHEN i % 2 = 0 THEN ${spread('42')} ELSE ${even} END`),
  };
  for (const [name, select] of Object.entries(selects))
    await connection.run(`COPY (${select}) TO '${file(name)}' (FORMAT parquet)`);
  connection.closeSync();
  instance.closeSync();
  return { keys: file('keys'), even: file('even'), hot: file('hot') };
}

/** The answers are DuckDB's, and a partition was split where it should have been, and only there. */
async function audit(
  cluster: SqlCluster,
  tables: Readonly<Record<string, string>>,
  quick: boolean,
): Promise<void> {
  const duckdb = await LocalDuckDB.open(tables, 2);
  try {
    for (const [facts, settings, isSplit] of [
      ['even', SPLIT, false],
      ['hot', SPLIT, true],
      ['hot', WHOLE, false],
    ] as const) {
      const sql = `${joined(facts)} ORDER BY d.kind`;
      let split = 0;
      const { rows } = await cluster.run(sql, settings, ({ stages }) => {
        const large = stages.flatMap(({ grouping }) => grouping?.skewed ?? []);
        split = large.filter(({ tasks }) => tasks > 1).length;
      });
      const own = await duckdb.rows(sql);
      if (JSON.stringify(rows) !== own) throw new Error(`The audit failed: ${sql}`);
      // A quick run has too few rows for it.
      if (!quick && split > 0 !== isSplit)
        throw new Error(`The audit failed: ${split} partitions of ${facts} were split.`);
    }
  } finally {
    duckdb.close();
  }
}
