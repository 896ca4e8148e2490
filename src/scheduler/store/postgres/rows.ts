/** The columns of every table, written once. The order is that of the functions that a commit calls. */
import {
  type CopiedResultRow,
  JOB_STATES,
  type JobNo,
  type JobRow,
  type KeyRow,
  type LimitRow,
  type NodeRow,
  type ResultRow,
  type DeclarationRow,
  type ScheduleRow,
  type SignalRow,
  type StepRow,
  type TakenSignalRow,
  TASK_STATES,
  type TaskRef,
  type TaskRow,
  type TaskSpecRow,
} from '../../core/index.ts';
import type { EventChunk, LogRef } from '../event-chunk.ts';
import { jobReaders, specReaders, taskReaders } from '../row-readers.ts';
import type { InboxRow } from '../store.ts';
import {
  Codec,
  coded,
  column,
  type Column,
  type Encoder,
  encoderOf,
  failure,
  list,
  single,
  time,
} from './codec.ts';
import type { FoldedJob } from './table-rows.ts';

export const jobs: Codec<JobRow> = new Codec<JobRow>(
  {
    no: column('no', 'bigint'),
    id: column('id', 'text'),
    name: column('name', 'text'),
    priority: column('priority', 'smallint'),
    idempotencyKey: column('idempotency_key', 'text'),
    maxParallel: column('max_parallel', 'integer'),
    onFailure: column('on_failure', 'text'),
    totalMs: column('total_ms', 'bigint'),
    scheduleId: column('schedule_id', 'text'),
    output: column('output', 'text'),
    labels: list('labels', 'text'),
    runAt: time('run_at'),
    options: column('options', 'text'),
    createdAt: time('created_at'),
    state: coded('state', JOB_STATES),
    run: column('run', 'integer'),
    taskCount: column('task_count', 'integer'),
    stopping: column('stopping', 'text'),
    error: failure(),
    startedAt: time('started_at'),
    finishedAt: time('finished_at'),
  },
  jobReaders,
);

const ref = {
  jobNo: column<TaskRef['jobNo']>('job_no', 'bigint'),
  taskNo: column<TaskRef['taskNo']>('task_no', 'integer'),
};

export const refs: Codec<TaskRef> = new Codec<TaskRef>(ref);

export const specs: Codec<TaskSpecRow> = new Codec<TaskSpecRow>(
  {
    ...ref,
    id: column('id', 'text'),
    executor: column('executor', 'text'),
    priority: column('priority', 'smallint'),
    parentNo: column('parent_no', 'integer'),
    dependsOn: list('depends_on', 'integer'),
    idempotencyKey: column('idempotency_key', 'text'),
    options: column('options', 'text'),
    input: column('input', 'text'),
  },
  specReaders,
);

export const tasks: Codec<TaskRow> = new Codec<TaskRow>(
  {
    ...ref,
    state: coded('state', TASK_STATES),
    run: column('run', 'integer'),
    attempt: column('attempt', 'integer'),
    failures: column('failures', 'integer'),
    losses: column('losses', 'integer'),
    fence: column('fence', 'bigint'),
    term: column('term', 'text'),
    nodeId: column('node_id', 'text'),
    sessionId: column('session_id', 'text'),
    stopping: column('stopping', 'text'),
    suspended: column('suspended', 'text'),
    waits: column('waits', 'text'),
    notBefore: time('not_before'),
    progress: column('progress', 'double precision'),
    error: failure(),
    queuedAt: time('queued_at'),
    startedAt: time('started_at'),
    finishedAt: time('finished_at'),
  },
  taskReaders,
);

/** What an update of a job may change, with the number that finds it. */
const JOB_CHANGES = [
  'no',
  'options',
  'state',
  'run',
  'task_count',
  'stopping',
  'error_code',
  'error_message',
  'started_at',
  'finished_at',
];
/** Where a zero is stored as null, see migration 0024. */
const COUNTS = new Set(['attempt', 'failures', 'losses', 'fence', 'progress']);

const jobColumns = jobs.columns.map((each) => of(each, ({ job }: FoldedJob) => job));
const taskColumns = [
  ...tasks.columns
    .filter(({ name }) => !['job_no', 'task_no', 'run', 'finished_at'].includes(name))
    .map((each) => inJob(of(each, ({ task }: FoldedJob) => task))),
  inJob({ name: 'result', type: 'text', of: ({ result }: FoldedJob) => result }),
];
function of<T>(
  { name, type, of: valueOf, brief }: Column<T>,
  part: (folded: FoldedJob) => T | null,
): Column<FoldedJob> {
  const isCount = COUNTS.has(name);
  const read =
    (field: typeof valueOf): Column<FoldedJob>['of'] =>
    (folded) => {
      const row = part(folded);
      const value = row === null ? null : field(row);
      return value === 0 && isCount ? null : value;
    };
  return {
    ...{ name, type, of: read(valueOf) },
    ...(brief === undefined ? {} : { brief: read(brief) }),
  };
}

