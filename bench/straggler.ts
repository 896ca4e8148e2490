/** Four workers, one of them slowed to a tenth of its speed, against four that are all equally fast. */
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { Folder } from './cluster/node.ts';
import { figure, ratio } from './figures.ts';
import type { Benchmark } from './figures.ts';
import { LocalDuckDB, SqlCluster, timedMs } from './tpch/sql-cluster.ts';

const WORKERS = 4;
const TASKS = 32;
/** Each worker has the processors for a part of every period and is stopped for the rest of it. */
const PERIOD_MS = 100;
/** Together less than two processors, so that a slow worker leaves the others no faster. */
const SHARE = 0.4;
const SLOW_SHARE = SHARE / 10;

const SETTINGS = {
  ...{ shufflePartitions: TASKS, targetPartitionBytes: 0, singleFragmentBytes: 0 },
  broadcastThresholdBytes: 0,
};
const WAITING = { ...SETTINGS, stragglerFactor: 0 };

/** Two stages of many tasks: rows that cost some time each, then groups. */
const SQL = `SELECT kind % 50 AS kind, sum(n) AS n, max(digest) AS digest
  FROM (SELECT k AS kind, count(*) AS n, max(md5(sha256(note) || sha256(k || note))) AS digest FROM facts GROUP BY k)
  GROUP BY 1`;

export const straggler: Benchmark = {
  name: 'straggler',
  summary: 'a query of many tasks on four workers, one at a tenth of its speed, against none slow',
  settings: {
    cluster: `${WORKERS} workers with 1 slot and 1 thread, which fetch from each other over the network`,
    speed: `a worker and its engines run for ${SHARE * PERIOD_MS} of each ${PERIOD_MS} ms (SIGSTOP, SIGCONT), the slow one for ${SLOW_SHARE * PERIOD_MS}`,
    query: `${TASKS} partitions in each of two stages`,
    rounds: 'alternating; the first one warms up, and its answers are compared',
  },
  async run(quick, say) {
    const rounds = quick ? 1 : 5;
    const folder = new Folder();
    const tables = { facts: join(folder.path, 'facts.parquet') };
    await write(tables.facts, quick ? 100_000 : 3_000_000);
    const args = ['--threads', '1', '--shuffle-by-network'];
    const cluster = await SqlCluster.start({ workers: WORKERS, slots: 1, tables, args });
    const times = { even: [] as number[], slow: [] as number[], waiting: [] as number[] };
    try {
      const expected = await answerOf(tables);
      const run = async (settings: typeof SETTINGS): Promise<void> => {
        const { rows } = await cluster.run(`${SQL} ORDER BY 1`, settings);
        if (JSON.stringify(rows) !== expected) throw new Error('The audit failed: other rows.');
      };
      for (let round = 0; round <= rounds; round += 1) {
        const even = await throttled(cluster, null, () => run(SETTINGS));
        const slow = await throttled(cluster, round % WORKERS, () => run(SETTINGS));
        // It takes far longer, so once is enough.
        if (round === 1)
          times.waiting.push(await throttled(cluster, round % WORKERS, () => run(WAITING)));
        if (round === 0) continue;
        times.even.push(even);
        times.slow.push(slow);
      }
      say(`  ${rounds} rounds of each, all answers are right`);
      return [
        figure('none slow', 's', times.even.map(seconds)),
        figure('one worker slow', 's', times.slow.map(seconds)),
        figure('one worker slow, no second attempts', 's', times.waiting.map(seconds)),
        ratio('one worker slow / none slow', times.slow, times.even),
        ratio('no second attempts / none slow', times.waiting, times.even.slice(0, 1)),
      ];
    } finally {
      await cluster.close();
      folder.remove();
    }
  },
};

const seconds = (ms: number): number => ms / 1_000;

/** How long it takes while every worker gets its share. The turns begin one after the other. */
async function throttled(
  cluster: SqlCluster,
  slow: number | null,
  work: () => Promise<unknown>,
): Promise<number> {
  const timers = new Set<NodeJS.Timeout>();
  const after = (ms: number, then: () => void): void => {
    const timer = setTimeout(() => {
      timers.delete(timer);
      then();
    }, ms);
    timers.add(timer);
  };
  const turn = (worker: number, due: number): void => {
    const share = worker === slow ? SLOW_SHARE : SHARE;
    cluster.signal(worker, 'SIGCONT');
    after(share * PERIOD_MS, () => cluster.signal(worker, 'SIGSTOP'));
    // By the clock: a timer that fires late would take from the share of every later turn.
    after(due + PERIOD_MS - performance.now(), () => turn(worker, due + PERIOD_MS));
  };
  for (let worker = 0; worker < WORKERS; worker += 1) {
    const first = (worker * PERIOD_MS) / WORKERS;
    const due = performance.now() + first;
    cluster.signal(worker, 'SIGSTOP');
    after(first, () => turn(worker, due));
  }
  try {
    return await timedMs(work);
  } finally {
    for (const timer of timers) clearTimeout(timer);
    for (let worker = 0; worker < WORKERS; worker += 1) cluster.signal(worker, 'SIGCONT');
  }
}

async function write(file: string, rows: number): Promise<void> {
  const instance = await DuckDBInstance.create(':memory:', { threads: '2' });
  const connection = await instance.connect();
  await connection.run(
    `COPY (SELECT (i * 2654435761) % 200000 AS k, 'note ' || (i * 7919 % 100000) AS note FROM range(${rows}) t(i))
     TO '${file}' (FORMAT parquet)`,
  );
  connection.closeSync();
  instance.closeSync();
}

async function answerOf(tables: Readonly<Record<string, string>>): Promise<string> {
  const duckdb = await LocalDuckDB.open(tables, 2);
  try {
    return await duckdb.rows(`${SQL} ORDER BY 1`);
  } finally {
    duckdb.close();
  }
}
