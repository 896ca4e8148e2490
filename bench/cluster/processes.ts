/** Processes of a benchmark: started, waited for, ended, whatever becomes of the benchmark itself. */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { guard } from '../../test/rig/cluster/guard.ts';

/** For profiles: `BENCH_NODE_FLAGS="--cpu-prof --cpu-prof-dir=/tmp/profiles"`. */
const NODE_FLAGS = (process.env['BENCH_NODE_FLAGS'] ?? '').split(' ').filter(Boolean);
/** `BENCH_STDERR=1` shows what the processes have to say; else only the last words of one that failed. */
const SHOWS_STDERR = process.env['BENCH_STDERR'] !== undefined;

const MILLRACE = fileURLToPath(new URL('../../bin/millrace.js', import.meta.url));
const LAST_LINES = 20;
/** Longer than the time that a node gives what runs on it. */
const END_MS = 40_000;

type Environment = Readonly<Record<string, string>>;

const living = new Set<BenchProcess>();

export class BenchProcess {
  readonly #child: ChildProcess;
  readonly #release: () => void;

  private constructor(child: ChildProcess) {
    this.#child = child;
    this.#release = guard(this.pid);
    living.add(this);
  }

  /** What a benchmark that failed has left behind. */
  static async crashAll(): Promise<void> {
    for (const left of [...living]) await left.crash();
  }

  /** Settles when it prints a line that begins with `ready`; answers that line too. */
  static async start(
    command: readonly string[],
    ready: string,
    environment: Environment = {},
  ): Promise<{ readonly process: BenchProcess; readonly line: string }> {
    const child = spawn(process.execPath, command, {
      env: { ...process.env, ...environment },
      stdio: ['ignore', 'pipe', SHOWS_STDERR ? 'inherit' : 'pipe', 'ipc'],
      // A group of its own: what happens to it happens to its own children too.
      detached: true,
    });
    const started = new BenchProcess(child);
    const lastWords = tailOf(child);
    if (child.stdout === null) throw new Error('a pipe was asked for');
    for await (const line of createInterface({ input: child.stdout })) {
      if (!line.startsWith(ready)) continue;
      child.stdout.resume();
      return { process: started, line };
    }
    await started.crash();
    const words = [`${command.join(' ')} ended before it was ready`, ...lastWords];
    throw new Error(words.join('\n'));
  }

  static millrace(
    words: readonly string[],
    ready: string,
    environment: Environment = {},
  ): ReturnType<typeof BenchProcess.start> {
    return BenchProcess.start([...NODE_FLAGS, MILLRACE, ...words], ready, environment);
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  get hasEnded(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  /** To it and to what it has started. */
  kill(signal: NodeJS.Signals): void {
    if (this.hasEnded) return;
    try {
      process.kill(-this.pid, signal);
    } catch {
      // Gone in the meantime.
    }
  }

  /** As if the power was cut. */
  async crash(): Promise<void> {
    await this.#endedAfter('SIGKILL');
  }

  async end(): Promise<void> {
    this.kill('SIGCONT');
    const tooLong = setTimeout(() => this.kill('SIGKILL'), END_MS);
    await this.#endedAfter('SIGTERM');
    clearTimeout(tooLong);
  }

  /** What a process of ours answers to a message. */
  async ask<Answer>(question: string): Promise<Answer> {
    const answered = once(this.#child, 'message');
    this.#child.send(question);
    const [answer] = (await answered) as [Answer];
    return answer;
  }

  async #endedAfter(signal: NodeJS.Signals): Promise<void> {
    if (!this.hasEnded) {
      const exited = once(this.#child, 'exit');
      // Only the process itself: a node tells its own worker when to end.
      if (signal === 'SIGTERM') this.#child.kill(signal);
      else this.kill(signal);
      await exited;
    }
    this.#release();
    living.delete(this);
  }
}

/** The last lines that it wrote for people. */
function tailOf(child: ChildProcess): readonly string[] {
  const lines: string[] = [];
  if (child.stderr === null) return lines;
  createInterface({ input: child.stderr }).on('line', (line) => {
    lines.push(line);
    if (lines.length > LAST_LINES) lines.shift();
  });
  return lines;
}
