/** Tasks of 10 ms beside queries on the same workers: how long from submission to their end. */
import { pause } from './cluster/contender.ts';
import { GrpcSubmitter, jobOf } from './cluster/node.ts';
import { STAMP_TASKS, Stamps, millisBetween } from './cluster/stamps.ts';
import { figure, quantile } from './figures.ts';
import type { Benchmark, Figure } from './figures.ts';
import { benchData, scaleFrom } from './tpch/data.ts';
import { tpchQueries } from './tpch/queries.ts';
import { SqlCluster } from './tpch/sql-cluster.ts';

const WORKERS = 2;
const SLOTS = 4;
const QUICK = process.argv.includes('--quick');
const SCALE = scaleFrom(process.argv, QUICK);
/** Queries at a time, each begun again when it is done. The leader admits 16 of them. */
const BESIDE = QUICK ? [0, 2] : [0, 2, 8, 32];
const EVERY_MS = 25;
/** From a job's submission to the end of its task; what it should never exceed for one in a hundred. */
const P99_MAX_MS = 300;
/** They join, sort and group the largest tables. */
const HEAVY: ReadonlySet<string> = new Set(['q09', 'q18', 'q21']);

export const mixed: Benchmark = {
  name: 'mixed',
  summary: 'tasks of 10 ms beside queries on the same workers, from submission to end',
  settings: {
    cluster: `1 leader on PostgreSQL, ${WORKERS} workers with ${SLOTS} slots`,
    tasks: `a job of one task every ${EVERY_MS} ms, over gRPC, whatever becomes of the others`,
    queries: `TPC-H ${[...HEAVY].join(', ')} at scale ${SCALE}, so many at a time without a pause`,
    aim: `p99 of at most ${P99_MAX_MS} ms`,
  },
  async run(quick, say) {
    const samples = quick ? 200 : 2_000;
    const tables = await benchData(SCALE, say);
    const stamps = await Stamps.open();
    const cluster = await SqlCluster.start({
      ...{ workers: WORKERS, slots: SLOTS, tables },
      ...{ module: STAMP_TASKS, environment: stamps.environment },
    });
    const client = new GrpcSubmitter([cluster.grpc]);
    const figures: Figure[] = [];
    try {
      // Engines and connections are there when it counts.
      await Promise.all(heavyQueries().map((sql) => cluster.run(sql)));
      await measure(client, stamps, 'warm', 20);
      for (const beside of BESIDE) {
        const load = new QueryLoad(cluster, beside);
        const millis = await measure(client, stamps, `beside-${beside}`, samples);
        const done = await load.stop();
        const [p50, p99] = [quantile(millis, 0.5), quantile(millis, 0.99)];
        const words = beside === 0 ? 'alone' : `beside ${beside} queries (${done} ended)`;
        say(`  ${words}: p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms`);
        const name = beside === 0 ? 'alone' : `beside ${beside} queries`;
        figures.push(figure(`10 ms tasks ${name}, p50`, 'ms', [p50]));
        figures.push(figure(`10 ms tasks ${name}, p99`, 'ms', [p99]));
        if (beside > 0 && done === 0) throw new Error('No query came to its end meanwhile.');
      }
      return figures;
    } finally {
      client.close();
      await cluster.close();
      stamps.close();
    }
  },
};

function heavyQueries(): readonly string[] {
  return tpchQueries(SCALE).flatMap(({ name, sql }) => (HEAVY.has(name) ? [sql] : []));
}

/** Runs so many queries at a time until it is stopped. */
class QueryLoad {
  readonly #running: Promise<number>[];
  #isStopped = false;

  constructor(cluster: SqlCluster, count: number) {
    this.#running = Array.from({ length: count }, (_, at) => this.#repeat(cluster, at));
  }

  /** Returns how many came to their end. */
  async stop(): Promise<number> {
    this.#isStopped = true;
    const counts = await Promise.all(this.#running);
    return counts.reduce((sum, count) => sum + count, 0);
  }

  async #repeat(cluster: SqlCluster, at: number): Promise<number> {
    const queries = heavyQueries();
    let done = 0;
    while (!this.#isStopped) {
      await cluster.run(`/* ${at} ${done} */ ${queries[(at + done) % queries.length]}`);
      done += 1;
    }
    return done;
  }
}

/** An open loop: a slow task does not keep the next one from being submitted. */
async function measure(
  client: GrpcSubmitter,
  stamps: Stamps,
  name: string,
  samples: number,
): Promise<readonly number[]> {
  const ends: Promise<number>[] = [];
  for (let sample = 0; sample < samples; sample += 1) {
    const key = `${name}-${sample}`;
    const end = stamps.next(key);
    const sentAt = process.hrtime.bigint();
    ends.push(
      Promise.all([end, client.submit([jobOf('short', { key })])]).then(([{ at }]) =>
        millisBetween(sentAt, at),
      ),
    );
    await pause(EVERY_MS);
  }
  return Promise.all(ends);
}
