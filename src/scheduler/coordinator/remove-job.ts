/** An ended job goes before its time, with all that is stored of it. */
import { MillraceError, isFinished } from '../core/index.ts';
import type { JobId } from '../core/index.ts';
import { unknownJob } from './faults.ts';
import type { ServiceOptions } from './service-options.ts';

/** Call it while nobody can bring the job back into memory. The log tells of it last: whoever reads there that the job is gone
 * does not find it any more. */
export async function removeJob(options: ServiceOptions, jobId: JobId): Promise<void> {
  const { dispatcher, store, shard, term } = options;
  const callerId = jobId.replace(/\.[^.]*$/, '') as JobId;
  const live = await dispatcher.read((state) => ({
    job: state.jobsById.has(jobId),
    caller: callerId !== jobId && state.jobsById.has(callerId),
  }));
  const row = await store.jobRow(shard, jobId);
  if (row === null) throw unknownJob(jobId);
  if (live.job || !isFinished(row.state)) throw isLive(jobId);
  const caller = live.caller || callerId === jobId ? null : await store.jobRow(shard, callerId);
  if (live.caller || (caller !== null && !isFinished(caller.state)))
    throw isCalled(jobId, callerId);
  const { jobs } = await store.prune(term, { only: row.no });
  if (jobs === 0) throw unknownJob(jobId);
  await store.taskLog.remove(shard, jobId);
  const { name } = row;
  await dispatcher.ask((ask) => ({ type: 'noteRemoval', ask, jobId, name }));
}

function isLive(jobId: JobId): MillraceError {
  return new MillraceError({
    code: 'conflict',
    what: `Job ${jobId} has not ended, so it cannot be removed.`,
    todo: 'Cancel it first, and remove it when it has ended.',
  });
}

function isCalled(jobId: JobId, callerId: JobId): MillraceError {
  return new MillraceError({
    code: 'conflict',
    what: `Job ${jobId} was called by job ${callerId}, which may still need its result.`,
    todo: `Remove it when ${callerId} has ended.`,
  });
}
