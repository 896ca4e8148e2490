import type { JobState, TaskError } from '../scheduler/core/index.ts';
import type { JobShape } from '../scheduler/contract/index.ts';

/** A job that was waited for did not succeed. `code` is that of the failed task's error. */
export class JobError extends Error {
  override readonly name = 'JobError';
  readonly code: string;
  readonly jobId: string;
  readonly state: JobState;
  /** The first task that failed; null when none did, as in a job that was cancelled. */
  readonly task: { readonly id: string; readonly error: TaskError | null } | null;
  /** All that is known of it. */
  readonly job: JobShape;

  constructor(job: JobShape) {
    const failed = job.tasks.find(({ state }) => state === 'failed') ?? null;
    const error = failed?.error ?? job.error;
    super(described(job, failed?.id ?? null, error));
    this.code = error?.code ?? job.state;
    this.jobId = job.id;
    this.state = job.state;
    this.task = failed === null ? null : { id: failed.id, error: failed.error };
    this.job = job;
  }
}

function described(
  { id, name, state }: JobShape,
  task: string | null,
  error: TaskError | null,
): string {
  const job = name === '' || name === id ? `Job ${id}` : `Job ${id} (${name})`;
  const where = task === null ? '' : ` at task ${task}`;
  // An error of a handler has the code `error` by default, which says nothing.
  const code = error === null || error.code === 'error' ? '' : ` (${error.code})`;
  const why = error === null ? '' : `: ${error.message}${code}`;
  return state === 'failed' ? `${job} failed${where}${why}` : `${job} was ${state}${why}`;
}
