/** Payloads, and what people see of jobs and tasks. */
import { inPortions } from '../../../kit/index.ts';
import {
  awaitedSignals,
  isFinished,
  type JobId,
  type JobNo,
  JOB_STATES,
  type JobRow,
  type KeyRow,
  SIGNAL_WAIT_START,
  signalWaitPart,
  starterKey,
  starterPart,
  type StepRow,
  type TaskId,
  type TaskNo,
  type TaskRef,
  type TaskRow,
  type TaskSpecRow,
} from '../../core/index.ts';
import {
  type InboxRow,
  type JobFilter,
  type JobView,
  type ListedJob,
  refKey,
  type TaskView,
} from '../store.ts';
import type { Values } from './codec.ts';
import type { Run } from './connection.ts';
import { createdBetween, moment } from './created-between.ts';
import type { ReadPool } from './pool.ts';
import * as rows from './rows.ts';

type Bodies = ReadonlyMap<string, string>;

/** The tasks named by $2 and $3, with one look-up by key for each. `offset 0` keeps the planner from reversing it: it
 * knows nothing of the length of the list and, at first, of the size of the table. */
const named = (columns: string, table: string): string => `
  from unnest($2::bigint[], $3::integer[]) as u(job_no, task_no)
  cross join lateral (
    select ${columns} from millrace.${table} x
     where x.shard = $1 and x.job_no = u.job_no and x.task_no = u.task_no offset 0) t`;

const INPUTS = `select u.job_no, u.task_no, t.input as body ${named('x.input', 'any_spec')}
  where t.input is not null`;
const RESULTS = `select u.job_no, u.task_no, r.body ${named('x.run', 'any_task')}
  cross join lateral (
    select x.body from millrace.any_result x
     where x.shard = $1 and x.job_no = u.job_no and x.task_no = u.task_no and x.run = t.run offset 0) r`;
const TASK_ROWS = `select ${rows.tasks.read('t')} ${named('x.*', 'any_task')}`;

export function inputsOf(run: Run, shard: number, refs: readonly TaskRef[]): Promise<Bodies> {
  return bodiesOf(run, INPUTS, shard, refs);
}

/** Of the current runs. */
export function resultsOf(run: Run, shard: number, refs: readonly TaskRef[]): Promise<Bodies> {
  return bodiesOf(run, RESULTS, shard, refs);
}

async function bodiesOf(
  run: Run,
  statement: string,
  shard: number,
  refs: readonly TaskRef[],
): Promise<Bodies> {
  if (refs.length === 0) return new Map();
  const found = await run(statement, [shard, ...rows.refs.encode(refs)]);
  const key = (row: Values): string => refKey(row['job_no'] as JobNo, row['task_no'] as TaskNo);
  return new Map(found.map((row) => [key(row), row['body'] as string]));
}

export async function taskRowsOf(
  run: Run,
  shard: number,
  refs: readonly TaskRef[],
): Promise<ReadonlyMap<string, TaskRow>> {
  if (refs.length === 0) return new Map();
  const found = await run(TASK_ROWS, [shard, ...rows.refs.encode(refs)]);
  const tasks = found.map((row) => rows.tasks.decode(row));
  return new Map(tasks.map((task) => [refKey(task.jobNo, task.taskNo), task]));
}

export async function stepsOf(
  run: Run,
  shard: number,
  { jobNo, taskNo }: TaskRef,
  runNo: number,
): Promise<readonly StepRow[]> {
  const found = await run(
    `select ${rows.steps.read('s')} from millrace.task_step s
      where s.shard = $1 and s.job_no = $2 and s.task_no = $3 and s.run = $4`,
    [shard, jobNo, taskNo, runNo],
  );
  return found.map((row) => rows.steps.decode(row));
}

export async function keysOf(
  run: Run,
  shard: number,
  scopes: readonly string[],
): Promise<readonly KeyRow[]> {
  if (scopes.length === 0) return [];
  const found = await run(
    `select ${rows.keys.read('k')} from millrace.idempotency k
      where k.shard = $1 and k.scope = any ($2::text[])`,
    [shard, ...rows.scopes.encode(scopes)],
  );
  return found.map((row) => rows.keys.decode(row));
}

