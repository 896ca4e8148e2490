import postgres from 'postgres';
import { uuidv7 } from 'uuidv7';
import type { JobId } from '../../src/core/index.ts';
import { LeaderChannel, clientChannel } from '../../src/protocol/index.ts';
import type { Contender } from './contender.ts';
import { BenchProcess } from './processes.ts';

export interface MillraceOptions {
  readonly url: string;
  readonly workers: number;
  readonly slots: number;
  readonly environment?: Readonly<Record<string, string>>;
}

/** Jobs handed in with one call. */
const BATCH = 500;
const IN_FLIGHT = 2;

/** A leader process and worker processes, with jobs handed in over gRPC. */
export async function startMillrace(options: MillraceOptions): Promise<Contender> {
  const { url, slots, environment = {} } = options;
  const port = 20_000 + Math.floor(Math.random() * 20_000);
  const grpc = `127.0.0.1:${port + 1}`;
  const { process: leader } = await BenchProcess.millrace(
    [
      ...['serve', '--database', url, '--role', 'leader', '--slots', '0'],
      ...['--port', `${port}`, '--grpc-port', `${port + 1}`],
    ],
    'millrace ready',
    environment,
  );
  const workers: BenchProcess[] = [];
  for (let at = 1; at <= options.workers; at += 1) {
    const { process: worker } = await BenchProcess.millrace(
      [
        ...['worker', '--server', grpc, '--node-id', `w-${at}`],
        ...['--slots', `${slots}`],
      ],
      'millrace worker ready',
      environment,
    );
    workers.push(worker);
  }
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  const channel = new LeaderChannel({ addresses: [grpc], tls: null });
  const client = clientChannel(channel);
  const document = { tasks: [{ id: 't', executor: 'echo', input: { id: 1 } }] };
  const submitBatch = async (count: number): Promise<void> => {
    const jobs = Array.from({ length: count }, () => ({
      document,
      jobId: uuidv7() as JobId,
      isRepeated: false,
    }));
    const answers = await client.submit(jobs);
    const refused = answers.find((answer) => answer instanceof Error);
    if (refused !== undefined) throw refused;
  };
  return {
    name: 'millrace',
    async submit(count) {
      let sent = 0;
      const pump = async (): Promise<void> => {
        while (sent < count) {
          const size = Math.min(BATCH, count - sent);
          sent += size;
          await submitBatch(size);
        }
      };
      await Promise.all(Array.from({ length: IN_FLIGHT }, pump));
    },
    async left() {
      const [row] = await sql`select count(*)::int as n from millrace.job_live`;
      return row?.['n'] as number;
    },
    pauseWorkers: () => workers.forEach((worker) => worker.kill('SIGSTOP')),
    resumeWorkers: () => workers.forEach((worker) => worker.kill('SIGCONT')),
    async close() {
      channel.close();
      for (const worker of workers) await worker.end();
      await leader.end();
      await sql.end();
    },
  };
}
