/** Signals of jobs: taken in once, and taken by one wait. */
import type { Batch, SignalRow, StepRow, TakenSignalRow } from '../../core/index.ts';
import { field, type Table } from './columns.ts';
import { insertRows, sameKeys, updateRows, withRows } from './rows.ts';
import { type Session } from './session.ts';
import { SIGNAL } from './tables.ts';

type Taken = Pick<SignalRow, 'jobNo' | 'no' | 'taken'>;
const TAKEN: Table<Taken> = {
  name: 'signal',
  columns: [field('jobNo', 'bigint'), field('no', 'integer'), field('taken', 'boolean')],
};

const keyOf = (jobNo: number, no: number): string => `${jobNo}/${no}`;

/** Returns the steps that the taken ones become. */
export async function writeSignals(
  session: Session,
  shard: number,
  batch: Batch,
): Promise<StepRow[]> {
  const { signalInserts, takenSignals } = batch;
  await insertRows(session, SIGNAL, shard, signalInserts);
  return takenSignals.length === 0 ? [] : take(session, shard, takenSignals);
}

async function take(
  session: Session,
  shard: number,
  all: readonly TakenSignalRow[],
): Promise<StepRow[]> {
  const wanted = all.map(({ jobNo, signalNo }) => ({ jobNo, no: signalNo, taken: true }));
  const bodies = new Map<string, string>();
  await withRows(TAKEN, shard, wanted, async ({ sql, parameters }) => {
    const pending = await session.rows(
      `select t.job_no, t.no, t.body from signal t, ${sql}
        where ${sameKeys(['job_no', 'no'])} and not t.taken`,
      ...parameters,
    );
    for (const [jobNo, no, body] of pending) {
      bodies.set(keyOf(jobNo as number, no as number), body as string);
    }
  });
  await updateRows(session, TAKEN, ['job_no', 'no'], shard, wanted);
  return all.flatMap(({ jobNo, signalNo, taskNo, run, step }) => {
    const body = bodies.get(keyOf(jobNo, signalNo));
    return body === undefined ? [] : [{ jobNo, taskNo, run, name: step, body }];
  });
}
