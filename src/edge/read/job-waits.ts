/** Waiting for jobs to end. Where this node leads its memory says when; on other nodes the store is polled. */
import { isFinished, isMillraceError } from '../../scheduler/core/index.ts';
import type { JobId, JobNo, LogKind, NamedBatch } from '../../scheduler/core/index.ts';
import type { Clock } from '../../kit/index.ts';
import type { Store } from '../../scheduler/store/index.ts';

export interface JobWaitsOptions {
  readonly store: Pick<Store, 'jobRow'>;
  readonly clock: Clock;
  readonly shard?: number;
  /** Null on a node that does not lead. */
  readonly leader: () => LeaderMemory | null;
}

/** The leader's knowledge of live jobs. */
export interface LeaderMemory {
  /** Costs nothing; the end of a job may not be committed yet. */
  isLive(id: JobId): boolean;
  /** Settles when the answer is committed. */
  hasEnded(id: JobId): Promise<boolean>;
}

/** How often the store is polled without a wake-up. */
const ASK_EVERY_MS = 100;
/** How often the leader's memory is looked at: it may have lost its term, and then hears of no end. */
const LOOK_EVERY_MS = 1_000;

/** What is larger is looked at with the job: it may not be shown. */
const CHARS_MAX = 1024 * 1024;

/** Of a commit. */
export type CommittedRows = Pick<NamedBatch, 'events' | 'jobUpdates' | 'results'>;

const ENDS: ReadonlySet<LogKind> = new Set<LogKind>([
  'job.succeeded',
  'job.failed',
  'job.cancelled',
]);

/** Hears of the end of a job: with its result as JSON text where the commit has it, or null. */
type OnEnd = (result: string | null) => void;

export class JobWaits {
  readonly #options: JobWaitsOptions;
  readonly #waiting: Map<JobId, readonly OnEnd[]> = new Map();
  #isLooking = false;

  constructor(options: JobWaitsOptions) {
    this.#options = options;
  }

  /** The leader in this process has committed these. Only those who wait for a job that has ended hear of it. */
  committed(rows: CommittedRows): void {
    if (this.#waiting.size === 0) return;
    let results: ReadonlyMap<JobNo, string> | null = null;
    for (const { kind, jobId, jobNo } of rows.events) {
      if (jobId === null || jobNo === null || !ENDS.has(kind)) continue;
      const waiting = this.#waiting.get(jobId);
      if (waiting === undefined) continue;
      results ??= onlyResults(rows);
      const result = results.get(jobNo) ?? null;
      for (const tell of waiting) tell(result);
    }
  }

  /**
   * Calls `tell` once, when the job has ended or may have: with the result of a job that has succeeded, if the commit has
   * it, or with null, and then somebody has to look. Returns how to wait no longer; null where the leader of this process
   * does not know the job as one that goes on.
   */
  whenEnded(id: JobId, tell: OnEnd): (() => void) | null {
    if (this.#options.leader()?.isLive(id) !== true) return null;
    const once: OnEnd = (result) => {
      leave();
      tell(result);
    };
    const leave = this.#join(id, once);
    this.#lookSoon();
    return leave;
  }

  #join(id: JobId, onEnd: OnEnd): () => void {
    const others = this.#waiting.get(id);
    this.#waiting.set(id, others === undefined ? [onEnd] : [...others, onEnd]);
    return () => {
      const left = this.#waiting.get(id)?.filter((each) => each !== onEnd) ?? [];
      if (left.length === 0) this.#waiting.delete(id);
      else this.#waiting.set(id, left);
    };
  }

  /** Settles when the job has ended or is unknown, at the latest after `ms` or when the signal aborts. */
  async ended(id: JobId, ms: number, signal: AbortSignal): Promise<void> {
    const { clock, leader } = this.#options;
    const untilMs = clock.monotonicMs() + ms;
    while (!signal.aborted) {
      const restMs = untilMs - clock.monotonicMs();
      if (restMs <= 0) return;
      // Armed first: what is committed while the store is read is not missed.
      const news = this.#news(id);
      try {
        if (leader()?.isLive(id) !== true && (await this.#hasEnded(id))) return;
        // A leader is woken by its commits, and looks after all who wait together.
        const everyMs = leader() === null ? ASK_EVERY_MS : restMs;
        this.#lookSoon();
        await news.within(Math.min(restMs, everyMs), clock, signal);
      } finally {
        news.leave();
      }
    }
  }

  #lookSoon(): void {
    if (this.#isLooking || this.#waiting.size === 0) return;
    this.#isLooking = true;
    this.#options.clock.after(LOOK_EVERY_MS, () => {
      this.#isLooking = false;
      const memory = this.#options.leader();
      for (const [id, waiting] of this.#waiting) {
        if (memory?.isLive(id) !== true) for (const tell of waiting) tell(null);
      }
      this.#lookSoon();
    });
  }

  async #hasEnded(id: JobId): Promise<boolean> {
    const { store, leader, shard = 0 } = this.#options;
    try {
      const memory = leader();
      if (memory !== null) return await memory.hasEnded(id);
    } catch (error) {
      // Its term has ended: from now on the store knows.
      if (!isMillraceError(error)) throw error;
    }
    const row = await store.jobRow(shard, id);
    return row === null || isFinished(row.state);
  }

  /** The next end of the job from now on. */
  #news(id: JobId): News {
    const news = new News(() => leave());
    const leave = this.#join(id, news.tell);
    return news;
  }
}

/** Of jobs that have succeeded: the results of those that are that of their only task, and came with this commit. */
function onlyResults({ jobUpdates, results }: CommittedRows): ReadonlyMap<JobNo, string> {
  const found = new Map<JobNo, string>();
  if (results.length === 0) return found;
  const jobs = new Map(jobUpdates.map((job) => [job.no, job]));
  for (const { jobNo, run, body } of results) {
    const job = jobs.get(jobNo);
    const isWhole = job?.state === 'succeeded' && job.taskCount === 1 && job.output === null;
    if (isWhole && job.run === run && body.length <= CHARS_MAX) found.set(jobNo, body);
  }
  return found;
}

class News {
  readonly leave: () => void;
  #isTold = false;
  #go: () => void = () => {};

  constructor(leave: () => void) {
    this.leave = leave;
  }

  readonly tell = (): void => {
    this.#isTold = true;
    this.#go();
  };

  within(ms: number, clock: Clock, signal: AbortSignal): Promise<void> {
    if (this.#isTold || signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const done = (): void => {
        cancel();
        signal.removeEventListener('abort', done);
        resolve();
      };
      const cancel = clock.after(ms, done);
      signal.addEventListener('abort', done, { once: true });
      this.#go = done;
    });
  }
}
