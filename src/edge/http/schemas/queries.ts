/** Queries, as the API shows them: see `QueryShape` and its neighbours. */
import { JOB_STATES, PRIORITIES } from '../../../scheduler/core/index.ts';
import {
  anything,
  described,
  listOf,
  moment,
  oneOf,
  orNull,
  record,
  ref,
  type Schema,
  text,
  whole,
} from './schema.ts';

const ASKED_AT = { seq: 42, at: '2026-11-15T02:00:01.000Z' };
const ID = '0199f2c4-7a10-7c3e-8a51-3f6d1f0c2a77';
const asOf = ref('AsOf');

const SUMMARY_EXAMPLE = {
  id: ID,
  name: 'sql: select count(*) from orders',
  state: 'succeeded',
  error: null,
  submittedAt: '2026-11-15T02:00:00.000Z',
  startedAt: '2026-11-15T02:00:00.020Z',
  finishedAt: '2026-11-15T02:00:00.240Z',
};

const STAGE_EXAMPLE = {
  id: 0,
  title: 'scan orders, count',
  state: 'succeeded',
  output: 'gather',
  inputs: [],
  tasks: { total: 2, queued: 0, running: 0, succeeded: 2, failed: 0, recomputed: 0 },
  estimate: { rows: 2, bytes: 16 },
  rowsIn: 1_500_000,
  rowsOut: 2,
  bytesOut: 900,
  batches: 2,
  fetchedBytes: 0,
  earlyBytes: 0,
  spilledBytes: 0,
  elapsedMs: 110,
  workMs: 190,
  partitionBytes: [900],
  grouping: null,
  filters: [],
  filteredRows: null,
  join: null,
};

const COLUMN = record('A column of the result.', {
  name: text,
  type: described('As DuckDB writes it.', text),
});

const SKEWED = record('A partition that is much larger than the others.', {
  partition: whole,
  rows: whole,
  bytes: whole,
  times: described(
    'How many times the median of all partitions it is, by rows or bytes; null if that is 0.',
    orNull({ type: 'number' }),
  ),
  tasks: described('Tasks that read it: one if it was not split.', whole),
  stage: described(
    'The stage by whose tasks its rows are split; null if the operators need all of its rows together.',
    orNull(whole),
  ),
});

const stageFields: Readonly<Record<string, Schema>> = {
  id: described('Its position: a stage comes after the stages that it reads.', whole),
  title: text,
  state: oneOf(['waiting', 'running', 'succeeded', 'failed', 'cancelled']),
  output: described(
    'How its output is exchanged: `hash(4)`, `broadcast`, `gather`, `result`.',
    text,
  ),
  inputs: listOf(record('What it reads.', { stage: whole, mode: text })),
  tasks: record('Their progress.', {
    total: whole,
    queued: whole,
    running: whole,
    succeeded: whole,
    failed: whole,
    recomputed: described('Recomputed because their output was lost.', whole),
  }),
  estimate: record('The estimate of the planner.', {
    rows: orNull({ type: 'number' }),
    bytes: orNull({ type: 'number' }),
  }),
  rowsIn: whole,
  rowsOut: whole,
  bytesOut: whole,
  batches: described('Segments that were written.', whole),
  fetchedBytes: described('Read from other nodes.', whole),
  earlyBytes: described('Inputs that were fetched before the tasks that read them began.', whole),
  spilledBytes: whole,
  elapsedMs: described('From its first start to its last end.', orNull({ type: 'number' })),
  workMs: described('Over all its tasks.', { type: 'number' }),
  partitionBytes: described('Of each partition, once it is done.', listOf(whole)),
  grouping: described(
    'Decided when its producers have ended; null before, and for stages that read no partitions.',
    orNull(
      record('How the partitions that it reads are grouped into tasks.', {
        partitions: whole,
        tasks: described('Tasks that read at least one; the others have nothing to do.', whole),
        rows: whole,
        bytes: described('Of all partitions, as measured.', whole),
        targetBytes: described('The setting `targetPartitionBytes`.', whole),
        slots: described('Tasks that could run at the same time.', whole),
        skewed: described('Those that were too large for one task.', listOf(SKEWED)),
      }),
    ),
  ),
  filters: described(
    'How its scans are filtered by the keys of other stages. Decided when these have ended; empty before.',
    listOf(
      record('A filter of a column.', {
        name: described('The column: `lineitem.l_partkey`.', text),
        from: described('The stage that has the keys.', whole),
        rows: described('Of that stage.', whole),
        by: oneOf(['none', 'empty', 'range', 'list', 'bitmap']),
        keys: described('How many there are, if they are listed.', orNull(whole)),
      }),
    ),
  ),
  filteredRows: described(
    'Rows that these filters have left out. EXPLAIN ANALYZE counts them; otherwise it is null.',
    orNull(whole),
  ),
  join: described(
    'Decided when the stage of one side of its join has ended; null before, and for all other stages.',
    orNull(
      record('Whether that side is broadcast.', {
        build: described('The stage whose size decides.', whole),
        rows: described('Of that stage.', whole),
        bytes: described('As written, or as much as they seem to be in memory.', whole),
        thresholdBytes: described('The setting `broadcastThresholdBytes`.', whole),
        probe: described('The stage of the other side. It does not run if `isBroadcast`.', whole),
        isBroadcast: { type: 'boolean' },
      }),
    ),
  ),
};

