/**
 * What a journaled store asks of a database: a journal to append to, and tables that follow behind. A commit is one
 * record of the journal; a fold brings the tables forward by any number of records, each row written once in its
 * last form.
 */
import type { Batch, Instant, TaskRow, TermId } from '../../core/index.ts';
import type { Counters, Store, Term } from '../store.ts';

/** One commit as it is appended, with the counters after it. */
export interface NewRecord extends Counters {
  readonly body: string;
}

/** One commit as it is read again. */
export interface JournalRecord {
  readonly commitNo: number;
  readonly term: TermId;
  readonly body: string;
}

/** How far the journal goes, and how far the tables have followed. */
export interface JournalState {
  readonly head: Counters;
  readonly foldedNo: number;
}

/** Some consecutive commits as one change of the tables. */
export interface Fold {
  /** The last commit that is in the tables already. */
  readonly after: number;
  /** The term that made commit `batch.commitNo`. The fold is refused when this history has another commit there. */
  readonly term: TermId;
  readonly batch: Batch;
  /** Ended runs that never were in the tables, straight to the history. */
  readonly history: readonly TaskRow[];
}

export interface JournalTables extends Omit<Store, 'commit'> {
  /**
   * Throws `bad_row` when rows of a batch contradict the tables: a name that is taken, a task that is not there. What
   * commits that are only in the journal say of them has been taken out of the batch.
   */
  check(shard: number, unproven: Batch): Promise<void>;
  /** Fenced and numbered like a commit: see `Store.commit`. */
  append(term: Term, ttlMs: number, record: NewRecord): Promise<Instant>;
  /** Returns false, and changes nothing, unless the tables are at `after` and the commit is of that term. */
  fold(shard: number, fold: Fold): Promise<boolean>;
  /** Shards whose tables are not where their journal is. */
  shardsBehind(): Promise<readonly number[]>;
  journalState(shard: number): Promise<JournalState>;
  /** The oldest records that are not in the tables; fewer when they are large, but none only when there are none. */
  journal(shard: number, limit: number): Promise<readonly JournalRecord[]>;
}
