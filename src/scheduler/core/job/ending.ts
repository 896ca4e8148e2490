/** The three ways in which a task can end, as seen by its dependents. */
import type { Need } from '../document/document.ts';
import type { TaskError } from '../rows.ts';
import type { TaskState } from '../task/chart.ts';

/**
 * `skipped`: a condition did not hold, its own or that of a task that it needs. One that was not run because
 * something that it needs has failed counts as failed, and so does one that was cancelled.
 */
export type TaskEnd = 'succeeded' | 'skipped' | 'failed';

/** The code in the row of a task that was skipped because of a failure. */
const DEPENDENCY_FAILED = 'dependency_failed';

/** Of a task that has ended. */
export function endOf(state: TaskState, error: TaskError | null): TaskEnd {
  if (state === 'succeeded') return 'succeeded';
  return state === 'skipped' && error?.code !== DEPENDENCY_FAILED ? 'skipped' : 'failed';
}

export function isMet(required: Need, end: TaskEnd): boolean {
  if (required === false || end === 'succeeded') return true;
  return required === 'unlessSkipped' && end === 'skipped';
}

/** For a task that is not run because of one that has failed. What is further down names the same one. */
export function dependencyFailed(id: string, state: TaskState, error: TaskError | null): TaskError {
  if (error?.code === DEPENDENCY_FAILED) return error;
  const how = state === 'failed' ? 'failed' : `was ${state}`;
  return { code: DEPENDENCY_FAILED, message: `not run, because task ${id} ${how}` };
}
