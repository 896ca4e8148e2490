/**
 * A `millrace` process of a test: started, listened to, killed, paused. It leads a process group of its
 * own, so that what happens to it happens to the processes that it starts as well, and nothing of it
 * outlives the test: not when it is paused, and not when the test runner itself is killed.
 */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { within } from './deadline.ts';
import { guard } from './guard.ts';
import { Output } from './output.ts';

const BIN = fileURLToPath(new URL('../../../bin/millrace.js', import.meta.url));

const READY_MS = 60_000;
const END_MS = 15_000;
const LAST_WORDS_MS = 500;

export interface ProcessOptions {
  /** Added to the environment of the test. */
  readonly environment?: Readonly<Record<string, string>>;
  /** The Node.js that runs it, if not that of the test. */
  readonly node?: string;
  /** What runs instead of `millrace`. */
  readonly script?: string;
  /** Where it runs, if not where the test does. */
  readonly folder?: string;
}

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** The process alone, or its children too. */
export type Whom = 'group' | 'process';

export class TestProcess {
  readonly output: Output = new Output();
  readonly exited: Promise<Exit>;
  readonly #child: ChildProcess;
  readonly #name: string;
  /** Nobody holds its pipes any more. */
  readonly #silent: Promise<unknown>;
  #exit: Exit | null = null;

  private constructor(child: ChildProcess, name: string, exited: Promise<Exit>) {
    this.#child = child;
    this.#name = name;
    this.#silent = once(child, 'close');
    this.exited = exited.then((exit) => (this.#exit = exit));
    if (child.stdout !== null) this.output.read('stdout', child.stdout);
    if (child.stderr !== null) this.output.read('stderr', child.stderr);
  }

  /** Ends with the test that starts it. */
  static start(args: readonly string[], options: ProcessOptions = {}): TestProcess {
    const child = spawn(options.node ?? process.execPath, [options.script ?? BIN, ...args], {
      env: { ...process.env, ...options.environment },
      ...(options.folder === undefined ? {} : { cwd: options.folder }),
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    });
    const exited = once(child, 'exit').then(
      ([code, signal]: unknown[]) => ({ code, signal }) as Exit,
      // It could not even be started.
      (): Exit => ({ code: -1, signal: null }),
    );
    const started = new TestProcess(child, `millrace ${args.join(' ')}`, exited);
    const release = guard(started.pid);
    onTestFinished(async () => {
      started.kill('SIGKILL');
      await started.exited;
      release();
    });
    return started;
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  get isRunning(): boolean {
    return this.#exit === null;
  }

  /** The first line that matches; fails, with all that was said, at the deadline or when it ends. */
  async line(pattern: RegExp, limitMs: number = READY_MS): Promise<RegExpExecArray> {
    const ended = this.exited.then(async ({ code, signal }) => {
      // Its last words may still be on their way; a child that has its pipes may keep them open.
      await within(LAST_WORDS_MS, this.#silent, () => '').catch(() => {});
      throw new Error(
        `${this.#name} ended (${signal ?? code}) before ${pattern}\n${this.output.text()}`,
      );
    });
    const found = Promise.race([this.output.line(pattern), ended]);
    return within(
      limitMs,
      found,
      () => `a line ${pattern} of ${this.#name}\n${this.output.text()}`,
    );
  }

  /**
   * What kills or stops a machine hits every process on it; what asks a program to end goes to the
   * program. Does nothing when nobody is left.
   */
  kill(signal: NodeJS.Signals, whom: Whom = isOfMachine(signal) ? 'group' : 'process'): void {
    if (this.#child.pid === undefined) return;
    if (whom === 'process') this.#child.kill(signal);
    else signalGroup(this.#child.pid, signal);
  }

  pause(): void {
    this.kill('SIGSTOP');
  }

  resume(): void {
    this.kill('SIGCONT');
  }

  /** Ends it in order, which is also what lets it leave its record of coverage. */
  async stop(limitMs: number = END_MS): Promise<Exit> {
    this.kill('SIGTERM');
    return within(limitMs, this.exited, () => `the end of ${this.#name}\n${this.output.text()}`);
  }

  /** Resolves when it is gone, with all its children asked to go as well. */
  async crash(): Promise<void> {
    this.kill('SIGKILL');
    await this.exited;
  }
}

function isOfMachine(signal: NodeJS.Signals): boolean {
  return signal === 'SIGKILL' || signal === 'SIGSTOP' || signal === 'SIGCONT';
}

function signalGroup(group: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-group, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
