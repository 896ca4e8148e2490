/** What it costs to run short tasks on a cluster instead of in one process. */
import { fullPath, pause } from './cluster/contender.ts';
import { BenchDatabase } from './cluster/database.ts';
import { startMillrace } from './cluster/millrace.ts';
import { jobOf } from './cluster/node.ts';
import { figure, ratio } from './figures.ts';
import type { Benchmark } from './figures.ts';

const TASK_MS = 10;
const WORKERS = 2;
const SLOTS = 8;

export const overhead: Benchmark = {
  name: 'overhead',
  summary: `tasks of ${TASK_MS} ms: wall time on a cluster against a pool in one process`,
  settings: {
    cluster: `1 leader, ${WORKERS} workers with ${SLOTS} slots, PostgreSQL with fsync on`,
    'in one process': `${WORKERS * SLOTS} at a time, setTimeout, nothing kept`,
    task: `the built-in executor sleep, ${TASK_MS} ms, one task a job`,
  },
  async run(quick, say) {
    const tasks = quick ? 100 : 4_000;
    const rounds = quick ? 1 : 5;
    const database = await BenchDatabase.start('plain');
    try {
      const cluster = await startMillrace({
        url: await database.create('millrace'),
        workers: WORKERS,
        slots: SLOTS,
        document: jobOf('sleep', { ms: TASK_MS }),
      });
      const apart: number[] = [];
      const together: number[] = [];
      try {
        // The first round warms up and is not counted.
        for (let round = 0; round <= rounds; round += 1) {
          const clusterSeconds = await fullPath(cluster, tasks);
          const poolSeconds = await inOneProcess(tasks);
          const text = `${clusterSeconds.toFixed(2)} s, in one process ${poolSeconds.toFixed(2)} s`;
          say(`  round ${round} of ${rounds}: cluster ${text}`);
          if (round === 0) continue;
          apart.push(clusterSeconds);
          together.push(poolSeconds);
        }
        await cluster.audit(tasks * (rounds + 1));
      } finally {
        await cluster.close();
      }
      return [
        figure(`${tasks} tasks of ${TASK_MS} ms, cluster`, 's', apart),
        figure(`${tasks} tasks of ${TASK_MS} ms, in one process`, 's', together),
        ratio('cluster / in one process', apart, together),
      ];
    } finally {
      await database.stop();
    }
  },
};

async function inOneProcess(tasks: number): Promise<number> {
  const startedAt = performance.now();
  let left = tasks;
  const slot = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      await pause(TASK_MS);
    }
  };
  await Promise.all(Array.from({ length: WORKERS * SLOTS }, slot));
  return (performance.now() - startedAt) / 1_000;
}
