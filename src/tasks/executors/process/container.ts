/**
 * `container` takes `{image, command?, args?, env?, mounts?, network?, memory?, cpus?, workdir?, user?}` and
 * the limits of `command`, runs the image with a docker-compatible command line, and answers `{exitCode,
 * stdout, stderr}`. `command` replaces the entrypoint of the image. Without `network` there is none. A mount
 * is `{source, target, readOnly?}`, read-only unless it says otherwise, and lies in a root of the worker.
 *
 * The container is removed at its end. Its name comes from job, task and fence; what an attempt left behind
 * because its worker died is removed by the next attempt on the same machine.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Json } from '../../../scheduler/core/index.ts';
import type { Clock } from '../../../kit/index.ts';
import type { Executor, TaskContext } from '../executor.ts';
import { TaskFailure } from '../failure.ts';
import { runChild } from './child.ts';
import type { ChildEnd, ChildPlan } from './child.ts';
import { containerName, labelsOf, ownerLabels, readContainer } from './container-plan.ts';
import type { ContainerPlan } from './container-plan.ts';
import { findProgram } from './program.ts';
import { processResult } from './result.ts';
import type { ProcessResult } from './result.ts';

export interface ContainerOptions {
  /** `docker`, `podman` or another that takes the same words; a name or an absolute path. */
  readonly cli: string;
  /** Folders below which a mount may lie. */
  readonly roots: readonly string[];
  readonly killGraceMs: number;
}

/** What the command line itself needs to find its engine. Nothing of a task gets in here. */
const CLI_VARIABLES =
  /^(PATH|HOME|TMPDIR|XDG_RUNTIME_DIR|XDG_CONFIG_HOME|DOCKER_.*|CONTAINER_HOST|CONTAINERS_.*)$/;
/** By convention the engine's own failure, not that of what it runs. */
const ENGINE_FAILED = 125;
const HELP_MS = 30_000;
const HELP_BYTES = 65_536;

export function containerExecutor(clock: Clock, options: ContainerOptions): Executor {
  return {
    name: 'container',
    run: (input, context) => runContainer(input, context, clock, options),
  };
}

async function runContainer(
  input: Json,
  context: TaskContext,
  clock: Clock,
  options: ContainerOptions,
): Promise<ProcessResult> {
  const plan = await readContainer(input, options.roots);
  const engine = new Engine(await findProgram(options.cli), clock, options);
  const folder = await mkdtemp(join(tmpdir(), 'millrace-container-'));
  try {
    // Not as arguments: every user of the machine can read those.
    const envFile = join(folder, 'env');
    await writeFile(envFile, plan.env.join(''), { mode: 0o600 });
    if (context.fence > 1) await engine.removeEarlier(context);
    const end = await engine.run(plan, envFile, context);
    if (end.exitCode === ENGINE_FAILED && !plan.okExitCodes.includes(ENGINE_FAILED)) {
      throw engineFailed(plan.image, end.stderr);
    }
    return processResult(plan.image, end, plan.okExitCodes, context.log);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

class Engine {
  readonly #file: string;
  readonly #clock: Clock;
  readonly #options: ContainerOptions;

  constructor(file: string, clock: Clock, options: ContainerOptions) {
    this.#file = file;
    this.#clock = clock;
    this.#options = options;
  }

  async run(plan: ContainerPlan, envFile: string, context: TaskContext): Promise<ChildEnd> {
    const name = containerName(context);
    const args = [
      ...['run', '--rm', '--init', '--name', name, ...labelsOf(context), '--env-file', envFile],
      ...(plan.limits.stdin === null ? [] : ['--interactive']),
      ...plan.options,
      ...[plan.image, ...plan.args],
    ];
    let isStopped = false;
    const onStop = (): void => {
      isStopped = true;
      // The end of the command line says how it went.
      this.#say('kill', name).catch(() => {});
    };
    try {
      const child = { ...this.#plan(args, plan.limits, onStop), onOutput: context.output };
      return await runChild(child, context.signal, this.#clock);
    } finally {
      // It may have been created after it was to be killed: then it runs without being waited for.
      if (isStopped) await this.#say('rm', '--force', name).catch(() => {});
    }
  }

  /** An earlier attempt of this task whose worker is gone may still run here. */
  async removeEarlier(context: TaskContext): Promise<void> {
    const { stdout } = await this.#say('ps', '--all', '--quiet', ...ownerLabels(context));
    const ids = stdout.split(/\s+/).filter((id) => /^[A-Za-z0-9]+$/.test(id));
    if (ids.length > 0) await this.#say('rm', '--force', ...ids);
  }

  /** Not stopped with the task: it is what ends it. */
  #say(...args: readonly string[]): Promise<ChildEnd> {
    const limits = { stdin: null, timeoutMs: HELP_MS, maxOutputBytes: HELP_BYTES };
    return runChild(this.#plan(args, limits), new AbortController().signal, this.#clock);
  }

  #plan(args: readonly string[], limits: ContainerPlan['limits'], onStop?: () => void): ChildPlan {
    const env = Object.entries(process.env).filter(([name]) => CLI_VARIABLES.test(name));
    return {
      name: this.#options.cli,
      file: this.#file,
      args,
      env: Object.fromEntries(env) as Record<string, string>,
      ...limits,
      killGraceMs: this.#options.killGraceMs,
      ...(onStop === undefined ? {} : { onStop }),
    };
  }
}

function engineFailed(image: string, stderr: string): TaskFailure {
  const why = stderr.trim().slice(-500);
  return new TaskFailure(
    'container_engine',
    'retryable',
    `The container engine could not run ${image}${why === '' ? '.' : `: ${why}`}`,
  );
}
