import { isFinished, isTerminal } from '../../../src/scheduler/core/index.ts';
import type {
  AwaitedThings,
  Batch,
  Instant,
  JobRow,
  TaskRow,
} from '../../../src/scheduler/core/index.ts';
import { refKey } from '../../../src/scheduler/store/index.ts';
import type { Applied } from '../journal.ts';
import type { Evidence } from './evidence.ts';

/** With a leader and without faults, nobody may oversleep by more than this: an election and a load. */
const RETRY_BUDGET_MS = 40_000;

/**
 * Nobody sleeps past its time once there are no faults any more, nobody is woken before it, the end of
 * a called job wakes its caller, and a called job ends with its caller; all across leader changes.
 */
export function checkWakeUps({ journal, findings, healedAt, driftMs }: Evidence): void {
  const watch = new Watch(driftMs);
  const said = new Set<string>();
  for (const commit of journal.commits) {
    const calmFrom = healedAt === null ? Infinity : healedAt + RETRY_BUDGET_MS;
    const faults = watch.take(commit);
    if (commit.at > calmFrom) faults.push(...watch.overslept(commit.at));
    for (const fault of faults) if (!said.has(fault)) findings.add('wake-ups', fault);
    for (const fault of faults) said.add(fault);
  }
}

class Watch {
  readonly #driftMs: number;
  readonly #rows: Map<string, TaskRow> = new Map();
  readonly #jobs: Map<string, JobRow> = new Map();
  /** Called jobs whose caller has ended, and when. */
  readonly #missing: Map<string, Instant> = new Map();
  readonly #abandoned: Map<string, Instant> = new Map();

  constructor(driftMs: number) {
    this.#driftMs = driftMs;
  }

  take({ batch, at }: Applied): string[] {
    const faults: string[] = [];
    for (const row of [...batch.jobInserts, ...batch.jobUpdates]) this.#jobs.set(row.id, row);
    for (const row of [...batch.taskInserts, ...batch.taskUpdates]) {
      const key = refKey(row.jobNo, row.taskNo);
      const before = this.#rows.get(key);
      this.#rows.set(key, row);
      if (before === undefined) continue;
      if (this.#isEarly(before, row)) {
        faults.push(`${key} sleeps till ${before.notBefore}, is ready at ${row.queuedAt}`);
      }
      const until = firstSleep(batch, row);
      if (until !== null && row.notBefore !== null && row.notBefore < until) {
        faults.push(`${key} sleeps till ${row.notBefore}, by its step till ${until}`);
      }
      if (!isTerminal(row.state) || before.run !== row.run) continue;
      for (const { jobId } of jobsOf(before)) this.#abandoned.set(jobId, at);
    }
    return faults;
  }

  /** A task that waits for nothing but the time. */
  #isEarly(before: TaskRow, now: TaskRow): boolean {
    if (before.state !== 'delayed' || before.suspended !== 'time' || before.waits !== null) {
      return false;
    }
    if (now.state !== 'ready' || before.notBefore === null || now.queuedAt === null) return false;
    return now.queuedAt < before.notBefore - this.#driftMs;
  }

  overslept(at: Instant): string[] {
    const faults: string[] = [];
    const isLate = (since: number | null): boolean =>
      since !== null && since + RETRY_BUDGET_MS < at;
    for (const [key, row] of this.#rows) {
      if (row.state === 'delayed' && isLate(row.notBefore)) {
        faults.push(`${key} sleeps past ${row.notBefore}`);
      }
      if (row.suspended !== 'job' || (row.state !== 'blocked' && row.state !== 'delayed')) continue;
      for (const { jobId } of jobsOf(row)) {
        const job = this.#jobs.get(jobId);
        if (job === undefined) {
          // One that is still being planned comes a little later.
          const since = this.#missing.get(jobId) ?? at;
          this.#missing.set(jobId, since);
          if (isLate(since)) faults.push(`${key} waits for ${jobId}, which is not there`);
        } else if (isFinished(job.state) && isLate(job.finishedAt)) {
          faults.push(`${key} waits for ${jobId}, which has ${job.state}`);
        }
      }
    }
    for (const [jobId, since] of this.#abandoned) {
      const job = this.#jobs.get(jobId);
      if (job === undefined || isFinished(job.state) || job.stopping !== null) {
        this.#abandoned.delete(jobId);
      } else if (isLate(since)) faults.push(`${jobId} goes on without its caller`);
    }
    return faults;
  }
}

/** When the first of the sleeps ends that this batch begins for a suspended task. */
function firstSleep({ steps }: Batch, { jobNo, taskNo, run, suspended }: TaskRow): number | null {
  if (suspended === null) return null;
  const ends = steps.flatMap((step) => {
    const isOwn = step.jobNo === jobNo && step.taskNo === taskNo && step.run === run;
    if (!isOwn || !/^\$(?:sleep|until|eventEnd)\//.test(step.name)) return [];
    return [(JSON.parse(step.body) as { readonly until: number }).until];
  });
  return ends.length === 0 ? null : Math.min(...ends);
}

function jobsOf({ waits }: TaskRow): AwaitedThings['jobs'] {
  return waits === null ? [] : (JSON.parse(waits) as AwaitedThings).jobs;
}
