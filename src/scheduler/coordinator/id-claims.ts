/**
 * Job ids that clients say they have just made. They are believed, so that a submission reads nothing from the
 * store. A false claim is harmless to data: the store takes no second job of one id and refuses the whole
 * batch. But then the leader has to read its memory back. So that nobody can bring this about at will, each
 * claim in such a batch is looked up before its event is fed again, and for a while all claims are.
 */
import { MillraceError } from '../core/index.ts';
import type { Instant, JobId } from '../core/index.ts';

export interface IdClaimsOptions {
  /** Whether the store has a job of this id. */
  readonly isTaken: (id: JobId) => Promise<boolean>;
  readonly now: () => Instant;
}

/** How long ids are looked up after a false claim. */
const DOUBT_MS = 10 * 60_000;

export class IdClaims {
  readonly #options: IdClaimsOptions;
  #doubtedUntil = 0;

  constructor(options: IdClaimsOptions) {
    this.#options = options;
  }

  get areBelieved(): boolean {
    return this.#options.now() >= this.#doubtedUntil;
  }

  /** Null when the claim is true. */
  async checked(id: JobId): Promise<MillraceError | null> {
    if (!(await this.#options.isTaken(id))) return null;
    this.#doubtedUntil = this.#options.now() + DOUBT_MS;
    return new MillraceError({ code: 'conflict', what: `There is already a job ${id}.` });
  }
}
