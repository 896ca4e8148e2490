/**
 * What a journaled store asks of a database: a journal to append to, and tables that follow behind. A commit is one
 * record of the journal; a fold brings the tables forward by any number of records, each row written once in its
 * last form.
 */
import { defined } from '../../../kit/index.ts';
import type { Batch, Instant, JobNo, TaskRow, TermId } from '../../core/index.ts';
import type { EventChunk } from '../event-chunk.ts';
import type { Counters, Pruned, Pruning, Store, Term } from '../store.ts';

/** One commit as it is appended, with the counters after it. */
export interface NewRecord extends Counters {
  /** The events of the commit: the numbers up to `lastSeq`. */
  readonly eventCount: number;
  /** How far the tables were when the rows of the commit were checked against them. Tables that are behind that have
   * another history, although it may have the same commits: `rewound`. */
  readonly foldedNo: number;
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
  /** The last leader's. Another one may have another history: what was read of the journal before is worth nothing. */
  readonly term: TermId | null;
  readonly head: Counters;
  readonly foldedNo: number;
  /** Of jobs that were submitted after this commit and are not in the tables, the journal alone has the rows. The same as
   * `foldedNo` when there are none, and where folds leave no job out. */
  readonly settledNo?: number;
}

/** Some consecutive commits as one change of the tables. */
export interface Fold {
  /** The last commit that is in the tables already. */
  readonly after: number;
  /** Where `settledNo` is before this fold, and after it. */
  readonly settledBefore: number;
  readonly settledNo: number;
  /** The number of the event before the first one that any job has that is new in the tables. */
  readonly logFrom: number;
  /** The term that made commit `batch.commitNo`. The fold is refused when this history has another commit there. */
  readonly term: TermId;
  readonly batch: Batch;
  /** Ended runs that never were in the tables, straight to the history. */
  readonly history: readonly TaskRow[];
  /** The events of the batch as they are stored. */
  readonly chunks: readonly EventChunk[];
}

/** Acts with the tables up to date and no commit meanwhile. */
export type Alone = <T>(act: () => Promise<T>) => Promise<T>;

/** What a commit appends: see `JournalTables.append`. */
export type Appended = Parameters<JournalTables['append']>;

export interface JournalTables extends Omit<Store, 'commit' | 'prune'> {
  /**
   * Fenced and numbered like a commit, and as many at once: see `Store.commit`. Throws `bad_row` when rows of `unproven` contradict the tables:
   * a name that is taken, a task that is not there. These are the rows of the commit on which the commits that are only in
   * the journal say nothing; null when there are none.
   */
  append(term: Term, ttlMs: number, record: NewRecord, unproven: Batch | null): Promise<Instant>;
  /** Returns false, and changes nothing, unless the tables are at `after` and `settledBefore`, and the commit is of that term. */
  fold(shard: number, fold: Fold): Promise<boolean>;
  /** Shards whose tables are not where their journal is. */
  shardsBehind(): Promise<readonly number[]>;
  journalState(shard: number): Promise<JournalState>;
  /**
   * The oldest records after commit `after`; fewer when they are large, but none only when there are none. Those that are in
   * the tables may be missing.
   */
  journal(shard: number, after: number, limit: number): Promise<readonly JournalRecord[]>;
  /** Which of these jobs the tables have. Only where folds may leave jobs out. */
  storedJobs?(shard: number, numbers: readonly JobNo[]): Promise<ReadonlySet<JobNo>>;
  /** See `Store.prune`. What is removed is chosen, or looked at once more, within `alone`. */
  prune(term: Term, retention: Pruning, alone: Alone): Promise<Pruned>;
}

/** What only some tables have. */
export function optionalParts(
  tables: JournalTables,
): Pick<Store, 'commitsAtOnce' | 'whenVacant' | 'onInbox' | 'jobIds'> {
  const parts = {
    commitsAtOnce: tables.commitsAtOnce,
    whenVacant: tables.whenVacant?.bind(tables),
    onInbox: tables.onInbox?.bind(tables),
    jobIds: tables.jobIds?.bind(tables),
  };
  return defined(parts);
}
