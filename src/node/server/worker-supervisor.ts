/**
 * Supervises a node's own worker. It can be replaced while work continues: the new one is started first, and only
 * when it is ready does the old one finish its tasks and leave. Once `replace` has settled, the old one starts
 * nothing more.
 */
import { WorkerProcess } from './worker-process.ts';
import type { WorkerProcessOptions } from './worker-process.ts';

export interface WorkerSupervisorOptions extends Omit<WorkerProcessOptions, 'flags' | 'isOnTrial'> {
  readonly nodeId: string;
  /** The command line of a worker of this name. */
  readonly flagsFor: (nodeId: string) => readonly string[];
}

export class WorkerSupervisor {
  readonly #options: WorkerSupervisorOptions;
  readonly #leaving: Set<Promise<void>> = new Set();
  #sitting: WorkerProcess | null = null;
  #trial: WorkerProcess | null = null;
  #count = 0;

  constructor(options: WorkerSupervisorOptions) {
    this.#options = options;
  }

  /** Settles when the first one is ready; rejects when it cannot run at all. */
  async start(): Promise<void> {
    this.#sitting = this.#made(false);
    this.#sitting.start();
    await this.#sitting.ready;
  }

  /** Rejects when the new one cannot run: then the old one stays. */
  async replace(): Promise<void> {
    if (this.#trial !== null) this.#dismiss(this.#trial);
    const trial = this.#made(true);
    this.#trial = trial;
    try {
      trial.start();
      await trial.ready;
      const old = this.#sitting;
      this.#sitting = trial;
      if (old === null) return;
      this.#dismiss(old);
      await old.startsNoMore();
    } finally {
      if (this.#trial === trial) this.#trial = null;
    }
  }

  async stop(): Promise<void> {
    if (this.#trial !== null) this.#dismiss(this.#trial);
    if (this.#sitting !== null) this.#dismiss(this.#sitting);
    await Promise.all(this.#leaving);
  }

  #dismiss(worker: WorkerProcess): void {
    const left = worker.stop().finally(() => this.#leaving.delete(left));
    this.#leaving.add(left);
  }

  /** Two workers of one name would drive each other out: each that follows has one of its own. */
  #made(isOnTrial: boolean): WorkerProcess {
    const { nodeId, flagsFor, ...options } = this.#options;
    this.#count += 1;
    const name = this.#count === 1 ? nodeId : `${nodeId}.${this.#count}`;
    return new WorkerProcess({ ...options, flags: flagsFor(name), isOnTrial });
  }
}
