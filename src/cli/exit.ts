import { CommanderError } from 'commander';
import { type ErrorCode, isMillraceError } from '../scheduler/core/index.ts';

/** What a script that calls `millrace` may rely on. */
export const exit = {
  done: 0,
  workFailed: 1,
  wrongUse: 2,
  unreachable: 3,
  interrupted: 130,
} as const;

export type ExitCode = (typeof exit)[keyof typeof exit];

const wrongUse: ReadonlySet<ErrorCode> = new Set([
  'bad_input',
  'bad_setting',
  'too_large',
  'not_found',
  'unauthenticated',
  'forbidden',
  'bad_query',
  'table_missing',
  'schema_mismatch',
  'path_refused',
]);
const unreachable: ReadonlySet<ErrorCode> = new Set([
  'not_leader',
  'unreachable',
  'store_unavailable',
  'loading',
]);

export function exitCodeOf(error: unknown): ExitCode {
  if (error instanceof CommanderError) return error.exitCode === 0 ? exit.done : exit.wrongUse;
  if (!isMillraceError(error)) return exit.workFailed;
  if (wrongUse.has(error.code)) return exit.wrongUse;
  if (unreachable.has(error.code)) return exit.unreachable;
  return exit.workFailed;
}
