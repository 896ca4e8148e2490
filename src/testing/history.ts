/** What ran: every time that a handler was called, what it did, and how that ended. */
import type { TaskError } from '../scheduler/core/index.ts';
import type { TaskContext } from '../tasks/executors/index.ts';
import type { WorkerReport } from '../scheduler/contract/index.ts';

/** `suspended`: it slept or waited, and a later execution went on. */
export type Outcome = 'running' | 'succeeded' | 'failed' | 'suspended' | 'crashed' | 'aborted';

/** One execution. A task that sleeps has several in one attempt. */
export interface Execution {
  readonly job: string;
  readonly task: string;
  readonly run: number;
  readonly attempt: number;
  /** The steps whose functions were called, in order; finished ones of earlier executions are not. */
  readonly steps: readonly string[];
  readonly outcome: Outcome;
  readonly error: TaskError | null;
}

interface Entry extends Execution {
  readonly fence: number;
  steps: string[];
  outcome: Outcome;
  error: TaskError | null;
  /** It waits for virtual time, not for real time. */
  readonly isTimed: boolean;
}

export class History {
  readonly #entries: Entry[] = [];
  /** By job, task and fence. */
  readonly #running: Map<string, Entry> = new Map();

  began({ jobId, taskId, run, attempt, fence }: TaskContext, isTimed: boolean): void {
    const entry: Entry = {
      job: jobId,
      task: taskId,
      run,
      attempt,
      fence,
      steps: [],
      outcome: 'running',
      error: null,
      isTimed,
    };
    this.#entries.push(entry);
    this.#running.set(keyOf(jobId, taskId, fence), entry);
  }

  stepped({ jobId, taskId, fence }: TaskContext, name: string): void {
    this.#running.get(keyOf(jobId, taskId, fence))?.steps.push(name);
  }

  /** What the worker says of a lease, and to which task it belongs. */
  reported(item: WorkerReport, jobId: string, taskId: string): void {
    const entry = this.#running.get(keyOf(jobId, taskId, item.lease.fence));
    if (entry === undefined) return;
    switch (item.kind) {
      case 'completed':
        return this.#end(entry, 'succeeded');
      case 'failed':
        entry.error = item.error;
        return this.#end(entry, 'failed');
      case 'suspended':
        return this.#end(entry, 'suspended');
      case 'inputLost':
      case 'aborted':
      case 'released':
        return this.#end(entry, 'aborted');
      case 'started':
      case 'progress':
      case 'step':
      case 'submitted':
        return;
    }
  }

  /** Everything that ran on the worker died with it. */
  crashed(): void {
    for (const entry of this.#running.values()) entry.outcome = 'crashed';
    this.#running.clear();
  }

  /** Running handlers that only real time can end. */
  get atWork(): readonly Execution[] {
    return [...this.#running.values()].filter(({ isTimed }) => !isTimed);
  }

  of(task: string, job: string | undefined): readonly Execution[] {
    return this.#entries
      .filter((entry) => entry.task === task && (job ?? entry.job) === entry.job)
      .map(({ job, task, run, attempt, steps, outcome, error }) => {
        return { job, task, run, attempt, steps: [...steps], outcome, error };
      });
  }

  #end(entry: Entry, outcome: Outcome): void {
    entry.outcome = outcome;
    this.#running.delete(keyOf(entry.job, entry.task, entry.fence));
  }
}

function keyOf(job: string, task: string, fence: number): string {
  return `${job}/${task}/${fence}`;
}