export type QuerySchemaName =
  | 'Query'
  | 'QueryPage'
  | 'QueryRows'
  | 'SubmittedQuery'
  | 'QueryExplanation'
  | 'QueryAnalysis'
  | 'QueryRequest'
  | 'TableList';

export const querySchemas: Readonly<Record<QuerySchemaName, Schema>> = {
  Query: record(
    'A query with its stages.',
    {
      id: text,
      state: oneOf(JOB_STATES),
      sql: text,
      error: orNull(ref('TaskError')),
      columns: listOf(COLUMN),
      single: described('Why it runs as one fragment; null when it is distributed.', orNull(text)),
      partitions: whole,
      stages: listOf(record('A stage.', stageFields)),
      waiting: described(
        'While it waits for admission, or for a worker that can run it.',
        orNull(
          record('Its position in the admission queue, and the reason.', {
            position: whole,
            why: text,
          }),
        ),
      ),
      submittedAt: moment,
      startedAt: orNull(moment),
      finishedAt: orNull(moment),
      expiresAt: described('When its result expires.', orNull(moment)),
      asOf,
    },
    {
      example: {
        id: ID,
        state: 'succeeded',
        sql: 'select count(*) from orders',
        error: null,
        columns: [{ name: 'count_star()', type: 'BIGINT' }],
        single: null,
        partitions: 2,
        stages: [STAGE_EXAMPLE],
        waiting: null,
        submittedAt: '2026-11-15T02:00:00.000Z',
        startedAt: '2026-11-15T02:00:00.020Z',
        finishedAt: '2026-11-15T02:00:00.240Z',
        expiresAt: '2026-11-15T03:00:00.240Z',
        asOf: ASKED_AT,
      },
    },
  ),
  QueryPage: record(
    'Queries, newest first.',
    {
      queries: listOf(
        record('A query without its stages.', {
          id: text,
          name: described('The beginning of its SQL text, or its name.', text),
          state: oneOf(JOB_STATES),
          error: orNull(ref('TaskError')),
          submittedAt: moment,
          startedAt: orNull(moment),
          finishedAt: orNull(moment),
        }),
      ),
      cursor: described('Where the next page starts; null after the last.', orNull(text)),
      asOf,
    },
    { example: { queries: [SUMMARY_EXAMPLE], cursor: null, asOf: ASKED_AT } },
  ),
  QueryRows: record(
    'Rows with values in column order (`format=json`).',
    { columns: listOf(COLUMN), rows: listOf(listOf(anything)) },
    { example: { columns: [{ name: 'one', type: 'INTEGER' }], rows: [[1]] } },
  ),
  SubmittedQuery: record(
    'A query that was submitted, now or before, with its rows if they were waited for.',
    {
      id: text,
      state: oneOf(JOB_STATES),
      result: described('Values in column order.', ref('QueryRows')),
    },
    {
      optional: ['result'],
      example: {
        id: ID,
        state: 'succeeded',
        result: { columns: [{ name: 'one', type: 'INTEGER' }], rows: [[1]] },
      },
    },
  ),
  QueryExplanation: record(
    'The plan that would be executed.',
    { plan: described('The physical plan: see docs/plan-format.md.', anything), text },
    { example: { plan: { version: 1 }, text: 'stage 0 ...' } },
  ),
  QueryAnalysis: record(
    'The plan that was executed, with its statistics.',
    {
      id: text,
      text: described('For people.', text),
      stages: listOf(
        record('What the plan says of a stage.', {
          id: whole,
          operators: described('Outermost first, indented by depth.', listOf(text)),
          nonDeterministic: described(
            'Why a second run may return other rows; null if it returns the same ones.',
            orNull(text),
          ),
          requires: described('Custom operators that a node must have.', listOf(text)),
        }),
      ),
    },
    {
      example: {
        id: ID,
        text: 'stage 0 ...',
        stages: [{ id: 0, operators: ['scan orders'], nonDeterministic: null, requires: [] }],
      },
    },
  ),
  TableList: record(
    'The tables of the catalog.',
    { tables: listOf(record('A table.', { name: text })) },
    { example: { tables: [{ name: 'orders' }] } },
  ),
  QueryRequest: record(
    'A query over Parquet, CSV or JSON files.',
    {
      sql: described('One read-only statement.', text),
      plan: described('Instead of `sql`: a plan as described in docs/plan-format.md.', anything),
      params: described('Of `$1`, `$2`, ... or, by name, of `$name`.', {
        anyOf: [listOf(anything), { type: 'object', additionalProperties: anything }],
      }),
      tables: described('Name to path, glob, list of them, or more.', {
        type: 'object',
        additionalProperties: anything,
      }),
      settings: described('See the guide: `shufflePartitions`, `memoryBytes`, ...', {
        type: 'object',
        additionalProperties: anything,
      }),
      idempotencyKey: described('The same key again gives the first query.', text),
      priority: described('0 is urgent, 3 is low.', oneOf(PRIORITIES)),
      name: text,
      timeZone: described('The session time zone; UTC by default.', text),
    },
    {
      optional: [
        ...['sql', 'plan', 'params', 'tables', 'settings'],
        ...['idempotencyKey', 'priority', 'name', 'timeZone'],
      ],
      example: { sql: 'select 1 as one' },
    },
  ),
};
