/** A node of the local cluster: a `millrace serve` of its own, started again when it was killed. */
import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { MillraceError } from '../../scheduler/core/index.ts';
import { type Deferred, deferred, endProcess, systemClock } from '../../kit/index.ts';

const COMMAND = fileURLToPath(new URL('../../../bin/millrace.js', import.meta.url));
/** Whoever kills a leader wants to see what happens before it is back. */
const RESTART_MS = 5_000;
const HANG_MS = 5_000;

export interface ChildOptions {
  readonly name: string;
  readonly args: readonly string[];
  readonly environment: NodeJS.ProcessEnv;
  readonly drainMs: number;
  readonly print: (line: string) => void;
}

export interface ChildAddresses {
  readonly url: string;
  readonly grpc: string;
}

export class ClusterChild {
  readonly #options: ChildOptions;
  readonly #first: Deferred<ChildAddresses> = deferred();
  #child: ChildProcess | null = null;
  #wasReady = false;
  #isStopped = false;
  #cancelRestart: () => void = () => {};

  constructor(options: ChildOptions) {
    this.#options = options;
    this.#first.promise.catch(() => {});
  }

  /** Rejects when it ends before it is ready for the first time. */
  start(): Promise<ChildAddresses> {
    this.#spawn();
    return this.#first.promise;
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancelRestart();
    if (!this.#wasReady) this.#first.reject(cannotRun(this.#options.name, 'stopped'));
    const child = this.#child;
    if (child === null) return;
    await endProcess(child, this.#options.drainMs + HANG_MS, systemClock);
  }

  #spawn(): void {
    const { args, environment, print } = this.#options;
    const child = spawn(process.execPath, [COMMAND, ...args, '--json'], {
      env: environment,
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      // A group of its own: Ctrl-C is for us, and workers go first.
      detached: true,
    });
    this.#child = child;
    eachLine(child.stdout, (line) => this.#answered(line));
    eachLine(child.stderr, print);
    child.on('error', (error) => this.#ended(child, error.message));
    child.on('exit', (code, signal) => this.#ended(child, signal ?? `exit code ${code}`));
  }

  #answered(line: string): void {
    const { ready, url, grpc } = parsed(line);
    if (ready !== true || url === undefined || grpc === undefined) return;
    this.#wasReady = true;
    this.#first.resolve({ url, grpc });
  }

  #ended(child: ChildProcess, why: string): void {
    if (this.#child !== child) return;
    this.#child = null;
    if (this.#isStopped) return;
    const { name, print } = this.#options;
    if (!this.#wasReady) return this.#first.reject(cannotRun(name, why));
    print(`has ended (${why}); restarting in ${RESTART_MS / 1_000} s.`);
    this.#cancelRestart = systemClock.after(RESTART_MS, () => this.#spawn());
  }
}

function eachLine(stream: Readable | null, take: (line: string) => void): void {
  if (stream !== null) createInterface({ input: stream, crlfDelay: Infinity }).on('line', take);
}

function parsed(line: string): { ready?: unknown; url?: string; grpc?: string } {
  try {
    return JSON.parse(line) as { ready?: unknown; url?: string; grpc?: string };
  } catch {
    return {};
  }
}

function cannotRun(name: string, why: string): MillraceError {
  return new MillraceError({
    code: 'bad_setting',
    what: `${name} ended before it was ready (${why}); its output is above.`,
    todo: 'Fix the cause and start again; --port 0 and --grpc-port 0 choose free ports.',
  });
}
