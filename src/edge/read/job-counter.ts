/** How many jobs are in each state, without a walk over them for everybody who asks. */
import type { CountedJobs, Dated } from '../../scheduler/contract/index.ts';
import type { JobCounts } from '../../scheduler/store/index.ts';

/** At least this long an answer serves everybody. */
const REUSE_MS = 1_000;
/** And for so many times as long as it took: counting is at most a twentieth of what one connection does. */
const REUSE_FACTOR = 20;
/** Nothing in the log says what retention removes. */
const QUIET_MS = 60_000;

export interface JobCounterOptions {
  /** How many jobs are looked at, the newest first. */
  readonly newest: number;
  readonly count: (newest: number) => Promise<Dated<JobCounts>>;
  readonly nowMs: () => number;
}

interface Answer {
  readonly counted: Dated<CountedJobs>;
  readonly atMs: number;
  readonly tookMs: number;
}

export class JobCounter {
  readonly #options: JobCounterOptions;
  #last: Answer | null = null;
  #counting: Promise<Answer> | null = null;

  constructor(options: JobCounterOptions) {
    this.#options = options;
  }

  /** `seq`: the number of the last event, as the caller knows it. */
  async read(seq: number): Promise<Dated<CountedJobs>> {
    if (this.#last !== null && this.#isGood(this.#last, seq)) return this.#last.counted;
    this.#counting ??= this.#count().finally(() => (this.#counting = null));
    return (await this.#counting).counted;
  }

  #isGood({ counted, atMs, tookMs }: Answer, seq: number): boolean {
    const ageMs = this.#options.nowMs() - atMs;
    const isQuiet = counted.asOf.seq === seq;
    return ageMs < Math.max(isQuiet ? QUIET_MS : REUSE_MS, tookMs * REUSE_FACTOR);
  }

  async #count(): Promise<Answer> {
    const { newest, count, nowMs } = this.#options;
    const startMs = nowMs();
    const { asOf, value: counts } = await count(newest);
    const seen = Object.values(counts).reduce((sum, each) => sum + each, 0);
    const atMs = nowMs();
    const counted = { asOf, value: { counts, isWhole: seen < newest } };
    this.#last = { counted, atMs, tookMs: atMs - startMs };
    return this.#last;
  }
}
