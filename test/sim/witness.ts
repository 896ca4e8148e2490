/**
 * What workers and clients saw with their own eyes, checked at once against what is committed: an
 * answer that leaves before its commit is caught here, and so are two handlers at the same time.
 */
import type { EventRow, LeaseName, Need, Verdict } from '../../src/scheduler/core/index.ts';
import type { JobReply } from '../../src/scheduler/contract/index.ts';
import type { ReadyAssignment, WorkerReport } from '../../src/scheduler/contract/index.ts';
import type { SimEvent } from './events.ts';
import type { Findings } from './findings.ts';
import type { Journal } from './journal.ts';
import type { Life } from './process.ts';

/** A handler that runs, or would if its process were awake. */
export interface Running {
  readonly lease: LeaseName;
  readonly life: Life;
  /** The worker knows that its session or lease is over, and has asked the handler to stop. */
  readonly isKnownLost: () => boolean;
}

/** A result whose acceptance was confirmed to a worker. */
export interface Accepted {
  readonly lease: LeaseName;
  readonly result: string | null;
  /** The entry of the log that says so. */
  readonly event: EventRow;
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

/** Where the history stood when somebody asked. */
export interface Place {
  readonly rewinds: number;
  readonly run: number;
}

const ENDS_OF: Readonly<Record<WorkerReport['kind'], readonly string[]>> = {
  started: ['started'],
  // Of a second attempt nothing but its start is logged.
  progress: ['progress', 'duplicated'],
  step: ['assigned', 'duplicated'],
  submitted: ['assigned', 'duplicated'],
  completed: ['completed'],
  failed: ['retried', 'failed', 'dead', 'released', 'cancelled', 'discarded'],
  inputLost: ['reassigned', 'failed', 'dead', 'cancelled', 'retried', 'released', 'discarded'],
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
    'discarded',
  ],
  // Given back after its time was up, it counts as a failure.
  released: ['released', 'cancelled', 'retried', 'failed', 'dead', 'discarded'],
  // Its input is recomputed: then it begins again, whatever it reported.
  suspended: ['suspended', 'cancelled', 'retried', 'failed', 'dead', 'released'],
};

/** How a lease is given. */
const GIVEN: readonly string[] = ['assigned', 'duplicated'];

