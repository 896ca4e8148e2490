/** What a new leader loads: live jobs without their payloads. */
import {
  type JobNo,
  type JobRow,
  type KeyRow,
  keyScope,
  type SignalRow,
  type TaskRow,
  type TaskSpecRow,
} from '../../core/index.ts';
import type { JobImage, JobPortion } from '../store.ts';
import { rowOf } from './columns.ts';
import { columnList, selectRows } from './rows.ts';
import { type Parameter, type Session } from './session.ts';
import { JOB, SIGNAL, SPEC, TASK } from './tables.ts';

/** Given by the store, since keys are looked up where no commit can come between. */
export type KeysOf = (scopes: readonly string[]) => Promise<readonly KeyRow[]>;

const INPUT = SPEC.columns.find((column) => column.name === 'input');
const BODY = SIGNAL.columns.find((column) => column.name === 'body');

export async function busyJobs(
  session: Session,
  shard: number,
  keysOf: KeysOf,
): Promise<JobImage[]> {
  const jobs = await selectRows(
    session,
    JOB,
    `where t.shard = $1::integer and t.finished_at is null and t.no in (
       select job_no from task where shard = $1::integer and state = 'running'
     ) order by t.priority, t.no`,
    shard,
  );
  return imagesOf(session, shard, jobs, keysOf);
}

export async function portion(
  session: Session,
  shard: number,
  { priority, from, limit }: { priority: number; from: JobNo; limit: number },
  keysOf: KeysOf,
): Promise<JobPortion> {
  const jobs = await selectRows(
    session,
    JOB,
    `where t.shard = $1::integer and t.finished_at is null
       and t.priority = $2::integer and t.no >= $3::bigint order by t.no limit $4::bigint`,
    shard,
    priority,
    from,
    limit + 1,
  );
  const images = await imagesOf(session, shard, jobs.slice(0, limit), keysOf);
  return { jobs: images, next: jobs[limit]?.no ?? null };
}

export async function imagesOf(
  session: Session,
  shard: number,
  jobs: readonly JobRow[],
  keysOf: KeysOf,
): Promise<JobImage[]> {
  if (jobs.length === 0) return [];
  const numbers = jobs.map((job) => job.no);
  const specs = byJob(await specsOf(session, shard, numbers));
  const inOrder = `${OF_JOBS} order by t.job_no, t.task_no`;
  const tasks = byJob(await selectRows(session, TASK, inOrder, shard, numbers));
  const signals = byJob(await signalsOf(session, shard, numbers));
  const keys = new Map<string, KeyRow>();
  const scopes = [...specs.values()].flatMap(scopesOf);
  for (const key of scopes.length === 0 ? [] : await keysOf(scopes)) keys.set(key.scope, key);
  return jobs.map((job) => {
    const own = specs.get(job.no) ?? [];
    return {
      job,
      specs: own,
      tasks: tasks.get(job.no) ?? [],
      keys: [...new Set(scopesOf(own))].flatMap((scope) => keys.get(scope) ?? []),
      signals: signals.get(job.no) ?? [],
    };
  });
}

const OF_JOBS = `where t.shard = $1::integer and t.job_no in (select unnest($2::bigint[]))`;

async function specsOf(session: Session, ...of: readonly Parameter[]): Promise<TaskSpecRow[]> {
  const cells = await session.rows(
    `select ${columnList(SPEC, INPUT)} from spec t ${OF_JOBS} order by t.job_no, t.task_no`,
    ...of,
  );
  return cells.map((row) => rowOf(SPEC, row));
}

async function signalsOf(session: Session, ...of: readonly Parameter[]): Promise<SignalRow[]> {
  const cells = await session.rows(
    `select ${columnList(SIGNAL, BODY)} from signal t ${OF_JOBS} order by t.job_no, t.no`,
    ...of,
  );
  return cells.map((row) => ({ ...rowOf(SIGNAL, row), body: '' }));
}

function byJob<Row extends TaskRow | TaskSpecRow | SignalRow>(
  rows: readonly Row[],
): Map<JobNo, Row[]> {
  const groups = new Map<JobNo, Row[]>();
  for (const row of rows) {
    const group = groups.get(row.jobNo);
    if (group === undefined) groups.set(row.jobNo, [row]);
    else group.push(row);
  }
  return groups;
}

const scopesOf = (specs: readonly TaskSpecRow[]): string[] =>
  specs.flatMap((spec) =>
    spec.idempotencyKey === null ? [] : keyScope(spec.executor, spec.idempotencyKey),
  );
