/** What a process says of itself: one line each, for people or for machines. */

const SEVERITIES = ['debug', 'info', 'warn', 'error'] as const;
type Severity = (typeof SEVERITIES)[number];

export interface ProcessLogOptions {
  readonly format: 'text' | 'json';
  /** Lines below it are left out. */
  readonly level: Severity;
  /** The time as text. */
  readonly now: () => string;
  readonly write: (text: string) => void;
  /** Fields of every line in JSON. */
  readonly about?: Readonly<Record<string, string | number>>;
}

export type Say = (
  message: string,
  severity?: Severity,
  fields?: Readonly<Record<string, unknown>>,
) => void;

export function processLog(options: ProcessLogOptions): Say {
  const { format, level, now, write, about = {} } = options;
  const least = SEVERITIES.indexOf(level);
  return (message, severity = 'info', fields) => {
    if (SEVERITIES.indexOf(severity) < least) return;
    const at = now();
    if (format === 'json') {
      write(`${jsonLine({ at, level: severity, message, ...about }, fields)}\n`);
      return;
    }
    // Messages may quote what users have written: nothing of it may steer the terminal.
    const plain = message.replaceAll(/[^\P{Cc}\n\t]/gu, '\uFFFD');
    write(`${at} ${severity === 'info' ? '' : `${severity} `}${plain}\n`);
  };
}

function jsonLine(line: object, fields: Readonly<Record<string, unknown>> | undefined): string {
  if (fields === undefined) return JSON.stringify(line);
  try {
    return JSON.stringify({ ...line, fields });
  } catch {
    // Handlers log anything.
    return JSON.stringify(line);
  }
}
