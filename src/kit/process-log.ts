/** The log of a process: one line per entry, as text or JSON. */

const SEVERITIES = ['debug', 'info', 'warn', 'error'] as const;
type Severity = (typeof SEVERITIES)[number];

/** Fields of every line in JSON. The name of a node may be known later than its first lines. */
export interface LogAbout {
  readonly pid: number;
  node?: string;
}

export interface ProcessLogOptions {
  readonly format: 'text' | 'json';
  /** Lines below it are left out. */
  readonly level: Severity;
  /** The time as text. */
  readonly now: () => string;
  readonly write: (text: string) => void;
  readonly about?: LogAbout;
}

export type Say = (
  message: string,
  severity?: Severity,
  fields?: Readonly<Record<string, unknown>>,
) => void;

export function processLog(options: ProcessLogOptions): Say {
  const { format, level, now, write, about } = options;
  const least = SEVERITIES.indexOf(level);
  return (message, severity = 'info', fields) => {
    if (SEVERITIES.indexOf(severity) < least) return;
    const at = now();
    if (format === 'json') {
      write(`${jsonLine({ at, level: severity, message, ...about }, fields)}\n`);
      return;
    }
    // Messages may quote what users have written: nothing of it may steer the terminal.
    const text = `${message}${textOf(fields)}`;
    const plain = text.replaceAll(/[^\P{Cc}\n\t]/gu, '\uFFFD');
    write(`${at} ${severity === 'info' ? '' : `${severity} `}${plain}\n`);
  };
}

/** Fields behind a message for people. Handlers log anything: what is not JSON is left out. */
export function textOf(fields: Readonly<Record<string, unknown>> | undefined): string {
  if (fields === undefined) return '';
  try {
    return `  ${JSON.stringify(fields)}`;
  } catch {
    return '';
  }
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
