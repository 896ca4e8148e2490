/**
 * The reigns that the leader's line speaks for. Its connection stands for each of them in the
 * leader's row and holds the shard's lock, so that both end with this process. When the connection is
 * made anew it says so before anything else: a leader that only lost its connection still leads.
 */
import type { Term } from '../store.ts';
import type { Run } from './connection.ts';

export class Standing {
  readonly #terms: Map<number, Term> = new Map();

  /** Whether somebody would take the loss of the connection for our end. */
  get isNeeded(): boolean {
    return this.#terms.size > 0;
  }

  begin(term: Term): void {
    this.#terms.set(term.shard, term);
  }

  /** True when it was ours. */
  end(term: Term): boolean {
    const known = this.#terms.get(term.shard);
    if (known?.epoch !== term.epoch || known.id !== term.id) return false;
    return this.#terms.delete(term.shard);
  }

  /** On a new connection. */
  async standForAll(run: Run): Promise<void> {
    for (const term of [...this.#terms.values()]) await this.standFor(term, run);
  }

  async standFor(term: Term, run: Run): Promise<void> {
    const { shard, epoch, id } = term;
    const [row] = await run('select millrace.stand($1, $2, $3) as stands', [shard, epoch, id]);
    if (row?.['stands'] !== true) this.end(term);
  }
}
