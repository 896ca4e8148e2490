/** From submitting a job to the start of its handler, one at a time on an idle system. */
import postgres from 'postgres';
import { HttpClient } from '../src/client/index.ts';
import { pause } from './cluster/contender.ts';
import { BenchDatabase } from './cluster/database.ts';
import { startGraphileWorkers } from './cluster/graphile.ts';
import { Folder, GrpcSubmitter, jobOf, startLeader, startWorker } from './cluster/node.ts';
import { STAMP_TASKS, Stamps, millisBetween } from './cluster/stamps.ts';
import { figure, quantile, ratio } from './figures.ts';
import type { Benchmark, Figure } from './figures.ts';

const SLOTS = 8;
/** Between two samples: what the last one left behind is written by then. */
const REST_MS = 20;
/** Of each contender, one right behind the other: a process compiles for good only what it has done some thousand times, and one
 * that serves for days has. Without this, all rounds together are too few for it. */
const WARM_UP_JOBS = 4_000;

interface Way {
  readonly name: string;
  readonly send: (key: string) => Promise<unknown>;
  /** Of processes that have just been started. */
  readonly fresh: number[];
  readonly p50: number[];
  readonly p99: number[];
}

interface Scene {
  readonly ways: readonly Way[];
  close(): Promise<void>;
}

export const latency: Benchmark = {
  name: 'latency',
  summary:
    'from submitting a job to the start of its handler, idle system, against graphile-worker',
  settings: {
    millrace: `1 leader, 1 worker with ${SLOTS} slots, default settings`,
    'graphile-worker default': `1 process, concurrentJobs ${SLOTS}, LISTEN/NOTIFY as it comes`,
    clock: 'CLOCK_MONOTONIC in both processes',
    sample: `one job at a time, ${REST_MS} to ${2 * REST_MS} ms after the last one began`,
    'warm-up': `${WARM_UP_JOBS} jobs of each contender without a rest, after a round as they have started`,
  },
  async run(quick, say) {
    const samples = quick ? 10 : 100;
    const rounds = quick ? 1 : 5;
    const stamps = await Stamps.open();
    const database = await BenchDatabase.start('plain');
    try {
      const scene = await setUp(database, stamps);
      try {
        for (let round = 0; round <= rounds; round += 1) {
          for (const way of scene.ways) {
            const millis = await measure(way, stamps, `${way.name}-${round}`, samples, REST_MS);
            const [p50, p99] = [quantile(millis, 0.5), quantile(millis, 0.99)];
            const text = `p50 ${p50.toFixed(2)} ms, p99 ${p99.toFixed(2)} ms`;
            say(`  round ${round} of ${rounds}: ${way.name} ${text}`);
            if (round === 0) {
              way.fresh.push(p50);
              await measure(way, stamps, `${way.name}-warm`, quick ? samples : WARM_UP_JOBS, 0);
            } else {
              way.p50.push(p50);
              way.p99.push(p99);
            }
          }
        }
        return figuresOf(scene.ways);
      } finally {
        await scene.close();
      }
    } finally {
      await database.stop();
      stamps.close();
    }
  },
};

async function setUp(database: BenchDatabase, stamps: Stamps): Promise<Scene> {
  const folder = new Folder();
  const { environment } = stamps;
  const leader = await startLeader({ database: await database.create('millrace'), folder });
  const known = { servers: [leader.grpc], nodeId: 'w-1', slots: SLOTS, folder };
  const worker = await startWorker({ ...known, module: STAMP_TASKS, environment });
  const url = await database.create('graphile');
  const graphile = await startGraphileWorkers({ url, kind: 'default', workers: 1, environment });
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  const grpc = new GrpcSubmitter([leader.grpc]);
  const http = new HttpClient({ server: leader.url });
  const document = (key: string): object => jobOf('stamp', { key });
  const way = (name: string, send: Way['send']): Way => ({
    name,
    send,
    fresh: [],
    p50: [],
    p99: [],
  });
  return {
    ways: [
      way('millrace-grpc', (key) => grpc.submit([document(key)])),
      way('graphile-worker', (key) => {
        return sql`select 1 from graphile_worker.add_job('stamp', ${sql.json({ key })}::json)`;
      }),
      way('millrace-http', (key) => http.submitDocument(document(key))),
    ],
    async close() {
      grpc.close();
      http.end();
      await sql.end();
      for (const process of [worker, leader.process, ...graphile]) await process.end();
      folder.remove();
    },
  };
}

/** Milliseconds, a number a sample. */
async function measure(
  { send }: Way,
  stamps: Stamps,
  name: string,
  samples: number,
  restMs: number,
): Promise<readonly number[]> {
  const millis: number[] = [];
  for (let sample = 0; sample < samples; sample += 1) {
    const key = `${name}-${sample}`;
    const begun = stamps.next(key);
    const sentAt = process.hrtime.bigint();
    const [{ at }] = await Promise.all([begun, send(key)]);
    millis.push(millisBetween(sentAt, at));
    // Not in step with anybody's timers.
    if (restMs > 0) await pause(restMs * (1 + Math.random()));
  }
  return millis;
}

function figuresOf(ways: readonly Way[]): readonly Figure[] {
  const [grpc, graphile, http] = ways;
  const figures = ways.flatMap(({ name, fresh, p50, p99 }) => [
    figure(`${name}, p50, just started`, 'ms', fresh),
    figure(`${name}, p50`, 'ms', p50),
    figure(`${name}, p99`, 'ms', p99),
  ]);
  for (const ours of [grpc, http]) {
    if (ours === undefined || graphile === undefined) continue;
    figures.push(
      ratio(`${ours.name} / graphile-worker, p50`, ours.p50, graphile.p50),
      ratio(`${ours.name} / graphile-worker, p99`, ours.p99, graphile.p99),
    );
  }
  return figures;
}