function inJob(column: Column<FoldedJob>): Column<FoldedJob> {
  return { ...column, name: `task_${column.name}` };
}

/** Of jobs that go on, and of labels: what is looked for among them. */
export const liveJobs: Encoder<JobRow> = jobs.only('no', 'priority');

export interface LabelRow {
  readonly jobNo: JobNo;
  readonly label: string;
}

export const labels: Codec<LabelRow> = new Codec<LabelRow>({
  jobNo: column('job_no', 'bigint'),
  label: column('label', 'text'),
});

/** With their only task, see `table-rows.ts`. New jobs are in `folded-jobs.ts`. */
export const jobUpdates: Encoder<FoldedJob> = encoderOf([
  ...jobColumns.filter(({ name }) => JOB_CHANGES.includes(name)),
  ...taskColumns,
]);

export const results: Codec<ResultRow> = new Codec<ResultRow>({
  ...ref,
  run: column('run', 'integer'),
  body: column('body', 'text'),
});

export const copiedResults: Codec<CopiedResultRow> = new Codec<CopiedResultRow>({
  ...ref,
  run: column('run', 'integer'),
  scope: column('scope', 'text'),
});

export const steps: Codec<StepRow> = new Codec<StepRow>({
  ...ref,
  run: column('run', 'integer'),
  name: column('name', 'text'),
  body: column('body', 'text'),
});

export const signals: Codec<SignalRow> = new Codec<SignalRow>({
  jobNo: column('job_no', 'bigint'),
  no: column('no', 'integer'),
  id: column('id', 'text'),
  name: column('name', 'text'),
  body: column('body', 'text'),
  sentAt: time('sent_at'),
  taken: column('taken', 'boolean'),
});

export const takenSignals: Codec<TakenSignalRow> = new Codec<TakenSignalRow>({
  jobNo: column('job_no', 'bigint'),
  signalNo: column('signal_no', 'integer'),
  taskNo: column('task_no', 'integer'),
  run: column('run', 'integer'),
  step: column('step', 'text'),
});

/** What a handler has completed in a transaction of its own. */
export interface CompletionRef {
  readonly job: string;
  readonly task: string;
  readonly run: number;
}

export const completions: Codec<CompletionRef> = new Codec<CompletionRef>({
  job: column('job', 'text'),
  task: column('task', 'text'),
  run: column('run', 'integer'),
});

export const keys: Codec<KeyRow> = new Codec<KeyRow>({
  scope: column('scope', 'text'),
  state: column('state', 'text'),
  ...ref,
  result: column('result', 'text'),
  updatedAt: time('updated_at'),
});

export const nodes: Codec<NodeRow> = new Codec<NodeRow>({
  id: column('id', 'text'),
  sessionId: column('session_id', 'text'),
  status: column('status', 'text'),
  draining: column('draining', 'boolean'),
  slots: column('slots', 'integer'),
  prefetch: column('prefetch', 'integer'),
  executors: list('executors', 'text'),
  capabilities: column('capabilities', 'text'),
  address: column('address', 'text'),
  version: column('version', 'text'),
  quarantinedUntil: time('quarantined_until'),
  registeredAt: time('registered_at'),
  seenAt: time('seen_at'),
});

export const schedules: Codec<ScheduleRow> = new Codec<ScheduleRow>({
  id: column('id', 'text'),
  spec: column('spec', 'text'),
  paused: column('paused', 'boolean'),
  nextAt: time('next_at'),
  lastAt: time('last_at'),
  lastJobId: column('last_job_id', 'text'),
});

export const limits: Codec<LimitRow> = new Codec<LimitRow>({
  id: column('id', 'text'),
  state: column('state', 'text'),
});

export const declarations: Codec<DeclarationRow> = new Codec<DeclarationRow>({
  id: column('id', 'text'),
  declaration: column('declaration', 'text'),
});

export const inbox: Codec<InboxRow> = new Codec<InboxRow>({
  no: column('no', 'bigint'),
  jobId: column('job_id', 'text'),
  document: column('document', 'text'),
});

export const chunks: Codec<EventChunk> = new Codec<EventChunk>({
  firstSeq: column('first_seq', 'bigint'),
  lastSeq: column('last_seq', 'bigint'),
  at: time('at'),
  jobMin: column('job_min', 'bigint'),
  jobMax: column('job_max', 'bigint'),
  body: column('body', 'text'),
});

export const logRefs: Codec<LogRef> = new Codec<LogRef>({
  jobNo: column('job_no', 'bigint'),
  taskNo: column('task_no', 'integer'),
});

export const ids: Encoder<string> = single('id', 'text');
export const scopes: Encoder<string> = single('scope', 'text');
export const numbers: Encoder<number> = single('no', 'bigint');
