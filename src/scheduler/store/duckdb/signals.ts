/** Signals of jobs: taken in once, and taken by one wait. They are few, so each batch looks them up. */
import type { Batch, SignalRow, StepRow, TakenSignalRow } from '../../core/index.ts';
import { badRow } from '../row-checks.ts';
import { field, type Table } from './columns.ts';
import { insertRows, sameKeys, updateRows, withRows } from './rows.ts';
import { type Session } from './session.ts';
import { SIGNAL } from './tables.ts';

/** Names of signals, to be looked for among the stored ones. */
const SIGNAL_NAME: Table<SignalRow> = {
  name: 'signal_name',
  columns: [field('jobNo', 'bigint'), field('no', 'integer'), field('id', 'varchar')],
};

type Taken = Pick<SignalRow, 'jobNo' | 'no' | 'taken'>;
const TAKEN: Table<Taken> = {
  name: 'signal',
  columns: [field('jobNo', 'bigint'), field('no', 'integer'), field('taken', 'boolean')],
};

export const SIGNAL_STAGES: readonly Table<never>[] = [SIGNAL_NAME, TAKEN];

const keyOf = (jobNo: number, no: number): string => `${jobNo}/${no}`;

/** Returns the steps that the taken ones become. */
export async function writeSignals(
  session: Session,
  shard: number,
  batch: Batch,
): Promise<StepRow[]> {
  const { signalInserts, takenSignals } = batch;
  if (signalInserts.length > 0) await insertSignals(session, shard, batch);
  return takenSignals.length === 0 ? [] : take(session, shard, takenSignals);
}

async function insertSignals(session: Session, shard: number, batch: Batch): Promise<void> {
  const { signalInserts, jobInserts } = batch;
  const created = new Set(jobInserts.map((job) => job.no));
  const jobs = new Set(
    signalInserts.map((signal) => signal.jobNo).filter((no) => !created.has(no)),
  );
  const found = await session.rows(
    `select count(*) from job where shard = $1::integer and no in (select unnest($2::bigint[]))`,
    shard,
    [...jobs],
  );
  if (found[0]?.[0] !== jobs.size) throw badRow('new signals', 'their job is not stored');
  await withRows(session, SIGNAL_NAME, shard, signalInserts, async ({ sql, parameters }) => {
    for (const column of ['no', 'id']) {
      const taken = await session.rows(
        `select t.job_no, t.no, t.id from signal t, ${sql}
          where ${sameKeys(['job_no', column])} limit 1`,
        ...parameters,
      );
      if (taken[0] !== undefined) {
        throw badRow(`signal ${taken[0].join('/')}`, `its ${column} is taken`);
      }
    }
  });
  await insertRows(session, SIGNAL, shard, signalInserts);
}

/** A signal reaches one wait: taking it a second time is an error. */
async function take(
  session: Session,
  shard: number,
  all: readonly TakenSignalRow[],
): Promise<StepRow[]> {
  const wanted = all.map(({ jobNo, signalNo }) => ({ jobNo, no: signalNo, taken: true }));
  const pending = await withRows(session, TAKEN, shard, wanted, ({ sql, parameters }) =>
    session.rows(
      `select t.job_no, t.no, t.body from signal t, ${sql}
        where ${sameKeys(['job_no', 'no'])} and not t.taken`,
      ...parameters,
    ),
  );
  const bodies = new Map(
    pending.map(([jobNo, no, body]) => [keyOf(jobNo as number, no as number), body as string]),
  );
  const steps = all.map(({ jobNo, signalNo, taskNo, run, step }): StepRow => {
    const key = keyOf(jobNo, signalNo);
    const body = bodies.get(key);
    if (body === undefined) throw badRow(`signal ${key}`, 'there is none, or it was taken already');
    bodies.delete(key);
    return { jobNo, taskNo, run, name: step, body };
  });
  await updateRows(session, TAKEN, ['job_no', 'no'], shard, wanted);
  return steps;
}
