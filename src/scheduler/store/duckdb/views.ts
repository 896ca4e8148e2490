/** Payloads, and what people see. */
import {
  type JobId,
  type JobNo,
  type JobRow,
  SIGNAL_WAIT_START,
  awaitedSignals,
  signalWaitPart,
  starterPart,
  type StepRow,
  type TaskId,
  type TaskNo,
  type TaskRef,
  type TaskRow,
} from '../../core/index.ts';
import { type JobFilter, type JobView, type ListedJob, refKey, type TaskView } from '../store.ts';
import { type Cell, rowOf } from './columns.ts';
import { columnList, selectRows } from './rows.ts';
import { type Parameter, type Session } from './session.ts';
import { HISTORY, JOB, SPEC, STEP, TASK } from './tables.ts';

/** A job by its id, once the index has said which numbers it can have. */
export async function jobById(
  session: Session,
  shard: number,
  id: JobId,
  numbers: readonly number[],
): Promise<JobRow | null> {
  const [job] = await selectRows(
    session,
    JOB,
    `where t.shard = $1::integer and t.id = $2 and t.no in (select unnest($3::bigint[]))`,
    shard,
    id,
    numbers,
  );
  return job ?? null;
}

export async function jobIdByKey(
  session: Session,
  shard: number,
  key: string,
  numbers: readonly number[],
): Promise<JobId | null> {
  const rows = await session.rows(
    `select id from job
      where shard = $1::integer and idempotency_key = $2 and no in (select unnest($3::bigint[]))`,
    shard,
    key,
    numbers,
  );
  return (rows[0]?.[0] ?? null) as JobId | null;
}

const REFS = `(select unnest($2::bigint[]) as job_no, unnest($3::integer[]) as task_no) s`;
const SAME_TASK = `t.shard = $1::integer and t.job_no = s.job_no and t.task_no = s.task_no`;

const PAYLOADS = {
  input: `select s.job_no, s.task_no, t.input from spec t, ${REFS}
           where ${SAME_TASK} and t.input is not null`,
  result: `select s.job_no, s.task_no, r.body from task t, result r, ${REFS}
            where ${SAME_TASK} and r.shard = $1::integer and r.job_no = s.job_no
              and r.task_no = s.task_no and r.run = t.run`,
};

export async function payloads(
  session: Session,
  what: keyof typeof PAYLOADS,
  shard: number,
  refs: readonly TaskRef[],
): Promise<ReadonlyMap<string, string>> {
  if (refs.length === 0) return new Map();
  const rows = await session.rows(
    PAYLOADS[what],
    shard,
    refs.map((ref) => ref.jobNo),
    refs.map((ref) => ref.taskNo),
  );
  return new Map(
    rows.map(([jobNo, taskNo, body]) => [refKey(jobNo as JobNo, taskNo as TaskNo), body as string]),
  );
}

export async function taskRows(
  session: Session,
  shard: number,
  refs: readonly TaskRef[],
): Promise<ReadonlyMap<string, TaskRow>> {
  if (refs.length === 0) return new Map();
  const rows = await selectRows(
    session,
    TASK,
    `, ${REFS} where ${SAME_TASK}`,
    shard,
    refs.map((ref) => ref.jobNo),
    refs.map((ref) => ref.taskNo),
  );
  return new Map(rows.map((row) => [refKey(row.jobNo, row.taskNo), row]));
}

export async function stepsOf(
  session: Session,
  shard: number,
  { jobNo, taskNo }: TaskRef,
  run: number,
): Promise<StepRow[]> {
  return selectRows(
    session,
    STEP,
    `where t.shard = $1::integer and t.job_no = $2::bigint and t.task_no = $3::integer
       and t.run = $4::integer`,
    shard,
    jobNo,
    taskNo,
    run,
  );
}

