/** One handler at work on one lease: it reports, it can be told to stop, it can be killed. */
import type { LeaseName } from '../../src/scheduler/core/index.ts';
import type { WorkerReport } from '../../src/scheduler/contract/index.ts';
import type { Behaviour } from './behaviour.ts';
import type { Life } from './process.ts';
import type { Running, Witness } from './witness.ts';

export interface HandlerOptions {
  readonly lease: LeaseName;
  /** The database's time when the lease was given. */
  readonly assignedAt: number;
  readonly life: Life;
  readonly behaviour: Behaviour;
  readonly witness: Witness;
  readonly report: (item: WorkerReport) => void;
  /** False once the worker's right to run anything is over: it has then killed this handler. */
  readonly mayRun: () => boolean;
  /** The handler ends its process. */
  readonly onKilled: () => void;
}

export class Handler {
  readonly #options: HandlerOptions;
  readonly #running: Running;
  readonly #receivedMs: number;
  #isOver = false;
  #isAborted = false;

  constructor(options: HandlerOptions) {
    this.#options = options;
    this.#receivedMs = options.life.clock.monotonicMs();
    this.#running = { lease: options.lease, life: options.life };
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  start(): void {
    const { witness, lease, behaviour, report } = this.#options;
    witness.starts(this.#running);
    report({ kind: 'started', lease });
    const { durationMs, steps, showsProgress, kills } = behaviour;
    if (kills) return this.#after(durationMs % 40, this.#options.onKilled);
    steps.forEach((name, at) => {
      const body = JSON.stringify({ name, fence: lease.fence });
      const item: WorkerReport = { kind: 'step', lease, name, body };
      this.#after((durationMs * (at + 1)) / (steps.length + 1), () => report(item));
    });
    if (showsProgress) {
      const item: WorkerReport = { kind: 'progress', lease, fraction: 0.5, note: null };
      this.#after(durationMs / 2, () => report(item));
    }
    this.#after(durationMs, () => this.#finish());
  }

  /** Told to stop: it does, at once or after its grace time. */
  abort(): void {
    if (this.#isOver || this.#isAborted) return;
    this.#isAborted = true;
    const { graceMs } = this.#options.behaviour;
    if (graceMs === 0) this.#stop();
    else this.#after(graceMs, () => this.#stop());
  }

  /** No more of it, and no word about it. */
  kill(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#options.witness.ends(this.#running);
  }

  #stop(): void {
    this.kill();
    this.#options.report({ kind: 'aborted', lease: this.#options.lease });
  }

  #finish(): void {
    const { lease, behaviour, report, assignedAt, life } = this.#options;
    const now = assignedAt + life.clock.monotonicMs() - this.#receivedMs;
    const { steps, ending } = behaviour.finish(now);
    this.kill();
    for (const step of steps) report({ kind: 'step', lease, ...step });
    if (ending.kind === 'completed') report({ kind: 'completed', lease, result: ending.result });
    else if (ending.kind === 'inputLost') {
      const error = { code: 'input_lost', message: 'it is not there' };
      report({ kind: 'inputLost', lease, lost: ending.lost, error });
    } else if (ending.kind === 'suspended')
      report({ kind: 'suspended', lease, until: ending.until });
    else {
      const error = { code: ending.failure, message: 'as the dice would have it' };
      report({ kind: 'failed', lease, error, failure: ending.failure });
    }
  }

  #after(ms: number, act: () => void): void {
    this.#options.life.clock.after(ms, () => {
      if (this.#isOver || !this.#options.mayRun() || this.#isOver) return;
      this.#options.witness.acts(this.#running);
      act();
    });
  }
}
