/** The tables of the schema, column by column. The migrations have the same in SQL, in the same order. */
import type {
  JobRow,
  KeyRow,
  LimitRow,
  NodeRow,
  ResultRow,
  DeclarationKind,
  DeclarationRow,
  ScheduleRow,
  SignalRow,
  StepRow,
  TaskError,
  TaskRow,
  TaskSpecRow,
} from '../../core/index.ts';
import type { EventChunk } from '../event-chunk.ts';
import type { InboxRow } from '../store.ts';
import { type Column, field, hashed, type Table } from './columns.ts';

interface WithError {
  readonly error: TaskError | null;
}

/** Both columns are null, or neither is. */
const ERROR: readonly Column<WithError>[] = [
  {
    name: 'error_code',
    type: 'varchar',
    get: ({ error }) => error?.code ?? null,
    set: (row, code) => {
      row['error'] = code === null ? null : { code, message: '' };
    },
  },
  {
    name: 'error_message',
    type: 'varchar',
    get: ({ error }) => error?.message ?? null,
    set: (row, message) => {
      if (message !== null) row['error'] = { ...(row['error'] as TaskError), message };
    },
  },
];

export const JOB: Table<JobRow> = {
  name: 'job',
  columns: [
    field('no', 'bigint'),
    field('id', 'varchar'),
    hashed('id_hash', (job) => job.id),
    field('name', 'varchar'),
    field('priority', 'integer'),
    field('idempotencyKey', 'varchar'),
    hashed('idempotency_key_hash', (job) => job.idempotencyKey),
    field('maxParallel', 'integer'),
    field('onFailure', 'varchar'),
    field('totalMs', 'bigint'),
    field('scheduleId', 'varchar'),
    field('output', 'varchar'),
    field('labels', 'varchar[]'),
    field('runAt', 'bigint'),
    field('options', 'varchar'),
    field('createdAt', 'bigint'),
    field('state', 'varchar'),
    field('run', 'integer'),
    field('taskCount', 'integer'),
    field('stopping', 'varchar'),
    ...ERROR,
    field('startedAt', 'bigint'),
    field('finishedAt', 'bigint'),
  ],
};

/** What an update of a job may change; the rest stays as it was inserted. */
const MUTABLE = [
  'options',
  'state',
  'run',
  'task_count',
  'stopping',
  'error_code',
  'error_message',
];
export const JOB_STATE: Table<JobRow> = {
  name: 'job',
  columns: JOB.columns.filter(({ name }) =>
    ['no', ...MUTABLE, 'started_at', 'finished_at'].includes(name),
  ),
};

export const SPEC: Table<TaskSpecRow> = {
  name: 'spec',
  columns: [
    field('jobNo', 'bigint'),
    field('taskNo', 'integer'),
    field('id', 'varchar'),
    field('executor', 'varchar'),
    field('priority', 'integer'),
    field('parentNo', 'integer'),
    field('dependsOn', 'integer[]'),
    field('idempotencyKey', 'varchar'),
    field('options', 'varchar'),
    field('input', 'varchar'),
  ],
};

export const TASK: Table<TaskRow> = {
  name: 'task',
  columns: [
    field('jobNo', 'bigint'),
    field('taskNo', 'integer'),
    field('state', 'varchar'),
    field('run', 'integer'),
    field('attempt', 'integer'),
    field('failures', 'integer'),
    field('losses', 'integer'),
    field('fence', 'integer'),
    field('term', 'varchar'),
    field('nodeId', 'varchar'),
    field('sessionId', 'varchar'),
    field('stopping', 'varchar'),
    field('suspended', 'varchar'),
    field('waits', 'varchar'),
    field('notBefore', 'bigint'),
    field('progress', 'double'),
    ...ERROR,
    field('queuedAt', 'bigint'),
    field('startedAt', 'bigint'),
    field('finishedAt', 'bigint'),
  ],
};

export const HISTORY: Table<TaskRow> = { ...TASK, name: 'history' };

export const RESULT: Table<ResultRow> = {
  name: 'result',
  columns: [
    field('jobNo', 'bigint'),
    field('taskNo', 'integer'),
    field('run', 'integer'),
    field('body', 'varchar'),
  ],
};

export const STEP: Table<StepRow> = {
  name: 'step',
  columns: [
    field('jobNo', 'bigint'),
    field('taskNo', 'integer'),
    field('run', 'integer'),
    field('name', 'varchar'),
    field('body', 'varchar'),
  ],
};

export const SIGNAL: Table<SignalRow> = {
  name: 'signal',
  columns: [
    field('jobNo', 'bigint'),
    field('no', 'integer'),
    field('id', 'varchar'),
    field('name', 'varchar'),
    field('body', 'varchar'),
    field('sentAt', 'bigint'),
    field('taken', 'boolean'),
  ],
};

/** A key as it is stored: each write gives it a new number, so that its row is found by it. */
export interface NumberedKey extends KeyRow {
  readonly no: number;
}

export const KEY: Table<NumberedKey> = {
  name: 'idempotency',
  columns: [
    { ...field<NumberedKey>('no', 'bigint'), set: () => {} },
    field('scope', 'varchar'),
    hashed('scope_hash', (key) => key.scope),
    field('state', 'varchar'),
    field('jobNo', 'bigint'),
    field('taskNo', 'integer'),
    field('result', 'varchar'),
    field('updatedAt', 'bigint'),
  ],
};

export const NODE: Table<NodeRow> = {
  name: 'node',
  columns: [
    field('id', 'varchar'),
    field('sessionId', 'varchar'),
    field('status', 'varchar'),
    field('draining', 'boolean'),
    field('slots', 'integer'),
    field('prefetch', 'integer'),
    field('executors', 'varchar[]'),
    field('capabilities', 'varchar'),
    field('address', 'varchar'),
    field('version', 'varchar'),
    field('quarantinedUntil', 'bigint'),
    field('registeredAt', 'bigint'),
    field('seenAt', 'bigint'),
  ],
};

export const SCHEDULE: Table<ScheduleRow> = {
  name: 'schedule',
  columns: [
    field('id', 'varchar'),
    field('spec', 'varchar'),
    field('paused', 'boolean'),
    field('nextAt', 'bigint'),
    field('lastAt', 'bigint'),
    field('lastJobId', 'varchar'),
  ],
};

export const LIMIT: Table<LimitRow> = {
  name: 'limit_state',
  columns: [field('id', 'varchar'), field('state', 'varchar')],
};

const declarations = (name: DeclarationKind): Table<DeclarationRow> => ({
  name,
  columns: [field('id', 'varchar'), field('declaration', 'varchar')],
});

export const DECLARATIONS: Readonly<Record<DeclarationKind, Table<DeclarationRow>>> = {
  operator: declarations('operator'),
  flow: declarations('flow'),
};

export const INBOX: Table<InboxRow> = {
  name: 'inbox',
  columns: [field('no', 'bigint'), field('jobId', 'varchar'), field('document', 'varchar')],
};

export const EVENT_CHUNK: Table<EventChunk> = {
  name: 'event_chunk',
  columns: [
    field('firstSeq', 'bigint'),
    field('lastSeq', 'bigint'),
    { ...field<EventChunk>('at', 'bigint'), name: 'happened_at' },
    field('jobMin', 'bigint'),
    field('jobMax', 'bigint'),
    field('body', 'varchar'),
  ],
};
