/** `millrace worker` as a part of one command, to be drained or killed. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { MillraceError } from '../scheduler/core/index.ts';
import { deferred, endProcess, systemClock } from '../kit/index.ts';

const COMMAND = fileURLToPath(new URL('../../bin/millrace.js', import.meta.url));
/** Everything is done when it is asked to end: a worker that takes longer hangs. */
const END_MS = 5_000;

export interface WorkerProcessOptions {
  readonly id: string;
  /** Of `millrace worker`, besides its name. */
  readonly flags: readonly string[];
  readonly folder: string;
  /** What it and its handlers print. */
  readonly print: (line: string) => void;
}

export class WorkerProcess {
  readonly id: string;
  /** The signal that ended it, or its exit code. */
  readonly exited: Promise<NodeJS.Signals | number>;
  readonly #child: ChildProcess;
  readonly #ready = deferred();

  constructor({ id, flags, folder, print }: WorkerProcessOptions) {
    this.id = id;
    this.#child = spawn(process.execPath, [COMMAND, 'worker', '--node-id', id, ...flags], {
      cwd: folder,
      env: withoutSettings(process.env),
      // The channel tells it when this process is gone.
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      // A group of its own: Ctrl-C is for us.
      detached: true,
    });
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      if (stream === null) continue;
      createInterface({ input: stream }).on('line', (line) => {
        // The story tells who is there.
        if (!line.startsWith('millrace worker ready ')) print(line);
      });
    }
    this.#child.on('message', (message) => {
      if (message === 'ready') this.#ready.resolve();
    });
    this.exited = once(this.#child, 'exit').then(
      ([code, signal]) => (signal ?? code) as NodeJS.Signals | number,
      // It could not even be started.
      () => 1,
    );
    void this.exited.then((end) => this.#ready.reject(cannotRun(id, end)));
    this.#ready.promise.catch(() => {});
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** Rejects when it ends before it is ready. */
  get ready(): Promise<void> {
    return this.#ready.promise;
  }

  /** Without a warning. */
  kill(): void {
    this.#child.kill('SIGKILL');
  }

  /** Together with the processes that it has started, while the number of its group is certain to be its own. */
  killGroup(): void {
    const { pid, exitCode, signalCode } = this.#child;
    if (pid === undefined || exitCode !== null || signalCode !== null) return;
    process.kill(-pid, 'SIGKILL');
  }

  stop(): Promise<void> {
    return endProcess(this.#child, END_MS, systemClock);
  }
}

/** Settings for the user's own cluster are not meant for it. */
function withoutSettings(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const kept = Object.entries(environment).filter(([name]) => !name.startsWith('MILLRACE_'));
  return Object.fromEntries(kept);
}

function cannotRun(id: string, end: NodeJS.Signals | number): MillraceError {
  return new MillraceError({
    code: 'bad_setting',
    what: `The worker ${id} ended before it was ready (${typeof end === 'number' ? `exit code ${end}` : end}).`,
    todo: 'Its output is above.',
  });
}