export async function jobIdForKey(run: Run, shard: number, key: string): Promise<JobId | null> {
  const [row] = await run('select id from millrace.job where shard = $1 and idempotency_key = $2', [
    shard,
    key,
  ]);
  return row === undefined ? null : (row['id'] as JobId);
}

const SPECS = `select ${rows.specs.read('s')} from millrace.any_spec s where s.shard = $1`;
const TASKS = `select ${rows.tasks.read('t')} from millrace.any_task t where t.shard = $1`;
const BODIES = 'select r.task_no, r.run, r.body from millrace.any_result r where r.shard = $1';

export function taskView(
  pool: ReadPool,
  shard: number,
  id: JobId,
  taskId: TaskId,
): Promise<TaskView | null> {
  return pool.snapshot(async (run) => {
    const [found] = await run(
      `${SPECS} and s.id = $3 and s.job_no = (select no from millrace.job where shard = $1 and id = $2)`,
      [shard, id, taskId],
    );
    if (found === undefined) return null;
    const spec = rows.specs.decode(found);
    const of = [shard, spec.jobNo, spec.taskNo];
    const [tasks, bodies] = await Promise.all([
      run(`${TASKS} and t.job_no = $2 and t.task_no = $3`, of),
      run(`${BODIES} and r.job_no = $2 and r.task_no = $3`, of),
    ]);
    return (await viewsOf([spec], tasks, bodies))[0] ?? null;
  });
}

/** Put together here and not by a join: a planner that misjudges a new job takes minutes over it. */
async function viewsOf(
  specs: readonly TaskSpecRow[],
  taskValues: readonly Values[],
  bodyValues: readonly Values[],
): Promise<readonly TaskView[]> {
  const key = (taskNo: unknown, run: unknown): string => `${String(taskNo)}/${String(run)}`;
  const bodies = new Map(
    bodyValues.map((row) => [key(row['task_no'], row['run']), row['body'] as string]),
  );
  const tasks = await inPortions(taskValues, (row) => rows.tasks.decode(row));
  const byNo = new Map(tasks.map((task) => [task.taskNo, task]));
  const views = await inPortions(specs, (spec): TaskView | null => {
    const task = byNo.get(spec.taskNo);
    if (task === undefined) return null;
    return { spec, task, result: bodies.get(key(task.taskNo, task.run)) ?? null };
  });
  return views.filter((view) => view !== null);
}

const JOB = `select ${rows.jobs.read('j')} from millrace.job j where j.shard = $1 and j.id = $2`;

async function jobRowOf(run: Run, shard: number, id: JobId): Promise<JobRow | null> {
  const [row] = await run(JOB, [shard, id]);
  return row === undefined ? null : rows.jobs.decode(row);
}

export function jobView(pool: ReadPool, shard: number, id: JobId): Promise<JobView | null> {
  return pool.snapshot(async (run) => {
    const job = await jobRowOf(run, shard, id);
    if (job === null) return null;
    const of = [shard, job.no];
    const [specs, tasks, bodies, history] = await Promise.all([
      run(`${SPECS} and s.job_no = $2 order by s.task_no`, of),
      run(`${TASKS} and t.job_no = $2`, of),
      run(`${BODIES} and r.job_no = $2`, of),
      run(
        `select ${rows.tasks.read('h')} from millrace.task_history h
          where h.shard = $1 and h.job_no = $2 order by h.run, h.task_no`,
        of,
      ),
    ]);
    return {
      job,
      tasks: await viewsOf(await inPortions(specs, (row) => rows.specs.decode(row)), tasks, bodies),
      history: history.map((row) => rows.tasks.decode(row)),
    };
  });
}

const LIVE = `exists (select from millrace.job_live l where l.shard = j.shard and l.no = j.no)`;

