import type { LogFields, TaskLog } from '../../tasks/executors/index.ts';
import type { Attempt } from './attempt.ts';
import type { LogSender } from './log-sender.ts';

/** The log of one attempt: kept with its job, and shown in that of its worker, both without secrets. */
export function taskLog(log: TaskLog, sender: LogSender, attempt: Attempt): TaskLog {
  const { jobId, taskId } = attempt.assignment;
  const named =
    (level: keyof TaskLog) =>
    (message: unknown, fields?: LogFields): void => {
      // Handlers are not always typed.
      const text = typeof message === 'string' ? message : String(message);
      const clean = sender.add(attempt, level, text, fields);
      log[level](`${jobId}/${taskId}: ${clean.text}`, clean.fields);
    };
  return {
    debug: named('debug'),
    info: named('info'),
    warn: named('warn'),
    error: named('error'),
  };
}
