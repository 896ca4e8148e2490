/** Waiting for jobs to end. Where this node leads its memory says when; on other nodes the store is polled. */
import { isFinished, isMillraceError } from '../../scheduler/core/index.ts';
import type { JobId, LogKind } from '../../scheduler/core/index.ts';
import type { CommittedEvents } from '../../scheduler/contract/index.ts';
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

const ENDS: ReadonlySet<LogKind> = new Set<LogKind>([
  'job.succeeded',
  'job.failed',
  'job.cancelled',
]);

export class JobWaits {
  readonly #options: JobWaitsOptions;
  readonly #waiting: Map<JobId, Set<() => void>> = new Map();
  #isLooking = false;

  constructor(options: JobWaitsOptions) {
    this.#options = options;
  }

  /** The leader in this process has committed these. Only those who wait for a job that has ended hear of it. */
  committed({ events }: Pick<CommittedEvents, 'events'>): void {
    if (this.#waiting.size === 0) return;
    for (const { kind, jobId } of events) {
      if (jobId === null || !ENDS.has(kind)) continue;
      for (const look of this.#waiting.get(jobId) ?? []) look();
    }
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
      for (const [id, looks] of this.#waiting) {
        if (memory?.isLive(id) !== true) for (const look of looks) look();
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
    const waiting = this.#waiting.get(id) ?? new Set();
    this.#waiting.set(id, waiting);
    const news = new News(() => {
      waiting.delete(news.tell);
      if (waiting.size === 0 && this.#waiting.get(id) === waiting) this.#waiting.delete(id);
    });
    waiting.add(news.tell);
    return news;
  }
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
