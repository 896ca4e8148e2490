/** The 22 queries of TPC-H: a cluster of two workers with a thread each against DuckDB in one process with two. */
import { difference } from '../test/sql/compare.ts';
import { Oracle, withoutLimit } from '../test/sql/oracle.ts';
import { canWeigh } from './cluster/proc.ts';
import { figure, ratio } from './figures.ts';
import type { Benchmark, Figure } from './figures.ts';
import { benchData, scaleFrom } from './tpch/data.ts';
import { tpchQueries } from './tpch/queries.ts';
import type { TpchQuery } from './tpch/queries.ts';
import { LocalDuckDB, SqlCluster, timedMs } from './tpch/sql-cluster.ts';
import { timeline } from './tpch/timeline.ts';

const WORKERS = 2;
const THREADS = 2;
const QUICK = process.argv.includes('--quick');
const SCALE = scaleFrom(process.argv, QUICK);
/** Two workers on one machine, without --threads. */
const IS_DEFAULT = process.argv.includes('--default-threads');
/** Above 1: the fragments do more than DuckDB does for the whole query. */
const WORK = 'work: processor time of the workers / DuckDB';
/** Above 1: workers wait, for each other, for the leader or for the client. */
const SCHEDULE = 'schedule: elapsed / work of each worker';

interface Times {
  readonly cluster: number[];
  /** The same text once more: the leader has its plan. */
  readonly again: number[];
  readonly duckdb: number[];
  /** Processor time of the workers, and of DuckDB. */
  readonly work: number[];
  readonly duckdbWork: number[];
}

export const tpch: Benchmark = {
  name: 'tpch',
  file: `tpch${SCALE === 1 ? '' : `-sf${SCALE}`}${IS_DEFAULT ? '-default-threads' : ''}`,
  summary: `TPC-H at scale ${SCALE}, 22 queries: ${WORKERS} workers with ${IS_DEFAULT ? 'default threads' : 'one thread each'} against DuckDB`,
  settings: {
    data: `Parquet with zstd, row groups of 122,880 rows, scale ${SCALE}, one file per table, rows and texts as the specification says`,
    cluster: `1 leader on PostgreSQL, ${WORKERS} workers with 1 slot${IS_DEFAULT ? '' : ' and 1 thread'}, HTTP from submit to the last row, in as few calls as the SDK makes`,
    duckdb: `in one process with ${THREADS} threads, views over the same files`,
    rounds: 'alternating; the first one warms up, and its answers are compared',
    plans: 'each round has its own text, so that the leader plans it; then the same text again',
  },
  async run(quick, say) {
    const rounds = quick ? 1 : SCALE > 2 ? 3 : 5;
    const queries = tpchQueries(SCALE);
    const tables = await benchData(SCALE, say);
    const cluster = await SqlCluster.start({
      ...{ workers: WORKERS, slots: 1, tables },
      args: IS_DEFAULT ? [] : ['--threads', '1'],
    });
    try {
      await audit(cluster, tables, queries, say);
      const duckdb = await LocalDuckDB.open(tables, THREADS);
      const times = new Map(
        queries.map(({ name }): [string, Times] => [
          name,
          { cluster: [], again: [], duckdb: [], work: [], duckdbWork: [] },
        ]),
      );
      for (const { sql } of queries) await duckdb.run(sql);
      for (let round = 1; round <= rounds; round += 1) {
        for (const { name, sql } of queries) {
          const of = times.get(name)!;
          const text = `/* ${round} */ ${sql}`;
          const before = cluster.workMs();
          of.cluster.push(await timedMs(() => cluster.answer(text)));
          of.work.push(cluster.workMs() - before);
          of.again.push(await timedMs(() => cluster.answer(text)));
          const used = process.cpuUsage();
          of.duckdb.push(await timedMs(() => duckdb.run(sql)));
          const { user, system } = process.cpuUsage(used);
          of.duckdbWork.push((user + system) / 1_000);
        }
        const [ours, theirs] = [
          totalOf(times, 'cluster', round - 1),
          totalOf(times, 'duckdb', round - 1),
        ];
        say(
          `  round ${round} of ${rounds}: cluster ${ours.toFixed(2)} s, DuckDB ${theirs.toFixed(2)} s`,
        );
      }
      duckdb.close();
      if (process.argv.includes('--timeline')) await timeline(cluster, queries, say);
      return figuresOf(times, rounds);
    } finally {
      await cluster.close();
    }
  },
};

/** Every answer is one that DuckDB may give. */
async function audit(
  cluster: SqlCluster,
  tables: Readonly<Record<string, string>>,
  queries: readonly TpchQuery[],
  say: (line: string) => void,
): Promise<void> {
  const readers = Object.entries(tables).map(([name, glob]) => [name, `read_parquet('${glob}')`]);
  const oracle = await Oracle.open(Object.fromEntries(readers) as Record<string, string>, {
    threads: THREADS,
  });
  try {
    for (const { name, sql, order, ties } of queries) {
      const { answer: given } = await cluster.answer(sql);
      const whole = ties ? await oracle.answer(withoutLimit(sql)) : null;
      const wrong = difference(await oracle.answer(sql), given, { order, ties }, whole);
      if (wrong !== null) throw new Error(`The audit failed: ${name}: ${wrong}`);
    }
    say(`  all ${queries.length} answers are right`);
  } finally {
    oracle.close();
  }
}

function totalOf(times: ReadonlyMap<string, Times>, side: keyof Times, round: number): number {
  return [...times.values()].reduce((sum, of) => sum + (of[side][round] ?? 0), 0) / 1_000;
}

function figuresOf(times: ReadonlyMap<string, Times>, rounds: number): readonly Figure[] {
  const totals = (side: keyof Times): readonly number[] =>
    Array.from({ length: rounds }, (_, round) => totalOf(times, side, round));
  const each = [...times].flatMap(([name, { cluster, duckdb, work, duckdbWork }]) => [
    figure(`${name}, cluster`, 'ms', cluster),
    figure(`${name}, DuckDB`, 'ms', duckdb),
    ratio(`${name}, cluster / DuckDB`, cluster, duckdb),
    ...(canWeigh ? [ratio(`${name}, ${WORK}`, work, duckdbWork)] : []),
    ...(canWeigh ? [ratio(`${name}, ${SCHEDULE}`, cluster, shareOf(work))] : []),
  ]);
  return [
    ...each,
    figure('22 queries, cluster', 's', totals('cluster')),
    figure('22 queries again, cluster', 's', totals('again')),
    figure('22 queries, DuckDB', 's', totals('duckdb')),
    ratio('22 queries, cluster / DuckDB', totals('cluster'), totals('duckdb')),
    ratio('22 queries again, cluster / DuckDB', totals('again'), totals('duckdb')),
    ...(canWeigh ? [ratio(`22 queries, ${WORK}`, totals('work'), totals('duckdbWork'))] : []),
    ...(canWeigh
      ? [ratio(`22 queries, ${SCHEDULE}`, totals('cluster'), shareOf(totals('work')))]
      : []),
  ];
}

/** What each worker would take if none ever waited. */
function shareOf(work: readonly number[]): readonly number[] {
  return work.map((ms) => ms / WORKERS);
}
