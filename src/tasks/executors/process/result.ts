/** The parts of an input, and of a result, that every executor with a child process has. */
import { textOrJson } from '../fields.ts';
import type { Fields } from '../fields.ts';
import { TaskFailure } from '../failure.ts';
import type { TaskLog } from '../executor.ts';
import type { ChildEnd, ChildPlan } from './child.ts';

export interface ProcessResult {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

export const LIMIT_FIELDS = ['stdin', 'timeoutMs', 'maxOutputBytes', 'okExitCodes'] as const;

const MIB = 2 ** 20;
/** Of each, stdout and stderr. */
const MAX_OUTPUT_BYTES = MIB;
/** More than this no result can hold. */
const MAX_OUTPUT_BYTES_MAX = 8 * MIB;
const TIMEOUT_MS_MAX = 30 * 86_400_000;
const STDERR_IN_MESSAGE = 500;

export function readLimits(
  fields: Fields,
): Pick<ChildPlan, 'stdin' | 'timeoutMs' | 'maxOutputBytes'> {
  return {
    stdin: textOrJson(fields.value('stdin')),
    timeoutMs: fields.whole('timeoutMs', 1, TIMEOUT_MS_MAX) ?? null,
    maxOutputBytes: fields.whole('maxOutputBytes', 0, MAX_OUTPUT_BYTES_MAX) ?? MAX_OUTPUT_BYTES,
  };
}

export function readOkExitCodes(fields: Fields): readonly number[] {
  const codes = fields.list('okExitCodes') ?? [0];
  return codes.map((code, index) => {
    if (typeof code === 'number' && Number.isInteger(code) && code >= 0 && code <= 255) return code;
    return fields.refuse(`okExitCodes/${index}`, 'Must be a whole number from 0 to 255.');
  });
}

/** The names are checked: `=` or NUL in one would make it another variable. */
export function readEnv(fields: Fields): Record<string, string> {
  const env = fields.entries('env').map(([name, value]) => {
    const place = `env/${name}`;
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) fields.refuse(place, 'Not a valid name.');
    if (typeof value === 'number' || typeof value === 'boolean') return [name, String(value)];
    if (typeof value === 'string' && !value.includes('\0')) return [name, value];
    return fields.refuse(place, 'Must be text.');
  });
  return Object.fromEntries(env) as Record<string, string>;
}

export function processResult(
  name: string,
  end: ChildEnd,
  okExitCodes: readonly number[],
  log: TaskLog,
): ProcessResult {
  const { exitCode, killedBy, stdout, stderr, leftOutBytes } = end;
  if (leftOutBytes > 0) {
    log.warn(`${leftOutBytes} bytes of the output of ${name} were omitted; see maxOutputBytes.`);
  }
  if (exitCode !== null && okExitCodes.includes(exitCode)) return { exitCode, stdout, stderr };
  const last = stderr.trim().slice(-STDERR_IN_MESSAGE);
  const how = exitCode === null ? `was killed by ${killedBy}` : `ended with exit code ${exitCode}`;
  throw new TaskFailure(
    exitCode === null ? `signal_${killedBy}` : `exit_${exitCode}`,
    'retryable',
    `${name} ${how}${last === '' ? '.' : `: ${last}`}`,
  );
}
