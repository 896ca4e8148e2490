/** One thread that runs tasks, one at a time. */
import { Worker as Thread } from 'node:worker_threads';
import type { ResourceLimits } from 'node:worker_threads';
import type { Json } from '../../../scheduler/core/index.ts';
import type { Clock } from '../../../kit/index.ts';
import type { TaskContext } from '../executor.ts';
import { TaskFailure } from '../failure.ts';
import { OutputLines } from '../output-lines.ts';
import type { FromThread, ThreadTask } from './messages.ts';
import { RemoteAttempt } from './remote-attempt.ts';
import type { RemoteEnd } from './remote-attempt.ts';

export interface TaskThreadOptions {
  readonly clock: Clock;
  /** Between telling a handler to stop and ending its thread. */
  readonly graceMs: number;
  readonly limits: ResourceLimits;
  /** It has ended, by whatever cause. */
  readonly onGone: (thread: TaskThread) => void;
}

export class TaskThread {
  readonly #options: TaskThreadOptions;
  readonly #thread: Thread;
  #attempts = 0;
  #current: { readonly no: number; readonly attempt: RemoteAttempt } | null = null;
  #isGone = false;
  #why = 'it ended itself';

  constructor(options: TaskThreadOptions) {
    this.#options = options;
    this.#thread = startThread(options.limits);
    // What it waits for is the process's business only while it works.
    this.#thread.unref();
    this.#thread.on('message', ({ attempt, words }: FromThread) => {
      if (this.#current?.no === attempt) this.#current.attempt.hear(words);
    });
    this.#thread.on('messageerror', (error) => this.#end(error.message));
    this.#thread.on('error', (error) => {
      this.#why = error instanceof Error ? error.message : String(error);
    });
    this.#thread.on('exit', () => this.#gone());
    const lines = new OutputLines((stream, line) => this.#current?.attempt.output(stream, line));
    this.#thread.stdout.on('data', (chunk: Buffer) => {
      lines.push('stdout', chunk);
      process.stdout.write(chunk);
    });
    this.#thread.stderr.on('data', (chunk: Buffer) => {
      lines.push('stderr', chunk);
      process.stderr.write(chunk);
    });
  }

  get isGone(): boolean {
    return this.#isGone;
  }

  /** Settles when the thread is free again, or gone. */
  async run(task: ThreadTask, input: Json, context: TaskContext): Promise<RemoteEnd> {
    this.#attempts += 1;
    const no = this.#attempts;
    const attempt = new RemoteAttempt(no, context, (message) => {
      // Nothing is handed over: all of it is copied.
      if (this.#current?.no === no) this.#thread.postMessage(message, []);
    });
    this.#current = { no, attempt };
    this.#thread.ref();
    const { signal } = context;
    let cancel = (): void => {};
    const stop = (): void => {
      attempt.abort(signal.reason);
      cancel = this.#options.clock.after(this.#options.graceMs, () => {
        this.#end('its task did not stop after its abort signal');
      });
    };
    signal.addEventListener('abort', stop, { once: true });
    attempt.start(task, input);
    if (signal.aborted) stop();
    const end = await attempt.ended;
    cancel();
    signal.removeEventListener('abort', stop);
    this.#current = null;
    this.#thread.unref();
    return end;
  }

  close(): void {
    this.#end('it is no longer needed');
  }

  #end(why: string): void {
    this.#why = why;
    // What it answers is said by its exit as well.
    this.#thread.terminate().catch(() => {});
  }

  #gone(): void {
    this.#isGone = true;
    this.#current?.attempt.fail(
      new TaskFailure(
        'thread_died',
        'retryable',
        `The thread of the task ended before the task: ${this.#why}.`,
      ),
    );
    this.#options.onGone(this);
  }
}

/**
 * The entry lies beside this file, compiled or not. Where it is TypeScript, whatever runs this thread does
 * not reach into another one, so tsx is started there first.
 */
function startThread(resourceLimits: ResourceLimits): Thread {
  // Read here, so that what a handler prints can be kept with its task.
  const options = { name: 'millrace task', resourceLimits, stdout: true, stderr: true };
  const isSource = import.meta.url.endsWith('.ts');
  const url = new URL(isSource ? './entry.ts' : './entry.js', import.meta.url);
  if (!isSource) return new Thread(url, options);
  const tsx = ['tsx/cjs/api', 'tsx/esm/api'].map((api) => `(await import('${api}')).register()`);
  const start = `(async () => { ${tsx.join(';')}; await import('${url.href}'); })()`;
  return new Thread(start, { ...options, eval: true });
}
