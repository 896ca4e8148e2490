/**
 * Whether memory grows with the work that is done: a leader and a worker on PostgreSQL under queries and jobs, their
 * heaps after garbage collection, and the resident memory of all their processes. SOAK_MINUTES says how long.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { pauseMs } from '../rig/cluster/deadline.ts';
import { startCluster } from '../rig/cluster/cluster.ts';
import { freshDatabase } from '../rig/postgres.ts';
import { processTree } from '../rig/process-tree.ts';
import { load, makeTables } from './load.ts';
import { until } from '../rig/until.ts';

const MINUTES = Number(process.env['SOAK_MINUTES'] ?? '15');
const SAMPLES = 12;
/** Caches fill, code is compiled, allocators find their size. */
const WARM = SAMPLES / 3;
const MIB = 2 ** 20;
/** What a heap may have more at the end than after the warm-up: payloads and plans are remembered, up to a limit. */
const HEAP_GROWTH_MAX = 8 * MIB;
/** Fragmentation is not a leak; a leak of 2 MB a minute passes it in a longer run. */
const RESIDENT_GROWTH_MAX = 48 * MIB;
const REPORT = new URL('../../dist/rig/cluster/modules/memory-report.js', import.meta.url).href;

interface Figures {
  readonly rss: number;
  readonly heapUsed: number;
  readonly external: number;
}

type Sample = Readonly<Record<'leader' | 'worker', Figures & { readonly engines: number }>>;

/** Asks a process, and waits for what it writes. */
async function figuresOf(pid: number, file: string): Promise<Figures> {
  const lines = (): string[] =>
    existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : [];
  const before = lines().length;
  process.kill(pid, 'SIGUSR2');
  await until(
    () => Promise.resolve(lines().length > before),
    'the process does not report its memory',
    60_000,
  );
  return JSON.parse(lines().at(-1) ?? '{}') as Figures;
}

function enginesOf(pid: number): number {
  return processTree(pid)
    .filter(({ command }) => command.includes('engine/child/entry'))
    .reduce((sum, { residentBytes }) => sum + residentBytes, 0);
}

/** By how much the mean of the last third is above that of the third after the warm-up. */
function growth(samples: readonly Sample[], of: (sample: Sample) => number): number {
  const mean = (some: readonly Sample[]): number =>
    some.reduce((sum, sample) => sum + of(sample), 0) / some.length;
  const warm = samples.slice(WARM);
  const half = Math.floor(warm.length / 2);
  return mean(warm.slice(-half)) - mean(warm.slice(0, half));
}

const mib = (bytes: number): string => (bytes / MIB).toFixed(1);

test.runIf(process.platform === 'linux')(
  'queries and jobs leave nothing behind in the memory of leader, worker and engines',
  { timeout: MINUTES * 60_000 + 300_000 },
  async () => {
    vi.stubEnv('NODE_OPTIONS', `--import ${REPORT}`);
    const database = await freshDatabase();
    const cluster = await startCluster({
      database: database.url,
      leaders: 0,
      workers: 0,
      slots: 2,
    });
    const tables = await makeTables(cluster.folder);
    const args = ['--root', cluster.folder, '--memory', '512MiB'];
    const files = {
      leader: join(cluster.folder, 'leader.jsonl'),
      worker: join(cluster.folder, 'worker.jsonl'),
    };
    vi.stubEnv('SOAK_MEMORY_FILE', files.leader);
    const node = await cluster.startNode({ slots: 0, args });
    vi.stubEnv('SOAK_MEMORY_FILE', files.worker);
    const worker = await cluster.startWorker({ slots: 2, args });
    let isOver = false;
    const loaded = load(node.plan.url ?? '', tables, () => isOver);
    loaded.catch(() => {});
    const samples: Sample[] = [];
    for (let at = 0; at < SAMPLES; at += 1) {
      await Promise.race([pauseMs((MINUTES * 60_000) / SAMPLES), loaded]);
      const look = async (pid: number, file: string): Promise<Sample['leader']> => ({
        ...(await figuresOf(pid, file)),
        engines: enginesOf(pid),
      });
      const sample = {
        leader: await look(node.process.pid, files.leader),
        worker: await look(worker.process.pid, files.worker),
      };
      samples.push(sample);
      for (const [who, { heapUsed, external, rss, engines }] of Object.entries(sample))
        console.log(
          `soak ${at + 1}/${SAMPLES} ${who}: heap ${mib(heapUsed)}, external ${mib(external)}, resident ${mib(rss)}, engines ${mib(engines)} MiB`,
        );
    }
    isOver = true;
    const { queries, jobs } = await loaded;
    console.log(`soak: ${MINUTES} minutes, ${queries} queries, ${jobs} jobs`);
    for (const who of ['leader', 'worker'] as const) {
      expect(growth(samples, (sample) => sample[who].heapUsed)).toBeLessThan(HEAP_GROWTH_MAX);
      expect(growth(samples, (sample) => sample[who].external)).toBeLessThan(HEAP_GROWTH_MAX);
      expect(growth(samples, (sample) => sample[who].rss)).toBeLessThan(RESIDENT_GROWTH_MAX);
      expect(growth(samples, (sample) => sample[who].engines)).toBeLessThan(RESIDENT_GROWTH_MAX);
    }
  },
);
