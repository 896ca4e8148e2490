/**
 * The journal of a shard that another process leads, as far as it was read. Each look reads what was appended since the
 * last one, so that a reader who follows the log does not read the same commits again and again.
 */
import { type TermId } from '../../core/index.ts';
import { layersOf, settledIn } from './catch-up.ts';
import type { Layers } from './overlay.ts';
import type { Pending } from './pending.ts';
import type { JournalState, JournalTables } from './port.ts';

/** Read in one go. */
const RECORDS_AT_ONCE = 1_000;
/** More than this is not kept from one look to the next: most of it is in the tables by then. */
const ROWS_KEPT = 100_000;

interface Read {
  readonly term: TermId | null;
  /** Oldest first, without a gap. */
  readonly layers: readonly Pending[];
}

export class FollowedJournal {
  readonly #tables: JournalTables;
  readonly #shard: number;
  #read: Read = { term: null, layers: [] };
  #turn: Promise<unknown> = Promise.resolve();

  constructor(tables: JournalTables, shard: number) {
    this.#tables = tables;
    this.#shard = shard;
  }

  /** All commits that the tables did not have when this was called, newest first. */
  layers(): Promise<Layers> {
    const answer = this.#turn.then(() => this.#look());
    this.#turn = answer.catch(() => {});
    return answer;
  }

  async #look(): Promise<Layers> {
    for (;;) {
      const state = await this.#tables.journalState(this.#shard);
      const { commitNo } = state.head;
      if (settledIn(state) === commitNo) this.#read = { term: state.term, layers: [] };
      else if (!(await this.#catchUp(state))) continue;
      return this.#read.layers.toReversed();
    }
  }

  /** False when what was to be read has come into the tables meanwhile, and is not in the journal any more. */
  async #catchUp(state: JournalState): Promise<boolean> {
    const { term, head } = state;
    // With what the tables have taken in since then, where folds leave jobs out: it says the same as the tables do.
    const settledNo = settledIn(state);
    const layers = this.#kept(term, head.commitNo, settledNo);
    let at = layers.at(-1)?.commitNo ?? settledNo;
    while (at < head.commitNo) {
      const records = await this.#tables.journal(this.#shard, at, RECORDS_AT_ONCE);
      if (records[0]?.commitNo !== at + 1) {
        this.#read = { term: null, layers: [] };
        return false;
      }
      layers.push(...layersOf(records));
      at += records.length;
    }
    this.#read = { term, layers };
    return true;
  }

  /** Layers that the tables have taken in already say the same as the tables do. */
  #kept(term: TermId | null, headNo: number, settledNo: number): Pending[] {
    const { layers } = this.#read;
    const end = layers.at(-1)?.commitNo ?? 0;
    const rows = layers.reduce((all, layer) => all + layer.rows, 0);
    const isSame = this.#read.term === term && settledNo <= end && end <= headNo;
    return isSame && rows <= ROWS_KEPT ? layers.filter((layer) => layer.commitNo > settledNo) : [];
  }
}
