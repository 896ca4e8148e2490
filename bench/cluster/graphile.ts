import { fileURLToPath } from 'node:url';
import postgres from 'postgres';
import { runMigrations } from 'graphile-worker';
import type { Contender } from './contender.ts';
import { BenchProcess } from './processes.ts';

const WORKER = fileURLToPath(new URL('graphile-process.ts', import.meta.url));
const BATCH = 500;

/** `tuned`: a local queue of 500 and completions in batches, as its own documents advise. */
export async function startGraphile(
  url: string,
  kind: 'tuned' | 'default',
  processes: number,
): Promise<Contender> {
  await runMigrations({ connectionString: url });
  const workers: BenchProcess[] = [];
  for (let at = 0; at < processes; at += 1) {
    const { process: worker } = await BenchProcess.start(
      ['--import', 'tsx', WORKER, url, kind],
      'ready',
    );
    workers.push(worker);
  }
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  return {
    name: `graphile-worker ${kind}`,
    async submit(count) {
      for (let sent = 0; sent < count; sent += BATCH) {
        const size = Math.min(BATCH, count - sent);
        await sql`
          select graphile_worker.add_jobs(array(
            select json_populate_record(null::graphile_worker.job_spec,
              json_build_object('identifier', 'echo', 'payload', json_build_object('id', 1)))
            from generate_series(1, ${size})))`;
      }
    },
    async left() {
      const [row] = await sql`select count(*)::int as n from graphile_worker._private_jobs`;
      return row?.['n'] as number;
    },
    pauseWorkers: () => workers.forEach((worker) => worker.kill('SIGSTOP')),
    resumeWorkers: () => workers.forEach((worker) => worker.kill('SIGCONT')),
    async close() {
      for (const worker of workers) await worker.end();
      await sql.end();
    },
  };
}
