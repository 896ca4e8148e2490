/** Jobs that tasks submit without waiting for them. */
import { createHash } from 'node:crypto';
import type { JobId, LeaseName } from '../core/index.ts';

/** The step that records a submission, as `{"jobId"}`. */
export const SUBMITTED_STEP = '$submit/';

const DIGITS = 32;

/**
 * The id of the job that a task submits under a name: the same in every attempt of the run, on the worker, which
 * returns it to the handler, and on the leader, which does not ask the worker. It does not contain the id of the task's
 * job, so a job that submits its successor for years does not make it longer.
 */
export function submittedJobId(
  { jobId, taskNo }: Pick<LeaseName, 'jobId' | 'taskNo'>,
  run: number,
  name: string,
): JobId {
  const text = JSON.stringify(['submit', jobId, taskNo, run, name]);
  return createHash('sha256').update(text).digest('hex').slice(0, DIGITS) as JobId;
}
