/** The last terms that were led from here. A late call must not lead anew: what is known of a term that is over stands still,
 * and reads would show that. */
import type { Term } from '../store.ts';

/** Calls of a term do not come later than this. */
const ENDED_MAX = 100;

export class EndedTerms {
  readonly #names: Set<string> = new Set();

  has(term: Term): boolean {
    return this.#names.has(nameOf(term));
  }

  add(term: Term): void {
    this.#names.add(nameOf(term));
    const [oldest] = this.#names;
    if (this.#names.size > ENDED_MAX && oldest !== undefined) this.#names.delete(oldest);
  }

  clear(): void {
    this.#names.clear();
  }
}

const nameOf = ({ shard, epoch, id }: Term): string => `${shard}/${epoch}/${id}`;
