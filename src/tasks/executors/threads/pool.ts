/**
 * The threads of a worker for tasks that keep a processor busy. They are started when there is work for
 * them, used again, and ended when they had nothing to do for a while. A task that waits for a thread holds
 * a slot, so there should be as many as slots.
 */
import type { ResourceLimits } from 'node:worker_threads';
import { MillraceError } from '../../../scheduler/core/index.ts';
import type { Json } from '../../../scheduler/core/index.ts';
import { deferred } from '../../../kit/index.ts';
import type { Clock, Deferred } from '../../../kit/index.ts';
import type { Executor, TaskContext } from '../executor.ts';
import type { ThreadTask } from './messages.ts';
import { TaskThread } from './task-thread.ts';

export interface ThreadSettings {
  /** At the same time. */
  readonly max: number;
  readonly idleMs: number;
  readonly graceMs: number;
  readonly clock: Clock;
  readonly limits: ResourceLimits;
}

/** Waiting for idle threads must not keep a process alive that has nothing else to do. */
const quietClock: Clock = {
  monotonicMs: () => performance.now(),
  after(ms, fn) {
    const timer = setTimeout(fn, ms).unref();
    return () => clearTimeout(timer);
  },
};

const DEFAULTS: ThreadSettings = {
  max: 8,
  idleMs: 30_000,
  graceMs: 5_000,
  clock: quietClock,
  limits: {},
};

export class ThreadPool {
  readonly #settings: ThreadSettings;
  readonly #threads: Set<TaskThread> = new Set();
  /** With what keeps each of them from being ended; the one used last is at the end. */
  readonly #idle: Map<TaskThread, () => void> = new Map();
  readonly #waiting: Set<Deferred<TaskThread>> = new Set();
  #isClosed = false;

  constructor(settings: Partial<ThreadSettings> = {}) {
    this.#settings = { ...DEFAULTS, ...settings };
  }

  /** How many there are, busy or not. */
  get size(): number {
    return this.#threads.size;
  }

  /** An executor that runs the task of this name in the module. */
  executor(task: ThreadTask): Executor {
    return { name: task.name, run: (input, context) => this.#run(task, input, context) };
  }

  /** What still runs, or waits to run, fails. */
  close(): void {
    this.#isClosed = true;
    for (const place of this.#waiting) place.reject(closed());
    this.#waiting.clear();
    for (const thread of this.#threads) thread.close();
  }

  async #run(task: ThreadTask, input: Json, context: TaskContext): Promise<unknown> {
    const { signal } = context;
    signal.throwIfAborted();
    const thread = await this.#take(signal);
    const end = await thread.run(task, input, context);
    this.#give(thread);
    switch (end.kind) {
      case 'value':
        return end.value;
      case 'thrown':
        // A thread that was ended on purpose says so with the reason of the abort.
        if (thread.isGone) signal.throwIfAborted();
        throw end.error;
      case 'suspended':
        return new Promise(() => {});
    }
  }

  async #take(signal: AbortSignal): Promise<TaskThread> {
    if (this.#isClosed) throw closed();
    const idle = [...this.#idle.keys()].at(-1);
    if (idle !== undefined) {
      this.#idle.get(idle)?.();
      this.#idle.delete(idle);
      return idle;
    }
    if (this.#threads.size < this.#settings.max) return this.#start();
    const place = deferred<TaskThread>();
    this.#waiting.add(place);
    const leave = (): void => {
      // Whoever aborts says why, as a MillraceError.
      if (this.#waiting.delete(place)) place.reject(signal.reason as Error);
    };
    signal.addEventListener('abort', leave, { once: true });
    try {
      return await place.promise;
    } finally {
      signal.removeEventListener('abort', leave);
    }
  }

  #start(): TaskThread {
    const { clock, graceMs, limits } = this.#settings;
    const thread = new TaskThread({ clock, graceMs, limits, onGone: (gone) => this.#gone(gone) });
    this.#threads.add(thread);
    return thread;
  }

  #give(thread: TaskThread): void {
    if (thread.isGone) return;
    const next = this.#next();
    if (next !== undefined) return next.resolve(thread);
    const { clock, idleMs } = this.#settings;
    this.#idle.set(
      thread,
      clock.after(idleMs, () => {
        // At once, and not when it has ended: until then it would be given work that dies with it.
        this.#idle.delete(thread);
        thread.close();
      }),
    );
  }

  #gone(thread: TaskThread): void {
    this.#threads.delete(thread);
    this.#idle.get(thread)?.();
    this.#idle.delete(thread);
    const next = this.#next();
    if (next !== undefined) next.resolve(this.#start());
  }

  #next(): Deferred<TaskThread> | undefined {
    const [next] = this.#waiting;
    if (next !== undefined) this.#waiting.delete(next);
    return next;
  }
}

function closed(): MillraceError {
  return new MillraceError({
    code: 'shutting_down',
    what: 'The threads of this worker have ended.',
  });
}