export class Witness {
  readonly accepted: Accepted[] = [];
  /** What workers have said of leases: kind, job, task and fence. */
  readonly said: Set<string> = new Set();
  readonly jobs: Map<string, SubmittedJob> = new Map();
  readonly jobByKey: Map<string, string> = new Map();
  /** By job and id. */
  readonly signals: Map<string, SentSignal> = new Map();
  /** By id. */
  readonly events: Map<string, SimEvent> = new Map();
  /** Jobs that were said to be cancelled, and how many commits there were then. */
  readonly cancelled: Map<string, number> = new Map();
  /** Tasks that end every process that runs them, as JOB/TASK. */
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
    const found = this.#journal.all(lease.jobNo, lease.taskNo, lease.fence, GIVEN);
    if (found.some(({ nodeId }) => nodeId === worker)) return;
    const [first] = found;
    if (first === undefined) {
      this.#findings.add('replies', `${worker} was given ${named(lease)}, which is not committed`);
    } else {
      const whose = first.nodeId ?? 'nobody';
      this.#findings.add('two leases', `${worker} was given ${named(lease)} of ${whose}`);
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
    // A process that wakes up cannot know at once what it has missed.
    if (!this.#counts(running)) return;
    const all = this.#running.get(taskKey(running.lease)) ?? new Set<Running>();
    for (const other of all) {
      if (other.life.isOver) all.delete(other);
      else if (other !== running && this.#counts(other) && !this.#areBeside(running, other)) {
        const where = `${other.life.name} (fence ${other.lease.fence})`;
        const what = `${running.life.name} runs ${named(running.lease)} while ${where} does`;
        this.#findings.add('one handler', what);
      }
    }
  }

  /** A handler of a lease that a rewind has taken away works for nobody, and hears of that later. */
  #counts({ life, lease, isKnownLost }: Running): boolean {
    if (!life.isAwake || isKnownLost()) return false;
    const { jobNo, taskNo, fence, term } = lease;
    if (this.#journal.find(jobNo, taskNo, fence, GIVEN) === null) return false;
    // Another attempt has decided, or both were stopped: the worker hears of that with its next message.
    if (this.#journal.find(jobNo, taskNo, fence, ['discarded']) !== null) return false;
    // A rewind gives fences out once more; of second attempts the rows do not tell the term.
    const stored = this.#journal.termOf(jobNo, taskNo, fence);
    return stored === null || stored === term;
  }

  /** A second attempt may run beside any other: a new leader that does not know of it gives out the task again. */
  #areBeside(one: Running, other: Running): boolean {
    return [one, other].some(
      ({ lease: { jobNo, taskNo, fence } }) =>
        this.#journal.all(jobNo, taskNo, fence, ['duplicated']).length > 0,
    );
  }

  ends(running: Running): void {
    this.#running.get(taskKey(running.lease))?.delete(running);
  }

  reports({ kind, lease }: WorkerReport): void {
    this.said.add(`${kind} ${lease.jobNo}/${lease.taskNo}/${lease.fence}`);
  }

  verdict(worker: string, item: WorkerReport, verdict: Verdict): void {
    if (verdict !== 'ok') return;
    const { jobNo, taskNo, fence } = item.lease;
    const event = this.#journal.all(jobNo, taskNo, fence, endsOf(item)).at(-1);
    if (event === undefined) {
      const what = `${worker} got ok for ${item.kind} of ${named(item.lease)}`;
      const rival = item.kind === 'completed' ? this.#journal.completedBy(jobNo, taskNo) : null;
      if (rival !== null)
        return this.#findings.add('one result', `${what}, but that of fence ${rival} is stored`);
      this.#findings.add('replies', `${what}, which is not committed`);
    } else if (item.kind === 'completed') {
      this.accepted.push({ lease: item.lease, result: item.result, event });
    }
  }

  placeOf(jobId: string): Place {
    return { rewinds: this.#journal.rewinds, run: this.#journal.runOf(jobId) };
  }

  /** A worker heard that what it retains of the job is not needed: then the job is over, unless it was begun
   * again, or the store was taken back, since the worker asked. */
  unneeded(worker: string, jobId: string, asked: Place): void {
    if (!this.#journal.live.has(jobId) || this.#journal.runOf(jobId) > asked.run) return;
    if (this.#journal.rewinds > asked.rewinds) return;
    this.#findings.add(
      'outputs',
      `${worker} was asked to drop what it keeps of ${jobId}, which lives`,
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

  /** The store is as it was when there were so many commits: what was promised after that does not hold. */
  rewound(commits: number): void {
    const { cancelled, jobs, jobByKey, signals } = this;
    for (const [jobId, at] of cancelled) if (at > commits) cancelled.delete(jobId);
    for (const job of jobs.values()) job.isAcknowledged &&= this.#journal.hasJob(job.jobId);
    for (const [key, jobId] of jobByKey) if (!this.#journal.hasJob(jobId)) jobByKey.delete(key);
    const stored = new Set(
      this.#journal.commits.flatMap(({ batch }) => batch.signalInserts.map(({ id }) => id)),
    );
    for (const signal of signals.values()) signal.isAcknowledged &&= stored.has(signal.id);
    // Which of them are left is not known one by one.
    for (const { woken } of this.events.values()) woken.clear();
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

/** A result that the store refused is reported as a failure; a copy of it, still on its way, may be stored before that. */
function endsOf(item: WorkerReport): readonly string[] {
  const ends = ENDS_OF[item.kind];
  const isRefusedResult = item.kind === 'failed' && item.error.code === 'bad_result';
  return isRefusedResult ? [...ends, 'completed'] : ends;
}

function taskKey({ jobNo, taskNo }: LeaseName): string {
  return `${jobNo}/${taskNo}`;
}

function named({ jobNo, taskNo, fence }: LeaseName): string {
  return `task ${jobNo}/${taskNo} fence ${fence}`;
}
