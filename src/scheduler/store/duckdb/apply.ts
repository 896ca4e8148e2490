/** A fold inside a transaction. Its rows have been checked before they came into the journal. */
import type { Batch, DeclarationKind, StepRow, TaskRef } from '../../core/index.ts';
import type { Fold } from '../journal/port.ts';
import type { DeclarationChange } from '../store.ts';
import { field, type Table } from './columns.ts';
import { type KeyChanges, copiedResults, putKeys } from './keys.ts';
import { insertRows, sameKeys, updateRows, withRows } from './rows.ts';
import { writeSignals } from './signals.ts';
import { type Session } from './session.ts';
import type { Shards } from './shards.ts';
import * as tables from './tables.ts';

/** Names of tasks, to be looked for among the stored ones. */
const TASK_REF: Table<TaskRef> = {
  name: 'task_ref',
  columns: [field('jobNo', 'bigint'), field('taskNo', 'integer')],
};

const TASK_KEY = ['job_no', 'task_no'];
const STEP_KEY = ['job_no', 'task_no', 'run', 'name'];

export async function applyFold(
  session: Session,
  shards: Shards,
  shard: number,
  { batch, history, chunks }: Pick<Fold, 'batch' | 'history' | 'chunks'>,
): Promise<KeyChanges> {
  const write: Write = { session, shard, batch };
  await archive(write);
  await insertRows(session, tables.JOB, shard, batch.jobInserts);
  await updateRows(session, tables.JOB_STATE, ['no'], shard, batch.jobUpdates);
  await insertRows(session, tables.SPEC, shard, batch.specInserts);
  await insertRows(session, tables.TASK, shard, batch.taskInserts);
  await updateRows(session, tables.TASK, TASK_KEY, shard, batch.taskUpdates);
  await insertRows(session, tables.HISTORY, shard, history);
  const keys = await putKeys(session, shards, shard, batch);
  const copied = await copiedResults(session, shards, shard, batch);
  await insertRows(session, tables.RESULT, shard, [...batch.results, ...copied]);
  // Taken after the steps of the batch: of two under one name the first one stays.
  const taken = await writeSignals(session, shard, batch);
  await writeSteps(write, [...batch.steps, ...taken]);
  await writeCluster(write);
  await insertRows(session, tables.EVENT_CHUNK, shard, chunks);
  return keys;
}

interface Write {
  readonly session: Session;
  readonly shard: number;
  readonly batch: Batch;
}

async function archive({ session, shard, batch: { archived } }: Write): Promise<void> {
  await withRows(TASK_REF, shard, archived, ({ sql, parameters }) =>
    session.run(
      `insert into history select t.* from task t, ${sql} where ${sameKeys(TASK_KEY)}`,
      ...parameters,
    ),
  );
}

/** The first one of a name stays, so that a retried attempt sees what the earlier one saw. */
async function writeSteps(
  { session, shard, batch }: Write,
  all: readonly StepRow[],
): Promise<void> {
  if (all.length === 0) return;
  const steps = new Map(all.toReversed().map((step) => [stepKey(step), step]));
  const created = new Set(batch.jobInserts.map((job) => job.no));
  const doubtful = all.filter(({ jobNo }) => !created.has(jobNo));
  if (doubtful.length > 0) {
    await withRows(tables.STEP, shard, doubtful, async ({ sql, parameters }) => {
      // Not by an anti join: it would read all steps there are (measured: 7 ms against 0.7).
      const stored = await session.rows(
        `select t.job_no, t.task_no, t.run, t.name from step t, ${sql}
          where ${sameKeys(STEP_KEY)}`,
        ...parameters,
      );
      for (const [jobNo, taskNo, run, name] of stored) {
        steps.delete(stepKey({ jobNo, taskNo, run, name } as StepRow));
      }
    });
  }
  await insertRows(session, tables.STEP, shard, [...steps.values()]);
}

const stepKey = ({ jobNo, taskNo, run, name }: StepRow): string =>
  `${jobNo}/${taskNo}/${run}/${name}`;

async function writeCluster({ session, shard, batch }: Write): Promise<void> {
  const { nodeUpserts, nodeDeletes, scheduleUpserts, scheduleDeletes, inboxDeletes } = batch;
  const nodes = [...nodeUpserts.map((node) => node.id), ...nodeDeletes];
  await deleteNamed(session, 'node', shard, nodes);
  const schedules = [...scheduleUpserts.map((schedule) => schedule.id), ...scheduleDeletes];
  await deleteNamed(session, 'schedule', shard, schedules);
  const nodeLeft = new Set<string>(nodeDeletes);
  const scheduleLeft = new Set<string>(scheduleDeletes);
  const kept = nodeUpserts.filter((node) => !nodeLeft.has(node.id));
  await insertRows(session, tables.NODE, shard, kept);
  const left = scheduleUpserts.filter((schedule) => !scheduleLeft.has(schedule.id));
  await insertRows(session, tables.SCHEDULE, shard, left);
  const { limitUpserts, limitDeletes } = batch;
  const limits = [...limitUpserts.map((limit) => limit.id), ...limitDeletes];
  await deleteNamed(session, 'limit_state', shard, limits);
  const gone = new Set(limitDeletes);
  await insertRows(
    session,
    tables.LIMIT,
    shard,
    limitUpserts.filter((limit) => !gone.has(limit.id)),
  );
  if (inboxDeletes.length === 0) return;
  await session.run(
    `delete from inbox where shard = $1::integer and no in (select unnest($2::bigint[]))`,
    shard,
    inboxDeletes,
  );
}

/** Declarations change with registrations, not with batches. */
export async function applyDeclarations(
  session: Session,
  shard: number,
  kind: DeclarationKind,
  { put, removed }: DeclarationChange,
): Promise<void> {
  await deleteNamed(session, kind, shard, [...put.map((row) => row.id), ...removed]);
  await insertRows(session, tables.DECLARATIONS[kind], shard, put);
}

async function deleteNamed(
  session: Session,
  table: 'node' | 'schedule' | 'limit_state' | DeclarationKind,
  shard: number,
  ids: readonly string[],
): Promise<void> {
  if (ids.length === 0) return;
  await session.run(
    `delete from ${table} where shard = $1::integer and id in (select unnest($2::varchar[]))`,
    shard,
    ids,
  );
}
