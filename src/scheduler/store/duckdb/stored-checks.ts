/**
 * Rows that a fold will bring, against those in the tables: there is no index that would refuse them. A look-up costs
 * about half a millisecond, so there is none where a list is empty.
 */
import type { Batch, KeyRow, StepRow, TaskRef, TaskSpecRow } from '../../core/index.ts';
import { badRow } from '../row-checks.ts';
import type { Cell } from './columns.ts';
import { nameHash } from './hash-index.ts';
import type { Session } from './session.ts';
import type { Shards } from './shards.ts';

export interface Stored {
  readonly session: Session;
  readonly shards: Shards;
  readonly shard: number;
}

/** New jobs are looked up only if the index knows one of their names. */
export function needsLookUp({ jobs, jobKeys }: Shards, { jobInserts, ...batch }: Batch): boolean {
  const isKnown = jobInserts.some(
    ({ id, idempotencyKey: key }) =>
      jobs.find(nameHash(id)).length > 0 ||
      (key !== null && jobKeys.find(nameHash(key)).length > 0),
  );
  return isKnown || Object.values(batch).some((list) => Array.isArray(list) && list.length > 0);
}

/** Results are copied from completed keys only. */
export function checkCompleted(scopes: readonly string[], keys: readonly KeyRow[]): void {
  const completed = new Set(
    keys.flatMap(({ state, scope }) => (state === 'completed' ? scope : [])),
  );
  const other = scopes.find((scope) => !completed.has(scope));
  if (other !== undefined) throw badRow(`a copy of key ${other}`, 'it is not completed');
}

export async function checkStored(stored: Stored, batch: Batch): Promise<void> {
  await checkNames(stored, batch);
  const { jobUpdates, specInserts, signalInserts } = batch;
  const joining = [...specInserts, ...signalInserts].map(({ jobNo }) => jobNo);
  await checkJobs(stored, [...jobUpdates.map(({ no }) => no), ...joining]);
  await checkTasks(stored, [
    ...batch.taskUpdates,
    ...batch.archived,
    ...batch.steps,
    ...batch.results,
  ]);
  if (batch.archived.length > 0) await checkHistory(stored, batch.archived);
  if (specInserts.length > 0) await checkSpecs(stored, specInserts);
  if (batch.results.length > 0) await checkResults(stored, batch.results);
  if (signalInserts.length > 0) await checkSignals(stored, signalInserts);
  if (batch.takenSignals.length > 0) await checkTaken(stored, batch.takenSignals);
}

async function checkNames(stored: Stored, { jobInserts }: Batch): Promise<void> {
  const { jobs, jobKeys } = stored.shards;
  for (const { no, id, idempotencyKey } of jobInserts) {
    if (await isTaken(stored, 'id', id, jobs.find(nameHash(id)))) {
      throw badRow(`job ${no}`, `its id ${id} is taken`);
    }
    if (idempotencyKey === null) continue;
    const numbers = jobKeys.find(nameHash(idempotencyKey));
    if (await isTaken(stored, 'idempotency_key', idempotencyKey, numbers)) {
      throw badRow(`job ${no}`, `its idempotency key ${idempotencyKey} is taken`);
    }
  }
}

/** The index has found something of the same hash: a true double, or once in an age another name. */
async function isTaken(
  { session, shard }: Stored,
  column: 'id' | 'idempotency_key',
  name: string,
  numbers: readonly number[],
): Promise<boolean> {
  if (numbers.length === 0) return false;
  const found = await session.rows(
    `select no from job
      where shard = $1::integer and ${column} = $2 and no in (select unnest($3::bigint[]))`,
    shard,
    name,
    numbers,
  );
  return found.length > 0;
}

async function checkJobs({ session, shard }: Stored, all: readonly number[]): Promise<void> {
  const numbers = [...new Set(all)];
  if (numbers.length === 0) return;
  const found = await session.rows(
    `select count(*) from job where shard = $1::integer and no in (select unnest($2::bigint[]))`,
    shard,
    numbers,
  );
  if (found[0]?.[0] !== numbers.length) throw badRow('the batch', 'a job of it is not stored');
}

const TASKS = `(select unnest($2::bigint[]) as job_no, unnest($3::integer[]) as task_no) s`;
const SAME_TASK = `t.shard = $1::integer and t.job_no = s.job_no and t.task_no = s.task_no`;

