/**
 * `command` takes `{command, args?, cwd?, env?, stdin?, timeoutMs?, maxOutputBytes?, okExitCodes?}` and
 * answers `{exitCode, stdout, stderr}`. There is no shell, the environment is what `env` says and PATH, and
 * only commands that the worker was started with may run. An allowed command is trusted with any arguments,
 * and with any variables but those by which a loader, a shell or an interpreter runs other code.
 */
import { stat } from 'node:fs/promises';
import { isAbsolute } from 'node:path';
import type { Json } from '../../core/index.ts';
import type { Clock } from '../../kit/index.ts';
import type { Executor, TaskContext } from '../executor.ts';
import { TaskFailure } from '../failure.ts';
import { Fields } from '../fields.ts';
import { runChild } from './child.ts';
import { findProgram } from './program.ts';
import { LIMIT_FIELDS, processResult, readEnv, readLimits, readOkExitCodes } from './result.ts';
import type { ProcessResult } from './result.ts';

export interface CommandOptions {
  /** Names, which are looked for in PATH, and absolute paths. */
  readonly allowed: readonly string[];
  readonly killGraceMs: number;
}

/**
 * Well-known names by which whoever sets them runs code of his own inside, or instead of, an allowed
 * program: those of loaders, shells, interpreters, git, and programs that others start.
 */
const LOADS_CODE = new RegExp(
  `^(${[
    ...['(LD|DYLD)_.*', 'GCONV_PATH', 'GLIBC_TUNABLES', 'OPENSSL_(CONF|ENGINES|MODULES)'],
    ...[
      'PATH',
      'IFS',
      'ENV',
      'BASH_ENV',
      'BASHOPTS',
      'SHELLOPTS',
      'PS4',
      'PROMPT_COMMAND',
      'ZDOTDIR',
    ],
    ...['NODE_(OPTIONS|PATH|REPL_EXTERNAL_MODULE)', 'npm_config_.*', 'BUN_.*', 'DENO_.*'],
    ...['PYTHON(PATH|HOME|STARTUP|WARNINGS|BREAKPOINT|USERBASE|EXECUTABLE|PLATLIBDIR|INSPECT)'],
    ...[
      'PERL5(OPT|LIB|DB|SHELL)',
      'PERLLIB',
      'PERL_.*',
      'RUBY(OPT|LIB|SHELL|PATH)',
      'GEM_(HOME|PATH)',
    ],
    ...['JAVA_(TOOL_OPTIONS|OPTS)', '_JAVA_OPTIONS', 'JDK_JAVA_OPTIONS', 'CLASSPATH'],
    ...['LUA_(INIT|PATH|CPATH).*', 'PHPRC', 'PHP_INI_SCAN_DIR', 'R_(PROFILE|ENVIRON|LIBS).*'],
    ...[
      'DOTNET_STARTUP_HOOKS',
      '(DOTNET|CORECLR|COR)_.*PROFILER.*',
      'ERL_.*FLAGS',
      'GUILE_LOAD_.*',
    ],
    ...['GIT_(SSH|SSH_COMMAND|EXTERNAL_DIFF|EXEC_PATH|ASKPASS|PROXY_COMMAND|TEMPLATE_DIR)'],
    ...[
      'GIT_CONFIG.*',
      '(GIT_|GIT_SEQUENCE_|HG|SVN_)?EDITOR',
      '(GIT_|MAN)?PAGER',
      'VISUAL',
      'BROWSER',
    ],
    ...['LESS(OPEN|CLOSE)', 'SSH_ASKPASS', 'MAKEFLAGS', 'RSYNC_RSH'],
  ].join('|')})$`,
);

export function commandExecutor(clock: Clock, options: CommandOptions): Executor {
  return {
    name: 'command',
    run: (input, context) => runCommand(input, context, clock, options),
  };
}

async function runCommand(
  input: Json,
  { signal, log }: TaskContext,
  clock: Clock,
  { allowed, killGraceMs }: CommandOptions,
): Promise<ProcessResult> {
  const fields = new Fields(input, ['command', 'args', 'cwd', 'env', ...LIMIT_FIELDS]);
  const name = fields.required('command');
  const cwd = fields.text('cwd');
  const plan = {
    name,
    args: fields.texts('args'),
    env: { ...harmlessEnv(fields), PATH: process.env['PATH'] ?? '' },
    ...readLimits(fields),
    ...(cwd === undefined ? {} : { cwd }),
    killGraceMs,
  };
  const okExitCodes = readOkExitCodes(fields);
  if (!allowed.includes(name)) throw notAllowed(name);
  if (cwd !== undefined) await checkFolder(fields, cwd);
  const end = await runChild({ ...plan, file: await findProgram(name) }, signal, clock);
  return processResult(name, end, okExitCodes, log);
}

function harmlessEnv(fields: Fields): Readonly<Record<string, string>> {
  const env = readEnv(fields);
  for (const name of Object.keys(env)) {
    if (!LOADS_CODE.test(name)) continue;
    fields.refuse(`env/${name}`, 'It could put other code into the program that is allowed.');
  }
  return env;
}

/** A folder that is not there looks like a command that is not there. */
async function checkFolder(fields: Fields, cwd: string): Promise<void> {
  if (!isAbsolute(cwd)) fields.refuse('cwd', 'An absolute path is wanted here.');
  const found = await stat(cwd).catch(() => null);
  if (found?.isDirectory() !== true) {
    throw new TaskFailure('cannot_start', 'retryable', `There is no folder ${cwd} on this worker.`);
  }
}

function notAllowed(name: string): TaskFailure {
  return new TaskFailure(
    'refused_command',
    'fatal',
    `This worker may not run ${name}. A worker started with --allow-command ${name} may.`,
  );
}
