/** What many workers cost that have nothing to do. */
import { fileURLToPath } from 'node:url';
import { pause } from './cluster/contender.ts';
import { BenchDatabase } from './cluster/database.ts';
import { Folder, startLeader } from './cluster/node.ts';
import type { RunningNode } from './cluster/node.ts';
import { canWeigh, cpuSeconds } from './cluster/proc.ts';
import { BenchProcess } from './cluster/processes.ts';
import { figure } from './figures.ts';
import type { Benchmark, Figure } from './figures.ts';

const DRIVER = fileURLToPath(new URL('cluster/idle-workers.ts', import.meta.url));
const DRIVERS = 2;
/** Longer than a heartbeat and a poll need to come round. */
const SETTLE_MS = 5_000;

interface Sizes {
  readonly workers: number;
  readonly windows: number;
  readonly windowMs: number;
  readonly settleMs: number;
}

export const idle: Benchmark = {
  name: 'idle',
  summary:
    'workers that poll and beat but have nothing to do: CPU of the leader, statements a second',
  settings: {
    workers: `in ${DRIVERS} processes, two connections each, heartbeat 3 s, polls of 30 s`,
    leader: 'default settings',
    postgres: 'fsync on, defaults otherwise, pg_stat_statements counts what clients send',
  },
  async run(quick, say) {
    const sizes: Sizes = quick
      ? { workers: 20, windows: 1, windowMs: 2_000, settleMs: 500 }
      : { workers: 1_000, windows: 3, windowMs: 20_000, settleMs: SETTLE_MS };
    const database = await BenchDatabase.start('counted');
    const folder = new Folder();
    const running: BenchProcess[] = [];
    try {
      const leader = await startLeader({ database: await database.create('millrace'), folder });
      running.push(leader.process);
      await database.countStatements(true);
      const without = await measure(leader, database, { ...sizes, windows: 1 });
      const each = sizes.workers / DRIVERS;
      for (let at = 0; at < DRIVERS; at += 1) {
        const words = [leader.grpc, `${at * each}`, `${each}`];
        const started = await BenchProcess.start(['--import', 'tsx', DRIVER, ...words], 'ready');
        running.push(started.process);
      }
      say(`  ${sizes.workers} workers wait`);
      await pause(sizes.settleMs);
      const withThem = await measure(leader, database, sizes);
      await audit(leader, sizes.workers, running);
      return figuresOf(sizes.workers, without, withThem);
    } finally {
      for (const process of running.toReversed()) await process.end();
      await database.stop();
      folder.remove();
    }
  },
};

interface Cost {
  readonly cpuPercent: readonly number[];
  readonly statements: readonly number[];
}

async function measure(
  { process: { pid } }: RunningNode,
  database: BenchDatabase,
  { windows, windowMs }: Sizes,
): Promise<Cost> {
  const cpuPercent: number[] = [];
  const statements: number[] = [];
  for (let window = 0; window < windows; window += 1) {
    const startedAt = performance.now();
    const cpu = cpuSeconds([pid]);
    const count = await database.statements('millrace');
    await pause(windowMs);
    const seconds = (performance.now() - startedAt) / 1_000;
    cpuPercent.push(((cpuSeconds([pid]) - cpu) * 100) / seconds);
    statements.push(((await database.statements('millrace')) - count) / seconds);
  }
  return { cpuPercent, statements };
}

/** All of them were there to the end. */
async function audit(
  { url }: RunningNode,
  workers: number,
  running: readonly BenchProcess[],
): Promise<void> {
  const metrics = await (await fetch(`${url}/metrics`)).text();
  const healthy = /^millrace_nodes\{status="healthy"\} (\d+)$/m.exec(metrics)?.[1];
  // The server is one of the nodes, too.
  if (Number(healthy) === workers + 1 && !running.some(({ hasEnded }) => hasEnded)) return;
  throw new Error(`The audit failed: ${healthy} of ${workers + 1} nodes are healthy.`);
}

function figuresOf(workers: number, without: Cost, withThem: Cost): readonly Figure[] {
  const statements = [
    figure('statements a second, no worker', '/s', without.statements),
    figure(`statements a second, ${workers} workers`, '/s', withThem.statements),
  ];
  if (!canWeigh) return statements;
  return [
    figure('CPU of the leader, no worker', '% of a core', without.cpuPercent),
    figure(`CPU of the leader, ${workers} workers`, '% of a core', withThem.cpuPercent),
    ...statements,
  ];
}
