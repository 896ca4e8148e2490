/** Lines of a log as rows of one height: what has several lines takes several rows. */
import type { LogShape } from '../../../src/scheduler/contract/index.ts';

export const LEVELS = ['debug', 'info', 'warn', 'error'] as const;

export interface LogRow {
  readonly line: LogShape;
  /** 0 for the row that also has time, level and task. */
  readonly no: number;
  readonly text: string;
}

export interface LogFilter {
  /** Found anywhere in a line, in any case. */
  readonly search: string;
  /** The lowest that is shown. */
  readonly level: LogShape['level'];
}

/** A stack trace is read as one; what is longer is opened. */
const ROWS_PER_LINE_MAX = 60;

export function logRows(
  lines: readonly LogShape[],
  { search, level }: LogFilter,
): { readonly rows: readonly LogRow[]; readonly found: number } {
  const wanted = search.toLowerCase();
  const lowest = LEVELS.indexOf(level);
  const rows: LogRow[] = [];
  let found = 0;
  for (const line of lines) {
    if (LEVELS.indexOf(line.level) < lowest) continue;
    if (wanted !== '' && !logText(line).toLowerCase().includes(wanted)) continue;
    found += 1;
    const texts = line.message.split('\n').slice(0, ROWS_PER_LINE_MAX);
    for (const [no, text] of texts.entries()) rows.push({ line, no, text });
  }
  return { rows, found };
}

/** A line as text, with everything that is known of it. */
export function logText({ at, level, task, attempt, message, fields }: LogShape): string {
  const more = fields === null ? '' : ` ${JSON.stringify(fields)}`;
  return `${at} ${level} ${task}${attempt > 1 ? ` attempt ${attempt}` : ''}: ${message}${more}`;
}
