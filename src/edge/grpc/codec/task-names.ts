/** The names of a task beside its lease: stage, index and attempt, as the leader gave them with the assignment. */
import type { LeaseName } from '../../../scheduler/core/index.ts';
import type { TaskReport } from '../gen/millrace/v1/task.ts';
import { refuse } from './values.ts';

type Names = Pick<TaskReport, 'stageId' | 'taskId' | 'attempt'>;

/** By the lease that a worker received; one that was sent to another thread has no names, and needs none. */
const NAMES = new WeakMap<LeaseName, Names>();

const NONE = { queryId: '', stageId: 0n, taskId: 0n, attempt: 0 } as const;

export function nameTask(lease: LeaseName, names: Names): void {
  NAMES.set(lease, names);
}

export function namesOf(lease: LeaseName): Names & Pick<TaskReport, 'queryId'> {
  const names = NAMES.get(lease);
  return names === undefined ? NONE : { queryId: lease.jobId, ...names };
}

/** Whoever names another query than that of the lease has mixed up two tasks. */
export function checkNames({ queryId }: TaskReport, { jobId }: LeaseName): void {
  if (queryId !== '' && queryId !== jobId)
    refuse('query_id', `The lease is one of job ${jobId}, not of ${queryId}.`);
}
