import { textOf } from '../kit/index.ts';
import type { TaskLog } from '../tasks/executors/index.ts';

/** Where lines for people go. `console` fits. */
export type LogOption = TaskLog;

const line =
  (level: keyof TaskLog) =>
  (message: string, fields?: Readonly<Record<string, unknown>>): void =>
    void process.stderr.write(`${new Date().toISOString()} ${level} ${message}${textOf(fields)}\n`);

/** Standard error, without debug messages. */
export const consoleLog: TaskLog = {
  debug: () => {},
  info: line('info'),
  warn: line('warn'),
  error: line('error'),
};
