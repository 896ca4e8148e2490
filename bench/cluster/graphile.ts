import { fileURLToPath } from 'node:url';
import postgres from 'postgres';
import { makeWorkerUtils as openClient, runMigrations } from 'graphile-worker';
import { expectCount, inBatches } from './contender.ts';
import type { Contender } from './contender.ts';
import { BenchProcess } from './processes.ts';

const WORKER = fileURLToPath(new URL('graphile-process.ts', import.meta.url));

export interface GraphileOptions {
  readonly url: string;
  /**
   * `tuned`: a local queue of 500 and completions in batches, as its own documents advise, 24 at a time.
   * `default`: everything as it comes, but 8 at a time where it would run one.
   */
  readonly kind: 'tuned' | 'default';
  readonly workers: number;
  readonly environment?: Readonly<Record<string, string>>;
}

export async function startGraphileWorkers(
  options: GraphileOptions,
): Promise<readonly BenchProcess[]> {
  const { url, kind, environment } = options;
  await runMigrations({ connectionString: url });
  const command = ['--import', 'tsx', WORKER, url, kind];
  const workers: BenchProcess[] = [];
  for (let at = 0; at < options.workers; at += 1) {
    workers.push((await BenchProcess.start(command, 'ready', environment)).process);
  }
  return workers;
}

export async function startGraphile(options: GraphileOptions): Promise<Contender> {
  const workers = await startGraphileWorkers(options);
  const sql = postgres(options.url, { max: 1, onnotice: () => {} });
  const client = await openClient({ connectionString: options.url });
  let lastId = 0;
  return {
    name: `graphile-worker ${options.kind}`,
    processes: { workers: workers.map(({ pid }) => pid) },
    submit: (count) =>
      inBatches(count, (size) => {
        const jobs = Array.from({ length: size }, () => {
          lastId += 1;
          return { identifier: 'echo', payload: { id: lastId } };
        });
        return client.addJobs(jobs);
      }),
    async isDone() {
      const table = sql`graphile_worker._private_jobs`;
      return (await sql`select /* look */ id from ${table} order by id desc limit 1`).length === 0;
    },
    pauseWorkers: () => workers.forEach((worker) => worker.kill('SIGSTOP')),
    resumeWorkers: () => workers.forEach((worker) => worker.kill('SIGCONT')),
    audit: (submitted) => audit(workers, submitted),
    async close() {
      for (const worker of workers) await worker.end();
      await client.release();
      await sql.end();
    },
  };
}

/** Rows of what is done are gone, so the processes have counted. */
async function audit(workers: readonly BenchProcess[], submitted: number): Promise<void> {
  let count = 0;
  let sum = 0;
  for (const worker of workers) {
    const ran = await worker.ask<{ readonly count: number; readonly sum: number }>('ran');
    count += ran.count;
    sum += ran.sum;
  }
  expectCount('jobs ran', count, submitted);
  expectCount('as the sum of their numbers', sum, (submitted * (submitted + 1)) / 2);
}
