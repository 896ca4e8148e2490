/** Whether a row says the same as the one before it, in the columns that are the same in most rows of a commit. */
import type { JobRow, TaskRow, TaskSpecRow } from '../core/index.ts';

export function isLikeJob(job: JobRow, before: JobRow): boolean {
  return (
    job.name === before.name &&
    job.priority === before.priority &&
    job.idempotencyKey === before.idempotencyKey &&
    job.maxParallel === before.maxParallel &&
    job.onFailure === before.onFailure &&
    job.totalMs === before.totalMs &&
    job.scheduleId === before.scheduleId &&
    job.output === before.output &&
    job.runAt === before.runAt &&
    job.options === before.options &&
    job.state === before.state &&
    job.run === before.run &&
    job.taskCount === before.taskCount &&
    job.stopping === before.stopping &&
    job.error === before.error
  );
}

export function isLikeSpec(spec: TaskSpecRow, before: TaskSpecRow): boolean {
  return (
    spec.id === before.id &&
    spec.executor === before.executor &&
    spec.priority === before.priority &&
    spec.parentNo === before.parentNo &&
    spec.idempotencyKey === before.idempotencyKey &&
    spec.options === before.options
  );
}

export function isLikeTask(task: TaskRow, before: TaskRow): boolean {
  return (
    task.state === before.state &&
    task.run === before.run &&
    task.attempt === before.attempt &&
    task.failures === before.failures &&
    task.losses === before.losses &&
    task.term === before.term &&
    task.stopping === before.stopping &&
    task.suspended === before.suspended &&
    task.waits === before.waits &&
    task.progress === before.progress &&
    task.error === before.error
  );
}
