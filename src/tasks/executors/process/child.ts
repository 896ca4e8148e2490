/** One child process with limits: in a group of its own, which ends with it, in time or by force. */
import { spawn } from 'node:child_process';
import type { ChildProcessByStdio } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import type { Clock } from '../../../kit/index.ts';
import { TaskFailure } from '../failure.ts';
import { groupEnded, groupStarted, signalGroup } from './groups.ts';
import { OutputLines, type OutputStream } from '../output-lines.ts';
import { Output } from './output.ts';

export interface ChildPlan {
  /** For messages. */
  readonly name: string;
  /** An absolute path: nothing is searched with the child's environment. */
  readonly file: string;
  readonly args: readonly string[];
  readonly cwd?: string;
  readonly env: Readonly<Record<string, string>>;
  readonly stdin: string | null;
  readonly timeoutMs: number | null;
  readonly maxOutputBytes: number;
  /** Between asking it to end and killing it. */
  readonly killGraceMs: number;
  /** Sees what it prints, as it prints it. */
  readonly onOutput?: ((stream: OutputStream, line: string) => void) | undefined;
  /** What else is to be done when it is stopped early. */
  readonly onStop?: () => void;
}

export interface ChildEnd {
  /** Null when a signal ended it. */
  readonly exitCode: number | null;
  readonly killedBy: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
  /** Of both together, beyond the limit. */
  readonly leftOutBytes: number;
}

type Child = ChildProcessByStdio<Writable, Readable, Readable>;

/** Settles when the process has ended and its group is gone. Throws the signal's reason on abort. */
export async function runChild(
  plan: ChildPlan,
  signal: AbortSignal,
  clock: Clock,
): Promise<ChildEnd> {
  signal.throwIfAborted();
  const child = spawn(plan.file, plan.args, {
    ...(plan.cwd === undefined ? {} : { cwd: plan.cwd }),
    env: plan.env,
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const { pid } = child;
  if (pid !== undefined) groupStarted(pid);
  const stopper = new Stopper(child, plan, clock);
  let isLate = false;
  const stop = (): void => stopper.stop();
  signal.addEventListener('abort', stop, { once: true });
  const cancelTimeout = startTimer(clock, plan.timeoutMs, () => {
    isLate = true;
    stop();
  });
  try {
    const end = await endOf(child, plan, stopper);
    signal.throwIfAborted();
    if (isLate) throw late(plan);
    return end;
  } finally {
    signal.removeEventListener('abort', stop);
    cancelTimeout();
    stopper.close();
    if (pid !== undefined) groupEnded(pid);
  }
}

function endOf(child: Child, plan: ChildPlan, stopper: Stopper): Promise<ChildEnd> {
  const outputs = [new Output(plan.maxOutputBytes), new Output(plan.maxOutputBytes)] as const;
  const lines = new OutputLines(plan.onOutput ?? (() => {}));
  child.stdout.on('data', (chunk: Buffer) => {
    outputs[0].push(chunk);
    lines.push('stdout', chunk);
  });
  child.stderr.on('data', (chunk: Buffer) => {
    outputs[1].push(chunk);
    lines.push('stderr', chunk);
  });
  // One that reads nothing, or ends before it has read all, is its own business.
  child.stdin.on('error', () => {});
  child.stdin.end(plan.stdin ?? '');
  return new Promise((resolve, reject) => {
    child.once('error', (error) => reject(cannotStart(plan, error)));
    child.once('exit', () => stopper.clearUp());
    child.once('close', (exitCode, killedBy) => {
      lines.end();
      resolve({
        exitCode,
        killedBy,
        stdout: outputs[0].text(),
        stderr: outputs[1].text(),
        leftOutBytes: outputs[0].leftOutBytes + outputs[1].leftOutBytes,
      });
    });
  });
}

class Stopper {
  readonly #child: Child;
  readonly #plan: ChildPlan;
  readonly #clock: Clock;
  #isStopping = false;
  #cancel: () => void = () => {};

  constructor(child: Child, plan: ChildPlan, clock: Clock) {
    this.#child = child;
    this.#plan = plan;
    this.#clock = clock;
  }

  /** Asks the whole group to end, and kills it after the grace period. */
  stop(): void {
    if (this.#isStopping) return;
    this.#isStopping = true;
    this.#plan.onStop?.();
    this.#signal('SIGTERM');
    this.#cancel = this.#clock.after(this.#plan.killGraceMs, () => this.#signal('SIGKILL'));
  }

  /** The process has ended. What it left behind in its group ends now; what has left the group and still
   * holds the pipes is not waited for. */
  clearUp(): void {
    this.#signal('SIGKILL');
    this.#cancel();
    this.#cancel = this.#clock.after(this.#plan.killGraceMs, () => {
      this.#child.stdout.destroy();
      this.#child.stderr.destroy();
    });
  }

  close(): void {
    this.#cancel();
  }

  #signal(signal: NodeJS.Signals): void {
    const { pid } = this.#child;
    if (pid !== undefined) signalGroup(pid, signal);
  }
}

function startTimer(clock: Clock, ms: number | null, fn: () => void): () => void {
  return ms === null ? () => {} : clock.after(ms, fn);
}

function late({ name, timeoutMs }: ChildPlan): TaskFailure {
  const message = `${name} took longer than ${timeoutMs} ms and was killed.`;
  return new TaskFailure('timeout', 'retryable', message);
}

/** Another worker may have it. */
function cannotStart({ name }: ChildPlan, error: Error): TaskFailure {
  const message = `${name} cannot be started here: ${error.message}`;
  return new TaskFailure('cannot_start', 'retryable', message);
}
