/**
 * Commits of a term that were sent and are not answered yet, oldest first. The journal takes each of them only after all
 * those before it. So they prove the rows of the commits that follow on them, which fail when they fail; nobody reads them
 * before they are answered.
 */
import { type Batch, type Instant, MillraceError, type TermId } from '../../core/index.ts';
import type { Counters } from '../store.ts';
import { SentBatch } from './sent-batch.ts';

interface Sent {
  readonly batch: Batch;
  readonly answered: Promise<Failure>;
  readonly proof: SentBatch;
}

/** What became of a commit; null when the journal has it. */
type Failure = { readonly error: unknown } | null;

const DONE: Promise<Failure> = Promise.resolve(null);

export class InFlight {
  readonly #term: TermId;
  readonly #sent: Sent[] = [];

  constructor(term: TermId) {
    this.#term = term;
  }

  /** Newest first. */
  get layers(): readonly SentBatch[] {
    return this.#sent.map(({ proof }) => proof).toReversed();
  }

  /** After the newest one; null when there is none. */
  get head(): Counters | null {
    return this.#sent.at(-1)?.batch ?? null;
  }

  /** Settles when fewer than so many are under way. */
  async below(max: number): Promise<void> {
    while (this.#sent.length >= max) await this.#sent[0]?.answered;
  }

  /** Settles after all that were sent before, and only then calls `then`: if the journal has all of them. */
  add(batch: Batch, appended: Promise<Instant>, then: () => void): Promise<Instant> {
    const before = this.#sent.at(-1)?.answered ?? DONE;
    const answer = this.#inOrder(before, appended, then);
    const answered = answer.then(
      () => null,
      (error: unknown) => ({ error }),
    );
    this.#sent.push({ batch, answered, proof: new SentBatch(this.#term, batch) });
    return answer;
  }

  async #inOrder(
    before: Promise<Failure>,
    appended: Promise<Instant>,
    then: () => void,
  ): Promise<Instant> {
    try {
      const [failure] = await Promise.all([before, appended.catch(() => {})]);
      if (failure !== null) throw fallenWith(failure.error);
      const at = await appended;
      then();
      return at;
    } finally {
      this.#sent.shift();
    }
  }
}

/** It is not there either, whatever the store says of it: that its number is wrong, for instance. */
function fallenWith(cause: unknown): MillraceError {
  const isKnown = cause instanceof MillraceError && cause.code !== 'outcome_unknown';
  return new MillraceError({
    code: isKnown ? 'store_unavailable' : 'outcome_unknown',
    what: 'The commit before this one has failed.',
    why: isKnown ? 'Nothing was changed.' : 'It is not known whether either of them was made.',
    todo: 'Look at the failure of that one.',
    cause,
  });
}
