/**
 * `command` takes `{command, args?, cwd?, env?, stdin?, timeoutMs?, maxOutputBytes?, okExitCodes?}` and
 * answers `{exitCode, stdout, stderr}`. There is no shell, and only commands that the worker was started with
 * may run. An allowed command is trusted with any arguments. Its environment is PATH and what `env` says,
 * and `env` may only name variables that the worker allows: `environment.ts`.
 */
import { stat } from 'node:fs/promises';
import { isAbsolute } from 'node:path';
import type { Json } from '../../../scheduler/core/index.ts';
import type { Clock } from '../../../kit/index.ts';
import type { Executor, TaskContext } from '../executor.ts';
import { TaskFailure } from '../failure.ts';
import { Fields } from '../fields.ts';
import { runChild } from './child.ts';
import { allowedEnvironment } from './environment.ts';
import { findProgram } from './program.ts';
import { LIMIT_FIELDS, processResult, readLimits, readOkExitCodes } from './result.ts';
import type { ProcessResult } from './result.ts';

export interface CommandOptions {
  /** Names, which are looked for in PATH, and absolute paths. */
  readonly allowed: readonly string[];
  /** Variables that a task may set, beyond those that are always allowed: names, or beginnings with `*`. */
  readonly allowedEnv: readonly string[];
  readonly killGraceMs: number;
}

export function commandExecutor(clock: Clock, options: CommandOptions): Executor {
  return {
    name: 'command',
    run: (input, context) => runCommand(input, context, clock, options),
  };
}

async function runCommand(
  input: Json,
  { signal, log, output }: TaskContext,
  clock: Clock,
  { allowed, allowedEnv, killGraceMs }: CommandOptions,
): Promise<ProcessResult> {
  const fields = new Fields(input, ['command', 'args', 'cwd', 'env', ...LIMIT_FIELDS]);
  const name = fields.required('command');
  const cwd = fields.text('cwd');
  const plan = {
    name,
    args: fields.texts('args'),
    env: { ...allowedEnvironment(fields, allowedEnv), PATH: process.env['PATH'] ?? '' },
    ...readLimits(fields),
    ...(cwd === undefined ? {} : { cwd }),
    killGraceMs,
    onOutput: output,
  };
  const okExitCodes = readOkExitCodes(fields);
  if (!allowed.includes(name)) throw notAllowed(name);
  if (cwd !== undefined) await checkFolder(fields, cwd);
  const end = await runChild({ ...plan, file: await findProgram(name) }, signal, clock);
  return processResult(name, end, okExitCodes, log);
}

/** A folder that is not there looks like a command that is not there. */
async function checkFolder(fields: Fields, cwd: string): Promise<void> {
  if (!isAbsolute(cwd)) fields.refuse('cwd', 'Must be an absolute path.');
  const found = await stat(cwd).catch(() => null);
  if (found?.isDirectory() !== true) {
    throw new TaskFailure(
      'cannot_start',
      'retryable',
      `The folder ${cwd} does not exist on this worker.`,
    );
  }
}

function notAllowed(name: string): TaskFailure {
  return new TaskFailure(
    'refused_command',
    'fatal',
    `This worker may not run ${name}. Start the worker with --allow-command ${name} to allow it.`,
  );
}
