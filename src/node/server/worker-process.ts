/**
 * The worker of a node that executes tasks itself: a process of its own, so that user code never
 * shares a thread with the coordinator and a crash in it costs tasks, not the node. It speaks to the
 * leader like any other worker. It ends with its parent, and is started again when it ends by itself.
 */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { MillraceError } from '../../scheduler/core/index.ts';
import { deferred, endProcess } from '../../kit/index.ts';
import type { Clock, Deferred } from '../../kit/index.ts';

export interface WorkerProcessOptions {
  readonly clock: Clock;
  /** The flags of `millrace worker`. */
  readonly flags: readonly string[];
  readonly environment: NodeJS.ProcessEnv;
  /** How long it may take to finish what it has. */
  readonly drainMs: number;
  readonly say: (line: string) => void;
  /** What it and its handlers print, line by line; without it they share this process's stderr. */
  readonly print?: ((line: string) => void) | undefined;
  /** It has to show that it can run: if it ends before it is ready, it is not started again. */
  readonly isOnTrial?: boolean;
}

/** By its number: what handlers print on stdout goes there too, because stdout is for answers. */
const STDERR = 2;
const COMMAND = fileURLToPath(new URL('../../../bin/millrace.js', import.meta.url));
const RESTART_MS = [200, 1_000, 5_000, 15_000] as const;
/** A worker that lived this long starts again without delay. */
const STEADY_MS = 60_000;
/** Beyond its own deadline a worker that still lives hangs. */
const HANG_MS = 5_000;
/** A worker whose thread is free handles a signal at once. */
const HEARD_MS = 10_000;
/** Mistakes in modules or settings: a restart would only repeat them. */
const WRONG_USE = 2;
/** It ended in order without being asked to by this node: it was drained. */
const DRAINED = 0;

export class WorkerProcess {
  readonly #options: WorkerProcessOptions;
  readonly #first: Deferred<void> = deferred();
  #child: ChildProcess | null = null;
  #leaving: Deferred<void> = deferred();
  #startedAtMs = 0;
  #restarts = 0;
  #wasReady = false;
  #isStopped = false;
  #cancelRestart: () => void = () => {};

  constructor(options: WorkerProcessOptions) {
    this.#options = options;
    // It may fail without a waiting caller.
    this.#first.promise.catch(() => {});
  }

  /** Settles when it is registered for the first time; rejects when it cannot run at all. */
  get ready(): Promise<void> {
    return this.#first.promise;
  }

  /**
   * Settles when it was stopped and starts nothing more. One whose thread is blocked cannot say so; nor
   * can it start anything meanwhile, so it is not waited for very long.
   */
  async startsNoMore(): Promise<void> {
    const leaving = this.#leaving;
    const cancel = this.#options.clock.after(HEARD_MS, leaving.resolve);
    await leaving.promise;
    cancel();
  }

  start(): void {
    const { flags, environment, clock, print } = this.#options;
    this.#startedAtMs = clock.monotonicMs();
    const said = print === undefined ? STDERR : 'pipe';
    const child = spawn(process.execPath, [COMMAND, 'worker', ...flags], {
      // It has no business with the database. The channel tells it when its parent is gone.
      env: { ...environment, MILLRACE_DATABASE: '' },
      stdio: ['ignore', said, said, 'ipc'],
    });
    this.#child = child;
    // One that was asked to leave and did not get to it is followed by one that knows nothing of that.
    const leaving = deferred();
    this.#leaving = leaving;
    for (const stream of [child.stdout, child.stderr]) {
      if (stream !== null) printLines(stream, print);
    }
    child.on('message', (message) => {
      if (message === 'leaving') leaving.resolve();
      if (message !== 'ready') return;
      this.#wasReady = true;
      this.#first.resolve();
    });
    child.on('error', (error) => this.#ended(child, error.message, null));
    child.on('exit', (code, signal) => {
      this.#ended(child, signal ?? `exit code ${code}`, code);
    });
  }

  /** Drains it; one that does not end in time is killed. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancelRestart();
    if (!this.#wasReady) this.#first.reject(stopped());
    const child = this.#child;
    if (child !== null) {
      await endProcess(child, this.#options.drainMs + HANG_MS, this.#options.clock);
    }
    this.#leaving.resolve();
  }

  #ended(child: ChildProcess, why: string, code: number | null): void {
    if (this.#child !== child) return;
    this.#child = null;
    if (this.#isStopped) return;
    const { clock, say } = this.#options;
    const isHopeless = code === WRONG_USE || this.#options.isOnTrial === true;
    if (isHopeless && !this.#wasReady) return this.#first.reject(cannotRun());
    if (code === DRAINED) {
      say(
        'The worker of this node was drained and has exited. It starts again when the node restarts.',
      );
      return;
    }
    const isSteady = clock.monotonicMs() - this.#startedAtMs > STEADY_MS;
    this.#restarts = isSteady ? 0 : this.#restarts + 1;
    const waitMs = RESTART_MS[Math.min(this.#restarts, RESTART_MS.length - 1)] ?? 0;
    say(`The worker of this node has ended (${why}); restarting it in ${waitMs} ms.`);
    this.#cancelRestart = clock.after(waitMs, () => this.start());
  }
}

function printLines(stream: Readable, print: WorkerProcessOptions['print']): void {
  // A line that is cut off by the end of the process is a line.
  createInterface({ input: stream, crlfDelay: Infinity }).on('line', (line) => print?.(line));
}

function stopped(): MillraceError {
  return new MillraceError({
    code: 'shutting_down',
    what: 'The worker of this node was stopped before it was ready.',
  });
}

function cannotRun(): MillraceError {
  return new MillraceError({
    code: 'bad_setting',
    what: 'The worker of this node cannot start with these modules and settings; its output is above.',
    todo: 'Fix them, or start the node with --slots 0.',
  });
}