async function checkTasks({ session, shard }: Stored, all: readonly TaskRef[]): Promise<void> {
  const refs = [...new Map(all.map((ref) => [`${ref.jobNo}/${ref.taskNo}`, ref])).values()];
  if (refs.length === 0) return;
  const found = await session.rows(
    `select count(*) from task t, ${TASKS} where ${SAME_TASK}`,
    shard,
    refs.map(({ jobNo }) => jobNo),
    refs.map(({ taskNo }) => taskNo),
  );
  if (found[0]?.[0] !== refs.length) throw badRow('the batch', 'a task of it is not stored');
}

async function checkHistory({ session, shard }: Stored, refs: readonly TaskRef[]): Promise<void> {
  const found = await session.rows(
    `select h.job_no, h.task_no, h.run from task t, history h, ${TASKS}
      where ${SAME_TASK} and h.shard = $1::integer and h.job_no = s.job_no
        and h.task_no = s.task_no and h.run = t.run limit 1`,
    shard,
    refs.map(({ jobNo }) => jobNo),
    refs.map(({ taskNo }) => taskNo),
  );
  refuseFirst('the history of run', found, 'it is there');
}

async function checkSpecs(
  { session, shard }: Stored,
  specs: readonly TaskSpecRow[],
): Promise<void> {
  const jobs = specs.map(({ jobNo }) => jobNo);
  const byNumber = await session.rows(
    `select t.job_no, t.task_no from spec t, ${TASKS} where ${SAME_TASK} limit 1`,
    shard,
    jobs,
    specs.map(({ taskNo }) => taskNo),
  );
  refuseFirst('task', byNumber, 'its number is taken');
  const byId = await session.rows(
    `select t.job_no, t.task_no
       from spec t, (select unnest($2::bigint[]) as job_no, unnest($3::varchar[]) as id) s
      where t.shard = $1::integer and t.job_no = s.job_no and t.id = s.id limit 1`,
    shard,
    jobs,
    specs.map(({ id }) => id),
  );
  refuseFirst('task', byId, 'its id is taken');
}

async function checkResults(
  { session, shard }: Stored,
  results: readonly Omit<StepRow, 'name' | 'body'>[],
): Promise<void> {
  const found = await session.rows(
    `select t.job_no, t.task_no, t.run
       from result t, (select unnest($2::bigint[]) as job_no, unnest($3::integer[]) as task_no,
                              unnest($4::integer[]) as run) s
      where ${SAME_TASK} and t.run = s.run limit 1`,
    shard,
    results.map(({ jobNo }) => jobNo),
    results.map(({ taskNo }) => taskNo),
    results.map(({ run }) => run),
  );
  refuseFirst('the result of', found, 'there is one');
}

async function checkSignals(
  { session, shard }: Stored,
  signals: Batch['signalInserts'],
): Promise<void> {
  const found = await session.rows(
    `select t.job_no, t.no
       from signal t, (select unnest($2::bigint[]) as job_no, unnest($3::integer[]) as no,
                              unnest($4::varchar[]) as id) s
      where t.shard = $1::integer and t.job_no = s.job_no and (t.no = s.no or t.id = s.id) limit 1`,
    shard,
    signals.map(({ jobNo }) => jobNo),
    signals.map(({ no }) => no),
    signals.map(({ id }) => id),
  );
  refuseFirst('signal', found, 'its number or id is taken');
}

async function checkTaken({ session, shard }: Stored, taken: Batch['takenSignals']): Promise<void> {
  const found = await session.rows(
    `select count(*)
       from signal t, (select unnest($2::bigint[]) as job_no, unnest($3::integer[]) as no) s
      where t.shard = $1::integer and t.job_no = s.job_no and t.no = s.no and not t.taken`,
    shard,
    taken.map(({ jobNo }) => jobNo),
    taken.map(({ signalNo }) => signalNo),
  );
  if (found[0]?.[0] !== taken.length) {
    throw badRow('a signal of the batch', 'there is none, or it was taken already');
  }
}

function refuseFirst(what: string, found: readonly Cell[][], why: string): void {
  if (found[0] !== undefined) throw badRow(`${what} ${found[0].join('/')}`, why);
}
