/** What a worker measures of itself, over all its sessions. */
import type { WorkerFigures, WorkerReport } from '../../scheduler/contract/index.ts';
import { millraceVersion } from '../../scheduler/contract/index.ts';
import { Histogram, MetricsPage, ProcessMetrics } from '../../kit/index.ts';

type Outcome = WorkerReport['kind'] | 'dropped';

/** Reports that end an attempt; `dropped` is one that the worker may not report on any more. */
const OUTCOMES = [
  'completed',
  'failed',
  'suspended',
  'aborted',
  'released',
  'inputLost',
  'dropped',
];

export interface WorkerFacts {
  readonly nodeId: string;
  readonly slots: number;
  /** How many handlers run. */
  readonly running: () => number;
  readonly figures: () => WorkerFigures;
}

export class WorkerMeasures {
  readonly #run = new Histogram('executor');
  readonly #poll = new Histogram();
  readonly #attempts: Map<string, number> = new Map(OUTCOMES.map((outcome) => [outcome, 0]));

  /** From the first scrape on: most workers are never asked. */
  #process: ProcessMetrics | null = null;

  stop(): void {
    this.#process?.stop();
  }

  polled(ms: number): void {
    this.#poll.observe(ms / 1_000);
  }

  ended(executor: string, ms: number, outcome: Outcome): void {
    this.#run.observe(ms / 1_000, executor);
    this.#attempts.set(outcome, (this.#attempts.get(outcome) ?? 0) + 1);
  }

  text({ nodeId: node, slots, running, figures }: WorkerFacts, isRegistered: boolean): string {
    const page = new MetricsPage();
    const version = millraceVersion();
    page.gauge('millrace_worker_info', 'This worker.', [[{ node, version }, 1]]);
    const registered = 'Whether the worker has a session with the leader.';
    page.gauge('millrace_worker_registered', registered, Number(isRegistered));
    page.gauge('millrace_worker_slots', 'Slots of this worker.', slots);
    page.gauge('millrace_worker_tasks_running', 'Handlers that run now.', running());
    page.histogram('millrace_worker_run_seconds', 'Duration of handlers by executor.', this.#run);
    page.histogram('millrace_worker_poll_seconds', 'How long polls were open.', this.#poll);
    page.counter(
      'millrace_worker_attempts_total',
      'Attempts that have ended here, by outcome.',
      Array.from(this.#attempts, ([outcome, count]) => [{ outcome }, count]),
    );
    const { shuffleBytes, diskFreeBytes } = figures();
    page.gauge('millrace_worker_shuffle_bytes', 'Outputs of queries kept here.', shuffleBytes);
    page.gauge('millrace_worker_disk_free_bytes', 'Free space of their disk.', diskFreeBytes);
    this.#process ??= new ProcessMetrics();
    this.#process.write(page);
    return page.text();
  }
}
