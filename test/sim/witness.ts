/**
 * What workers and clients saw with their own eyes, checked at once against what is committed: an
 * answer that leaves before its commit is caught here, and so are two handlers at the same time.
 */
import type { LeaseName, Need, Verdict } from '../../src/scheduler/core/index.ts';
import type { JobReply } from '../../src/scheduler/contract/index.ts';
import type { ReadyAssignment, WorkerReport } from '../../src/scheduler/contract/index.ts';
import type { Findings } from './findings.ts';
import type { Journal } from './journal.ts';
import type { Life } from './process.ts';

/** A handler that runs, or would if its process were awake. */
export interface Running {
  readonly lease: LeaseName;
  readonly life: Life;
}

/** A result that a worker was told is accepted. */
export interface Accepted {
  readonly lease: LeaseName;
  readonly result: string | null;
}

export interface SubmittedJob {
  readonly jobId: string;
  readonly document: { readonly tasks: readonly SubmittedTask[] };
  isAcknowledged: boolean;
}

export interface SubmittedTask {
  readonly id: string;
  readonly dependsOn?: readonly (string | { readonly id: string; readonly required: Need })[];
}

export interface SentSignal {
  readonly jobId: string;
  readonly id: string;
  readonly name: string;
  /** JSON text. */
  readonly body: string;
  isAcknowledged: boolean;
}

const ENDS_OF: Readonly<Record<WorkerReport['kind'], readonly string[]>> = {
  started: ['started'],
  progress: ['progress'],
  step: ['assigned'],
  completed: ['completed'],
  failed: ['retried', 'failed', 'dead', 'released', 'cancelled'],
  inputLost: ['reassigned', 'failed', 'dead', 'cancelled', 'retried', 'released'],
  // It may have ended in another way before the order to stop it came.
  aborted: [
    'completed',
    'retried',
    'failed',
    'dead',
    'released',
    'cancelled',
    'suspended',
    'reassigned',
  ],
  // Given back after its time was up, it counts as a failure.
  released: ['released', 'cancelled', 'retried', 'failed', 'dead'],
  // What it has read is made again: then it begins again, whatever it said.
  suspended: ['suspended', 'cancelled', 'retried', 'failed', 'dead', 'released'],
};

export class Witness {
  readonly accepted: Accepted[] = [];
  readonly jobs: Map<string, SubmittedJob> = new Map();
  readonly jobByKey: Map<string, string> = new Map();
  /** By job and id. */
  readonly signals: Map<string, SentSignal> = new Map();
  readonly cancelled: Set<string> = new Set();
  /** Tasks that end every process that runs them. */
  readonly poisons: Set<string> = new Set();
  readonly schedules: Set<string> = new Set();
  /** Schedules whose put was not answered yet. */
  readonly putting: Set<string> = new Set();
  readonly #findings: Findings;
  readonly #journal: Journal;
  readonly #running: Map<string, Set<Running>> = new Map();

  constructor(findings: Findings, journal: Journal) {
    this.#findings = findings;
    this.#journal = journal;
  }

  assigned(worker: string, { lease }: ReadyAssignment): void {
    const found = this.#journal.find(lease.jobNo, lease.taskNo, lease.fence, ['assigned']);
    if (found === null) {
      this.#findings.add('replies', `${worker} was given ${named(lease)}, which is not committed`);
    } else if (found.nodeId !== worker) {
      const whose = found.nodeId ?? 'nobody';
      this.#findings.add('one lease', `${worker} was given ${named(lease)} of ${whose}`);
    }
  }

  starts(running: Running): void {
    const key = taskKey(running.lease);
    const all = this.#running.get(key) ?? new Set<Running>();
    this.#running.set(key, all);
    all.add(running);
    this.acts(running);
  }

  /** The handler did something just now: nobody else may be at the same task. */
  acts(running: Running): void {
    const all = this.#running.get(taskKey(running.lease)) ?? new Set<Running>();
    for (const other of all) {
      if (other.life.isOver) all.delete(other);
      else if (other !== running && other.life.isAwake) {
        const where = `${other.life.name} (fence ${other.lease.fence})`;
        const what = `${running.life.name} runs ${named(running.lease)} while ${where} does`;
        this.#findings.add('one handler', what);
      }
    }
  }

  ends(running: Running): void {
    this.#running.get(taskKey(running.lease))?.delete(running);
  }

  verdict(worker: string, item: WorkerReport, verdict: Verdict): void {
    if (verdict !== 'ok') return;
    const { jobNo, taskNo, fence } = item.lease;
    // A result that nobody could read fails the task instead.
    const isBad = item.kind === 'completed' && item.result?.startsWith('{ ') === true;
    const kinds = ENDS_OF[isBad ? 'failed' : item.kind];
    const found = this.#journal.find(jobNo, taskNo, fence, kinds);
    if (found === null) {
      const what = `${worker} was told ok for ${item.kind} of ${named(item.lease)}`;
      this.#findings.add('replies', `${what}, which is not committed`);
    }
    if (item.kind === 'completed' && !isBad)
      this.accepted.push({ lease: item.lease, result: item.result });
  }

  runOf(jobId: string): number {
    return this.#journal.runOf(jobId);
  }

  /** A worker was told that nobody needs what it keeps of the job: then the job is over, unless it was begun
   * again since the worker asked. */
  unneeded(worker: string, jobId: string, runWhenAsked: number): void {
    if (!this.#journal.live.has(jobId) || this.#journal.runOf(jobId) > runWhenAsked) return;
    this.#findings.add(
      'outputs',
      `${worker} was told to drop what it keeps of ${jobId}, which lives`,
    );
  }

  /** A job was answered: it must be there. */
  answered(reply: JobReply): void {
    if (!this.#journal.hasJob(reply.jobId)) {
      this.#findings.add('replies', `job ${reply.jobId} was acknowledged and is not committed`);
    }
    const run = this.#journal.runOf(reply.jobId);
    if (run < reply.run) {
      const what = `job ${reply.jobId} was said to be at run ${reply.run}`;
      this.#findings.add('replies', `${what}, committed is run ${run}`);
    }
  }

  /** One key, one job, whoever submitted it. */
  answeredKey(key: string, jobId: string): void {
    const known = this.jobByKey.get(key);
    if (known !== undefined && known !== jobId) {
      this.#findings.add('idempotency', `key ${key} is job ${known} and job ${jobId}`);
    }
    this.jobByKey.set(key, jobId);
  }
}

function taskKey({ jobNo, taskNo }: LeaseName): string {
  return `${jobNo}/${taskNo}`;
}

function named({ jobNo, taskNo, fence }: LeaseName): string {
  return `task ${jobNo}/${taskNo} fence ${fence}`;
}
