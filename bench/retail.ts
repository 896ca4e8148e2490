/** 99 questions to a retailer's data: a cluster of two workers with a thread each against DuckDB in one process with two. */
import { difference } from '../test/sql/compare.ts';
import { Oracle } from '../test/sql/oracle.ts';
import { canWeigh } from './cluster/proc.ts';
import { figure, ratio } from './figures.ts';
import type { Benchmark, Figure } from './figures.ts';
import { keptRetailData } from './retail/generate.ts';
import type { RetailFiles } from './retail/generate.ts';
import { retailQueries } from './retail/queries.ts';
import type { RetailQuery } from './retail/queries.ts';
import { LocalDuckDB, SqlCluster, timedMs } from './tpch/sql-cluster.ts';

const WORKERS = 2;
const THREADS = 2;
const SCALE = scaleOf(process.argv);

/** `--sf 10`; 1 if not given, and less when it only has to show that it runs. */
function scaleOf(words: readonly string[]): number {
  const at = words.indexOf('--sf');
  if (at < 0) return words.includes('--quick') ? 0.02 : 1;
  const scale = Number(words[at + 1]);
  if (!(scale > 0)) throw new Error(`--sf takes a scale above 0, not ${words[at + 1]}.`);
  return scale;
}

interface Times {
  readonly cluster: number[];
  readonly duckdb: number[];
  /** Processor time of the workers, and of DuckDB. */
  readonly work: number[];
  readonly duckdbWork: number[];
}

type Say = (line: string) => void;

export const retail: Benchmark = {
  name: 'retail',
  file: `retail${SCALE === 1 ? '' : `-sf${SCALE}`}`,
  summary: `99 questions in the shapes of TPC-DS at scale ${SCALE}: ${WORKERS} workers against DuckDB`,
  settings: {
    data: `Parquet with zstd, row groups of 122,880 rows, scale ${SCALE} (1: 2.6 million rows of store sales), a file a table`,
    cluster: `1 leader on PostgreSQL, ${WORKERS} workers with 1 slot and 1 thread, HTTP from submit to the last row`,
    duckdb: `in one process with ${THREADS} threads, views over the same files`,
    rounds: 'alternating query by query; the first one warms up, and its answers are compared',
    plans: 'each round has its own text, so that the leader plans it',
  },
  async run(quick, say) {
    const rounds = quick || SCALE > 2 ? 1 : 3;
    const queries = retailQueries();
    const tables = await keptRetailData(SCALE, say);
    const args = ['--threads', '1'];
    const cluster = await SqlCluster.start({ workers: WORKERS, slots: 1, tables, args });
    try {
      const whole = await audit(cluster, tables, queries, quick, say);
      const duckdb = await LocalDuckDB.open(tables, THREADS);
      const times = new Map(
        queries.map(({ name }): [string, Times] => [
          name,
          { cluster: [], duckdb: [], work: [], duckdbWork: [] },
        ]),
      );
      for (let round = 1; round <= rounds; round += 1)
        for (const { name, sql } of queries)
          await timeOne(cluster, duckdb, `/* ${round} */ ${sql}`, times.get(name)!);
      duckdb.close();
      return [...figuresOf(times, rounds), ...shares(queries.length, whole)];
    } finally {
      await cluster.close();
    }
  },
};

async function timeOne(
  cluster: SqlCluster,
  duckdb: LocalDuckDB,
  sql: string,
  of: Times,
): Promise<void> {
  const before = cluster.workMs();
  of.cluster.push(await timedMs(() => cluster.run(sql)));
  of.work.push(cluster.workMs() - before);
  const used = process.cpuUsage();
  of.duckdb.push(await timedMs(() => duckdb.run(sql)));
  const { user, system } = process.cpuUsage(used);
  of.duckdbWork.push((user + system) / 1_000);
}

/** Every answer is that of DuckDB. Returns why queries were not distributed, by name. */
async function audit(
  cluster: SqlCluster,
  tables: RetailFiles,
  queries: readonly RetailQuery[],
  quick: boolean,
  say: Say,
): Promise<ReadonlyMap<string, string>> {
  const readers = Object.entries(tables).map(([name, file]) => [name, `read_parquet('${file}')`]);
  const oracle = await Oracle.open(Object.fromEntries(readers) as Record<string, string>, {
    threads: THREADS,
  });
  const whole = new Map<string, string>();
  // Little data is distributed only if it has to be.
  const settings = quick ? { singleFragmentBytes: 0, broadcastThresholdBytes: 20_000 } : {};
  try {
    for (const { name, sql, order } of queries) {
      const given = await cluster.run(sql, settings, ({ single }) => {
        if (single !== null) whole.set(name, single);
      });
      const wrong = difference(await oracle.answer(sql), given, { order }, null);
      if (wrong !== null) throw new Error(`The audit failed: ${name}: ${wrong}`);
    }
  } finally {
    oracle.close();
  }
  say(`  all ${queries.length} answers are right`);
  for (const [name, why] of whole) say(`  ${name} runs whole: ${why}`);
  return whole;
}

function shares(queries: number, whole: ReadonlyMap<string, string>): readonly Figure[] {
  const small = [...whole.values()].filter((why) => why.startsWith('it reads only')).length;
  const share = (name: string, count: number): Figure =>
    figure(name, '%', [((queries - count) / queries) * 100]);
  return [
    share('queries distributed', whole.size),
    share('queries distributed, or too small for it to pay', whole.size - small),
  ];
}

function figuresOf(times: ReadonlyMap<string, Times>, rounds: number): readonly Figure[] {
  const totals = (side: keyof Times): readonly number[] =>
    Array.from(
      { length: rounds },
      (_, round) =>
        [...times.values()].reduce((sum, of) => sum + (of[side][round] ?? 0), 0) / 1_000,
    );
  const each = [...times].flatMap(([name, { cluster, duckdb }]) => [
    figure(`${name}, cluster`, 'ms', cluster),
    figure(`${name}, DuckDB`, 'ms', duckdb),
    ratio(`${name}, cluster / DuckDB`, cluster, duckdb),
  ]);
  return [
    ...each,
    figure('99 queries, cluster', 's', totals('cluster')),
    figure('99 queries, DuckDB', 's', totals('duckdb')),
    ratio('99 queries, cluster / DuckDB', totals('cluster'), totals('duckdb')),
    ...(canWeigh
      ? [
          ratio(
            '99 queries, processor time of the workers / DuckDB',
            totals('work'),
            totals('duckdbWork'),
          ),
        ]
      : []),
  ];
}
