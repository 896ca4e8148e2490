import { fileURLToPath } from 'node:url';
import postgres from 'postgres';
import { expectCount, inBatches } from './contender.ts';
import type { Contender } from './contender.ts';
import { BenchProcess } from './processes.ts';
import { INSERT, LIVE, PLANS, TABLE } from './raw-sql.ts';

const WORKER = fileURLToPath(new URL('raw-process.ts', import.meta.url));

/** What this server can do at most: batches of bare SQL from as many processes. */
export async function startRaw(url: string, processes: number): Promise<Contender> {
  const sql = postgres(url, { max: 2, fetch_types: false, onnotice: () => {}, connection: PLANS });
  await sql.unsafe(TABLE);
  const command = ['--import', 'tsx', WORKER, url];
  const workers: BenchProcess[] = [];
  for (let at = 0; at < processes; at += 1) {
    workers.push((await BenchProcess.start(command, 'ready')).process);
  }
  const signal = (name: NodeJS.Signals): void => workers.forEach((worker) => worker.kill(name));
  let isPaused = false;
  // They ask all the time, which would cost the others something.
  signal('SIGSTOP');
  return {
    name: 'hand-written SQL',
    processes: { workers: workers.map(({ pid }) => pid) },
    async submit(count) {
      if (!isPaused) signal('SIGCONT');
      await inBatches(count, (size) => {
        const inputs = Array.from({ length: size }, () => '"{\\"id\\":1}"').join(',');
        return sql.unsafe(INSERT, [`{${inputs}}`], { prepare: true });
      });
    },
    async isDone() {
      const isDone = (await sql.unsafe(LIVE, [], { prepare: true })).length === 0;
      if (isDone) signal('SIGSTOP');
      return isDone;
    },
    pauseWorkers() {
      isPaused = true;
      signal('SIGSTOP');
    },
    resumeWorkers() {
      isPaused = false;
      signal('SIGCONT');
    },
    async audit(submitted) {
      const [row] = await sql`
        select count(*) as jobs, count(result) as results from raw.job where state = 2`;
      expectCount('jobs done', row?.['jobs'], submitted);
      expectCount('results', row?.['results'], submitted);
    },
    async close() {
      for (const worker of workers) await worker.end();
      await sql.end();
    },
  };
}
