/** Processes of a benchmark: started, waited for, ended. */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

/** For profiles: `BENCH_NODE_FLAGS="--cpu-prof --cpu-prof-dir=/tmp/profiles"`. */
const NODE_FLAGS = (process.env['BENCH_NODE_FLAGS'] ?? '').split(' ').filter(Boolean);

const MILLRACE = fileURLToPath(new URL('../../bin/millrace.js', import.meta.url));

export class BenchProcess {
  readonly child: ChildProcess;

  private constructor(child: ChildProcess) {
    this.child = child;
  }

  /** Settles when it prints a line that begins with `ready`; answers that line too. */
  static async start(
    command: readonly string[],
    ready: string,
    environment: Readonly<Record<string, string>> = {},
  ): Promise<{ readonly process: BenchProcess; readonly line: string }> {
    const child = spawn(process.execPath, command, {
      env: { ...process.env, ...environment },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const lines = createInterface({ input: child.stdout });
    for await (const line of lines) {
      if (!line.startsWith(ready)) continue;
      child.stdout.resume();
      return { process: new BenchProcess(child), line };
    }
    throw new Error(`${command.join(' ')} ended before it was ready`);
  }

  static millrace(
    words: readonly string[],
    ready: string,
    environment: Readonly<Record<string, string>> = {},
  ): ReturnType<typeof BenchProcess.start> {
    return BenchProcess.start([...NODE_FLAGS, MILLRACE, ...words], ready, environment);
  }

  kill(signal: NodeJS.Signals): void {
    this.child.kill(signal);
  }

  async end(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const exited = once(this.child, 'exit');
    this.child.kill('SIGTERM');
    await exited;
  }
}
