import type { TaskLog } from '../../tasks/executors/index.ts';
import type { Attempt } from './attempt.ts';

/** The log of one attempt, within that of its worker. */
export function taskLog(log: TaskLog, { assignment: { jobId, taskId } }: Attempt): TaskLog {
  const named =
    (level: keyof TaskLog) =>
    (message: string): void =>
      log[level](`${jobId}/${taskId}: ${message}`);
  return {
    debug: named('debug'),
    info: named('info'),
    warn: named('warn'),
    error: named('error'),
  };
}
