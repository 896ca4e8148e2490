/** Rows that a fold will bring, against those that are stored. */
import type { Batch, TaskRef } from '../../core/index.ts';
import { badRow } from '../row-checks.ts';
import type { JobRecord, Shard, TaskRecord } from './shard.ts';

export function checkStored(shard: Shard, batch: Batch): void {
  const job = (no: JobRecord['row']['no']): JobRecord => {
    const record = shard.jobs.get(no);
    if (record === undefined) throw badRow(`job ${no}`, 'it is not stored');
    return record;
  };
  const task = ({ jobNo, taskNo }: TaskRef): TaskRecord => {
    const record = job(jobNo).tasks.get(taskNo);
    if (record === undefined) throw badRow(`task ${jobNo}/${taskNo}`, 'it is not stored');
    return record;
  };
  for (const { no, id, idempotencyKey: key } of batch.jobInserts) {
    if (shard.jobNos.has(id)) throw badRow(`job ${no}`, `its id ${id} is taken`);
    const isTaken = key !== null && shard.jobNosByKey.has(key);
    if (isTaken) throw badRow(`job ${no}`, `its idempotency key ${key} is taken`);
  }
  for (const { no } of batch.jobUpdates) job(no);
  for (const { jobNo, taskNo, id } of batch.specInserts) {
    const { tasks, taskNos } = job(jobNo);
    if (tasks.has(taskNo) || taskNos.has(id)) {
      throw badRow(`task ${jobNo}/${taskNo}`, 'its number or id is taken');
    }
  }
  for (const ref of [...batch.taskUpdates, ...batch.archived, ...batch.steps]) task(ref);
  for (const ref of batch.archived) {
    const { task: row, history } = task(ref);
    const isThere = history?.some(({ run }) => run === row?.run) === true;
    if (isThere) throw badRow(`the history of ${ref.jobNo}/${ref.taskNo}`, 'its run is there');
  }
  for (const { run, ...ref } of batch.results) {
    const isTaken = task(ref).results?.has(run) === true;
    if (isTaken) throw badRow(`the result of ${ref.jobNo}/${ref.taskNo}`, `run ${run} has one`);
  }
  for (const { scope } of batch.copiedResults) {
    if (shard.keys.get(scope)?.state !== 'completed') throw badRow(`key ${scope}`, 'not completed');
  }
  for (const { jobNo, no, id } of batch.signalInserts) {
    const { signals } = job(jobNo);
    if (signals?.byNo.has(no) || signals?.nos.has(id)) {
      throw badRow(`signal ${jobNo}/${no}`, 'its number or id is taken');
    }
  }
  for (const { jobNo, signalNo } of batch.takenSignals) {
    if (job(jobNo).signals?.byNo.get(signalNo)?.taken !== false) {
      throw badRow(`signal ${jobNo}/${signalNo}`, 'there is none, or it was taken already');
    }
  }
}
