/** A batch, in the order that the port promises, all or nothing. */
import { type Batch, jobNo, type TaskRow } from '../../core/index.ts';
import { checkBatch } from '../row-checks.ts';
import { Changes } from './changes.ts';
import type { Shard } from './shard.ts';

interface Folded {
  readonly history: readonly TaskRow[];
  /** Jobs that an earlier fold has left out have numbers from before. */
  readonly isFold: boolean;
}

export function applyBatch(
  shard: Shard,
  batch: Batch,
  { history, isFold }: Folded = { history: [], isFold: false },
): void {
  checkBatch(batch, isFold ? { ...shard, nextJobNo: jobNo(1) } : shard);
  const changes = new Changes(shard);
  try {
    applyJobs(changes, batch);
    for (const row of history) changes.insertHistory(row);
    applyPayloads(shard, changes, batch);
    applyCluster(shard, changes, batch);
  } catch (refusal) {
    changes.rollback();
    throw refusal;
  }
  // Nothing below can fail, so it needs no way back.
  for (const event of batch.events) shard.events.push(event);
  shard.commitNo = batch.commitNo;
  shard.lastSeq = batch.lastSeq;
  shard.nextJobNo = batch.nextJobNo;
}

function applyJobs(changes: Changes, batch: Batch): void {
  for (const { jobNo, taskNo } of batch.archived) changes.archiveTask(jobNo, taskNo);
  for (const job of batch.jobInserts) changes.insertJob(job);
  for (const job of batch.jobUpdates) changes.updateJob(job);
  for (const spec of batch.specInserts) changes.insertSpec(spec);
  for (const task of batch.taskInserts) changes.insertTask(task);
  for (const task of batch.taskUpdates) changes.updateTask(task);
}

function applyPayloads(shard: Shard, changes: Changes, batch: Batch): void {
  for (const { jobNo, taskNo, run, body } of batch.results) {
    changes.insertResult(jobNo, taskNo, run, body);
  }
  for (const key of batch.keyUpserts) changes.put(shard.keys, key.scope, key);
  for (const scope of batch.keyDeletes) changes.remove(shard.keys, scope);
  for (const { jobNo, taskNo, run, scope } of batch.copiedResults) {
    changes.copyResult(jobNo, taskNo, run, scope);
  }
  for (const step of batch.steps) changes.insertStep(step);
  for (const signal of batch.signalInserts) changes.insertSignal(signal);
  for (const taken of batch.takenSignals) changes.takeSignal(taken);
}

function applyCluster(shard: Shard, changes: Changes, batch: Batch): void {
  for (const node of batch.nodeUpserts) changes.put(shard.nodes, node.id, node);
  for (const id of batch.nodeDeletes) changes.remove(shard.nodes, id);
  for (const schedule of batch.scheduleUpserts) {
    changes.put(shard.schedules, schedule.id, schedule);
  }
  for (const id of batch.scheduleDeletes) changes.remove(shard.schedules, id);
  for (const limit of batch.limitUpserts) changes.put(shard.limits, limit.id, limit);
  for (const id of batch.limitDeletes) changes.remove(shard.limits, id);
  for (const no of batch.inboxDeletes) changes.remove(shard.inbox, no);
}
