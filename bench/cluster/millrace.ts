import postgres from 'postgres';
import { openPostgresStore } from '../../src/scheduler/store/index.ts';
import { auditStore } from './audit.ts';
import { expectCount } from './contender.ts';
import type { Contender } from './contender.ts';
import { Folder, GrpcSubmitter, HttpSubmitter, jobOf, startLeader, startWorker } from './node.ts';
import type { BenchProcess } from './processes.ts';

export interface MillraceOptions {
  readonly url: string;
  readonly workers: number;
  readonly slots: number;
  readonly environment?: Readonly<Record<string, string>>;
  /** How jobs are submitted; gRPC unless said. */
  readonly over?: 'grpc' | 'http';
  /** What is run; nothing worth the name unless said. */
  readonly document?: object;
  /** Nothing remains of a job, as with graphile-worker; everything unless said. */
  readonly keep?: 'none';
}

const SUCCEEDED = 2;

/** A leader process and worker processes, with jobs submitted over gRPC or by the shipped HTTP client. */
export async function startMillrace(options: MillraceOptions): Promise<Contender> {
  const { url, slots, environment = {}, keep } = options;
  const plain = options.document ?? jobOf('echo', { id: 1 });
  const document = keep === undefined ? plain : { ...plain, keep };
  const folder = new Folder();
  const workers: BenchProcess[] = [];
  const leader = await startLeader({ database: url, folder, environment });
  for (let at = 1; at <= options.workers; at += 1) {
    const known = { servers: [leader.grpc], nodeId: `w-${at}`, slots, folder, environment };
    workers.push(await startWorker(known));
  }
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  const isHttp = options.over === 'http';
  const client = isHttp ? new HttpSubmitter(leader.url) : new GrpcSubmitter([leader.grpc]);
  return {
    name: `millrace${isHttp ? '-http' : ''}${keep === undefined ? '' : `, keep ${keep}`}`,
    processes: { leader: [leader.process.pid], workers: workers.map(({ pid }) => pid) },
    submit: (count) => client.submitMany(count, document),
    async isDone() {
      // What is only in the journal is not in the tables yet: waiting for these counts up to a second against us.
      const rows = await sql`
        select /* look */ 1 where exists (
          select no from millrace.job_live order by shard desc, no desc limit 1) or exists (
          select from millrace.leader l left join millrace.journal_fold f on f.shard = l.shard
           where l.commit_no > coalesce(f.settled_no, f.commit_no, 0))`;
      return rows.length === 0;
    },
    pauseWorkers: () => workers.forEach((worker) => worker.kill('SIGSTOP')),
    resumeWorkers: () => workers.forEach((worker) => worker.kill('SIGCONT')),
    audit: (submitted) => audit(sql, url, submitted, keep === undefined),
    async close() {
      client.close();
      for (const worker of workers) await worker.end();
      await leader.process.end();
      await sql.end();
      folder.remove();
    },
  };
}

async function audit(
  sql: postgres.Sql,
  url: string,
  submitted: number,
  areKept: boolean,
): Promise<void> {
  const store = await openPostgresStore({ url });
  // Only the tables can list nodes, so they have everything then.
  await store.nodes(0);
  if (areKept) await auditRows(sql, submitted);
  await auditStore(store, submitted);
}

async function auditRows(sql: postgres.Sql, submitted: number): Promise<void> {
  const [jobs] = await sql`
    select count(*) filter (where state = ${SUCCEEDED}) as succeeded, count(*) as jobs
      from millrace.job`;
  const [results] = await sql`select count(*) as results from millrace.any_result`;
  expectCount('jobs are there', jobs?.['jobs'], submitted);
  expectCount('jobs succeeded', jobs?.['succeeded'], submitted);
  expectCount('results', results?.['results'], submitted);
}
