/**
 * The terms that the leader's connection holds. The connection is recorded in the leader's row for each of them and
 * holds the shard's lock, so that both end with this process. A new connection records itself before anything else: a
 * leader that only lost its connection still leads, and one that stepped down without a connection gives its terms
 * back, which may have long to go.
 */
import type { Term } from '../store.ts';
import type { Run } from './connection.ts';

export async function release(run: Run, { shard, epoch, id }: Term): Promise<void> {
  const statement = `update millrace.leader set released = true
    where shard = $1 and epoch = $2 and term = $3 and not released`;
  await run(statement, [shard, epoch, id]);
}

export class HeldTerms {
  readonly #terms: Map<number, Term> = new Map();
  readonly #leaving: Set<Term> = new Set();

  /** Whether a candidate would take the loss of the connection for the end of a term. */
  get isNeeded(): boolean {
    return this.#terms.size > 0;
  }

  begin(term: Term): void {
    const before = this.#terms.get(term.shard);
    if (before !== undefined) this.#leaving.delete(before);
    this.#terms.set(term.shard, term);
  }

  /** From now on a new connection does not hold it, but gives it back. */
  leave(term: Term): void {
    const known = this.#known(term);
    if (known !== null) this.#leaving.add(known);
  }

  /** True when it was ours. */
  end(term: Term): boolean {
    const known = this.#known(term);
    if (known === null) return false;
    this.#leaving.delete(known);
    return this.#terms.delete(term.shard);
  }

  /** On a new connection. */
  async standForAll(run: Run): Promise<void> {
    for (const term of [...this.#terms.values()]) {
      if (this.#leaving.has(term)) await release(run, term).then(() => this.end(term));
      else await this.standFor(term, run);
    }
  }

  async standFor(term: Term, run: Run): Promise<void> {
    const { shard, epoch, id } = term;
    const [row] = await run('select millrace.stand($1, $2, $3) as stands', [shard, epoch, id]);
    if (row?.['stands'] !== true) this.end(term);
  }

  #known({ shard, epoch, id }: Term): Term | null {
    const known = this.#terms.get(shard);
    return known?.epoch === epoch && known.id === id ? known : null;
  }
}