/** Newest first. With a signal or a label its index is walked, one look at a job for each entry; otherwise the jobs are. */
export async function listJobs(
  run: Run,
  shard: number,
  filter: JobFilter,
): Promise<readonly ListedJob[]> {
  const { state, name, labels: given = [], waitingFor, schedule, startedBy } = filter;
  const { since, until, limit } = filter;
  const { first, end } = await createdBetween(run, shard, filter);
  const parameters: (string | number)[] = [shard];
  const bind = (value: string | number): string => `$${parameters.push(value)}`;
  const within = (column: string): string[] => [
    ...(end === undefined ? [] : [`${column} < ${bind(end)}`]),
    ...(first === undefined ? [] : [`${column} >= ${bind(first)}`]),
  ];
  const older = (): string => within('and x.job_no').join(' ');
  const [label] = waitingFor === undefined ? given : [];
  const labels = label === undefined ? given : given.slice(1);
  let from = 'millrace.job j';
  if (waitingFor !== undefined) from = waiting(bind(signalWaitPart(waitingFor)), older());
  else if (label !== undefined) from = labelled(bind(label), older());
  const wanted = [
    'j.shard = $1',
    ...within('j.no'),
    ...(since === undefined ? [] : [`j.created_at >= ${moment(bind(since))}`]),
    ...(until === undefined ? [] : [`j.created_at < ${moment(bind(until))}`]),
    ...(name === undefined ? [] : [`j.name = ${bind(name)}`]),
    ...(schedule === undefined ? [] : [`j.schedule_id = ${bind(schedule)}`]),
    ...(startedBy === undefined ? [] : startedAs(bind, startedBy)),
    ...(state === undefined ? [] : [`j.state = ${bind(JOB_STATES.indexOf(state))}`]),
    // Says the same again, with the few that can be meant.
    ...(state === undefined || isFinished(state) ? [] : [LIVE]),
    ...labels.map((each) => `${bind(each)} = any (j.labels)`),
  ];
  const found = await run(
    `select ${rows.jobs.read('j')}${waitingFor === undefined ? '' : ', l.waits as awaited'} from ${from}
      where ${wanted.join(' and ')} order by ${from.endsWith('.job j') ? 'j.no' : 'l.job_no'} desc limit ${bind(limit)}`,
    parameters,
  );
  return found.map((row) => {
    const job = rows.jobs.decode(row);
    if (waitingFor === undefined) return job;
    return { ...job, waitsFor: awaitedSignals((row['awaited'] as string).split('\n')) };
  });
}

/** What the index of migration 0027 has of the options. */
const STARTER = `substring(j.options from '"startedBy":(\\{"(?:event|job)":"[^"]*")') collate "C"`;

function startedAs(bind: (value: string) => string, startedBy: string): readonly string[] {
  return [
    `position('"startedBy":' in j.options) > 0`,
    `${STARTER} = ${bind(starterKey(startedBy))}`,
    `strpos(j.options, ${bind(starterPart(startedBy))}) > 0`,
  ];
}

/** Jobs with the label in the order of its index, which is already the one that is asked for. */
function labelled(label: string, older: string): string {
  return `(select x.job_no from millrace.job_label x
            where x.label = ${label} and x.shard = $1 ${older} order by x.job_no desc) l
    cross join lateral (
      select x.* from millrace.job x where x.shard = $1 and x.no = l.job_no offset 0) j`;
}

/** Jobs with a task that waits for the signal, in the order of the index of tasks that wait for one. */
function waiting(part: string, older: string): string {
  return `(select x.job_no, string_agg(x.waits, E'\\n') as waits from millrace.task x
            where x.waits like '${SIGNAL_WAIT_START}%' and strpos(x.waits, ${part}) > 0 and x.shard = $1 ${older}
            group by x.job_no order by x.job_no desc) l
    cross join lateral (
      select x.* from millrace.job x where x.shard = $1 and x.no = l.job_no offset 0) j`;
}

/** A portion ends with the document that reaches it. */
const INBOX_BYTES_MAX = 8 * 1024 * 1024;

export async function inboxOf(
  run: Run,
  shard: number,
  limit: number,
): Promise<readonly InboxRow[]> {
  // A hundred of the largest documents would be more than a leader has room for. The size of a value is known
  // without reading it.
  const found = await run(
    `select ${rows.inbox.read('i')}
       from (select f.*, sum(octet_length(f.document)) over (order by f.no) - octet_length(f.document) as before
               from (select * from millrace.inbox where shard = $1 order by no limit $2) f) i
      where i.before < ${INBOX_BYTES_MAX} order by i.no`,
    [shard, limit],
  );
  return found.map((row) => rows.inbox.decode(row));
}