/** Specs, tasks and results of a job, or of one task of it. */
async function taskViews(
  session: Session,
  shard: number,
  job: JobNo,
  id: TaskId | null,
): Promise<TaskView[]> {
  const rows = await session.rows(
    `select ${columnList(SPEC)}, ${columnList(TASK).replaceAll('t.', 'k.')}, r.body
       from spec t
       join task k on k.shard = t.shard and k.job_no = t.job_no and k.task_no = t.task_no
       left join result r on r.shard = k.shard and r.job_no = k.job_no
         and r.task_no = k.task_no and r.run = k.run
      where t.shard = $1::integer and k.shard = $1::integer
        and t.job_no = $2::bigint and k.job_no = $2::bigint ${id === null ? '' : 'and t.id = $3'}
      order by t.task_no`,
    shard,
    job,
    ...(id === null ? [] : [id]),
  );
  const width = SPEC.columns.length;
  return rows.map((cells: Cell[]) => ({
    spec: rowOf(SPEC, cells),
    task: rowOf(TASK, cells.slice(width)),
    result: cells.at(-1) as string | null,
  }));
}

export async function taskView(
  session: Session,
  shard: number,
  job: JobRow,
  id: TaskId,
): Promise<TaskView | null> {
  const [view] = await taskViews(session, shard, job.no, id);
  return view ?? null;
}

export async function jobView(session: Session, shard: number, job: JobRow): Promise<JobView> {
  const tasks = await taskViews(session, shard, job.no, null);
  const history = await selectRows(
    session,
    HISTORY,
    `where t.shard = $1::integer and t.job_no = $2::bigint order by t.run, t.task_no`,
    shard,
    job.no,
  );
  return { job, tasks, history };
}

export async function listJobs(
  session: Session,
  shard: number,
  filter: JobFilter,
): Promise<ListedJob[]> {
  const { state, name, labels = [], waitingFor, schedule, startedBy } = filter;
  const { since, until, before, limit } = filter;
  const parameters: Parameter[] = [shard, limit];
  const wanted = (sql: string, parameter: Parameter): string =>
    `and ${sql.replace('?', `$${parameters.push(parameter)}`)}`;
  const filters = [
    state === undefined ? '' : wanted('t.state = ?', state),
    name === undefined ? '' : wanted('t.name = ?', name),
    schedule === undefined ? '' : wanted('t.schedule_id = ?', schedule),
    startedBy === undefined ? '' : wanted('contains(t.options, ?)', starterPart(startedBy)),
    before === undefined ? '' : wanted('t.no < ?::bigint', before),
    // Jobs lie in the order of their creation: row groups outside are not read.
    since === undefined ? '' : wanted('t.created_at >= ?::bigint', since),
    until === undefined ? '' : wanted('t.created_at < ?::bigint', until),
    // There are no indexes in this file; only this column is read, never the payloads.
    ...labels.map((label) => wanted('list_contains(t.labels, ?)', label)),
    waitingFor === undefined
      ? ''
      : wanted(`t.no in (${WAITING('x.job_no', '?')})`, signalWaitPart(waitingFor)),
  ];
  const jobs = await selectRows(
    session,
    JOB,
    `where t.shard = $1::integer ${filters.join(' ')} order by t.no desc limit $2::bigint`,
    ...parameters,
  );
  return waitingFor === undefined ? jobs : withSignals(session, shard, jobs, waitingFor);
}

/** Of the tasks that wait for a signal. */
const WAITING = (columns: string, part: string): string =>
  `select ${columns} from task x where x.shard = $1::integer
      and starts_with(x.waits, '${SIGNAL_WAIT_START}') and contains(x.waits, ${part})`;

async function withSignals(
  session: Session,
  shard: number,
  jobs: readonly JobRow[],
  waitingFor: string,
): Promise<ListedJob[]> {
  const found = await session.rows(
    `${WAITING('x.job_no, x.waits', '$2')} and x.job_no in (select unnest($3::bigint[]))`,
    shard,
    signalWaitPart(waitingFor),
    jobs.map(({ no }) => no),
  );
  const waits = new Map<JobNo, string[]>(jobs.map(({ no }) => [no, []]));
  for (const [no, text] of found) waits.get(no as JobNo)?.push(text as string);
  return jobs.map((job) => ({ ...job, waitsFor: awaitedSignals(waits.get(job.no) ?? []) }));
}
