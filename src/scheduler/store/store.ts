/**
 * The store port: all that Millrace asks of a database, on one page. Three adapters keep it
 * (memory, DuckDB, PostgreSQL) and one conformance suite holds all three to it.
 *
 * Promises every adapter makes:
 *  - `commit` is atomic, and fenced: it changes nothing unless `term` still leads its shard.
 *  - What `commit` acknowledged is there after any crash.
 *  - A store that was rewound (restored from a backup, or failed over to a replica that lacks the last
 *    commits) says `rewound` to the term whose commits it has lost, and takes nothing from it.
 *  - An error of code `outcome_unknown` means just that; `deposed`, `rewound`, `bad_row` and
 *    `store_unavailable` mean that nothing was changed.
 *  - Times are the database's own; `now` in answers is its clock.
 */
import type {
  Batch,
  ClusterImage,
  EventRow,
  EventView,
  Instant,
  JobId,
  JobImage,
  JobNo,
  JobRow,
  JobState,
  KeyRow,
  LimitRow,
  NodeId,
  NodeRow,
  DeclarationKind,
  DeclarationRow,
  ResultRow,
  ScheduleRow,
  SignalRow,
  StepRow,
  TaskId,
  TaskNo,
  TaskRef,
  TaskRow,
  TaskSpecRow,
  TermId,
} from '../core/index.ts';

import type { TaskLogStore } from './task-log.ts';

export type { ClusterImage, EventView, JobImage } from '../core/index.ts';

/** One leader's term over one shard. */
export interface Term {
  readonly shard: number;
  readonly epoch: number;
  readonly id: TermId;
}

export interface LeaderInfo {
  readonly nodeId: string;
  readonly url: string | null;
  readonly grpc: string | null;
  readonly epoch: number;
  readonly term: TermId;
  readonly expiresAt: Instant;
}

export interface Candidacy {
  readonly shard: number;
  readonly nodeId: string;
  readonly url: string | null;
  readonly grpc: string | null;
  /** A fresh random id, used if this candidate wins. */
  readonly term: TermId;
  readonly ttlMs: number;
  /** The highest epoch that this process has seen. A rewound store has forgotten it; the next one is higher all the
   * same, so that an old leader is never taken for the new one. */
  readonly above?: number;
  /** The epoch that `whenVacant` found deserted: it may be deposed before its time is up. */
  readonly vacated?: number;
}

/** The leader that a won campaign has deposed. */
export interface Predecessor {
  readonly nodeId: string;
  readonly epoch: number;
  /** The store has proof that its process is gone; otherwise only its time was up. */
  readonly isGone: boolean;
}

export type Campaign =
  | {
      readonly won: true;
      readonly term: Term;
      readonly now: Instant;
      /** Null if there was no leader before, or it has given the shard back. */
      readonly previous: Predecessor | null;
    }
  | { readonly won: false; readonly leader: LeaderInfo; readonly now: Instant };

export interface JobPortion {
  readonly jobs: readonly JobImage[];
  /** Where the next portion starts; null after the last. */
  readonly next: JobNo | null;
}

/** A task with everything that people may see of it. */
export interface TaskView {
  readonly spec: TaskSpecRow;
  readonly task: TaskRow;
  /** JSON text of the current run's result; null when there is none or it is null. */
  readonly result: string | null;
}

export interface JobView {
  readonly job: JobRow;
  readonly tasks: readonly TaskView[];
  /** Rows of earlier runs, oldest first. */
  readonly history: readonly TaskRow[];
}

export interface JobFilter {
  readonly state?: JobState;
  readonly name?: string;
  /** Only jobs with all of these, `key:value`. */
  readonly labels?: readonly string[];
  /** Only jobs with a task that waits for a signal of this name, or for any: `ANY_SIGNAL`. */
  readonly waitingFor?: string;
  /** Only jobs of this schedule. */
  readonly schedule?: string;
  /** Only jobs that this event or task has started: `event/NAME`, `event/NAME/ID`, `job/ID` or `job/ID/TASK`. */
  readonly startedBy?: string;
  /** Only jobs that were created at this time or later. */
  readonly since?: Instant;
  /** Only jobs that were created before. */
  readonly until?: Instant;
  /** Newest first; only jobs with a smaller number. */
  readonly before?: JobNo;
  readonly limit: number;
}

export interface ListedJob extends JobRow {
  /** In a list by `waitingFor`: all signals that its tasks wait for, or at least that one. */
  readonly waitsFor?: readonly string[];
}

export interface NodeView extends NodeRow {
  /** The tasks that it holds, as far as they are committed. */
  readonly running: number;
}

export type Holds = (node: NodeId) => number;

export type JobCounts = Readonly<Record<JobState, number>>;

/** Of a store without jobs. */
export const NO_JOBS: JobCounts = { queued: 0, running: 0, succeeded: 0, failed: 0, cancelled: 0 };

export interface DeadFilter {
  /** Newest first; only tasks before this one in that order. */
  readonly before?: TaskRef;
  readonly limit: number;
}

/** A task that is out of attempts. */
export interface DeadTask {
  readonly jobId: JobId;
  readonly taskId: TaskId;
  readonly executor: string;
  readonly task: TaskRow;
}

/** How far the log goes. */
export interface LogHead {
  /** The newest event; 0 when there was none yet. */
  readonly seq: number;
  /** The oldest one that is kept, or the next one when none is. */
  readonly firstSeq: number;
  /** The last term that has begun; null before the first one. Together with an event number it names a
   * place in this history and in no other, see `termEnd`. */
  readonly term: TermId | null;
  /** The database's time at which this was true. */
  readonly at: Instant;
}

/** A point in a shard's history. */
export interface Counters {
  readonly commitNo: number;
  readonly lastSeq: number;
  readonly nextJobNo: JobNo;
}

export interface InboxRow {
  readonly no: number;
  readonly jobId: JobId;
  /** JSON text, unchecked. */
  readonly document: string;
}

export interface DeclarationChange {
  readonly put: readonly DeclarationRow[];
  /** Names. */
  readonly removed: readonly string[];
}

export interface Retention {
  readonly jobsMs: number;
  /** Finished queries go earlier than other jobs; absent if they are not looked for. */
  readonly queriesMs?: number;
  /** So do jobs that ended in a way in which they are not kept: see `isUnkept`. Absent if they are not looked for. */
  readonly unkeptMs?: number;
  readonly eventsMs: number;
  readonly keysMs: number;
  /** The limit on jobs in one call, so that a prune never holds up commits for long. */
  readonly jobsMax: number;
}

/** One job instead, whatever its age, if it has ended. */
export interface Removal {
  readonly only: JobNo;
}

export type Pruning = Retention | Removal;

export interface Pruned {
  readonly jobs: number;
  readonly events: number;
  readonly keys: number;
  /** There is more to prune: call again. */
  readonly more: boolean;
}

/** A row of any table, for moving a store: `export` writes them, `import` reads them. */
export type Dumped =
  | {
      readonly table: 'counters';
      readonly row: { readonly shard: number; readonly lastSeq: number; readonly nextJobNo: JobNo };
    }
  | { readonly table: 'job'; readonly row: JobRow }
  | { readonly table: 'spec'; readonly row: TaskSpecRow }
  | { readonly table: 'task'; readonly row: TaskRow }
  | { readonly table: 'history'; readonly row: TaskRow }
  | { readonly table: 'result'; readonly row: ResultRow }
  | { readonly table: 'step'; readonly row: StepRow }
  | { readonly table: 'signal'; readonly row: SignalRow }
  | { readonly table: 'key'; readonly row: KeyRow }
  | { readonly table: 'node'; readonly row: NodeRow }
  | { readonly table: 'schedule'; readonly row: ScheduleRow }
  | { readonly table: 'limit'; readonly row: LimitRow }
  | { readonly table: 'operator'; readonly row: DeclarationRow }
  | { readonly table: 'flow'; readonly row: DeclarationRow }
  | { readonly table: 'inbox'; readonly row: InboxRow }
  | { readonly table: 'event'; readonly row: EventRow };

export interface Store {
  readonly kind: 'memory' | 'duckdb' | 'postgres';
  /** Whether several processes may share it. */
  readonly clustered: boolean;

  // Leadership
  /** Takes the shard, with epoch + 1, if it is free, released or expired by the database clock. */
  campaign(candidacy: Candidacy): Promise<Campaign>;
  /** Extends the term; throws `deposed` if it has ended, `rewound` if commit `commitNo`, the last acknowledged one, is
   * missing. Returns the database's time. */
  renew(term: Term, ttlMs: number, commitNo: number): Promise<Instant>;
  /** Gives the shard back at once; does nothing when it is no longer ours. */
  resign(term: Term): Promise<void>;
  leader(shard: number): Promise<LeaderInfo | null>;
  /**
   * How far the history goes that a term had a part in: to the beginning of the next term, or to the end
   * when it is the last. Null when the term is not part of this history, or so old that it was forgotten.
   */
  termEnd(shard: number, term: TermId): Promise<Counters | null>;
  /**
   * Settles with the epoch whose leader is seen to have gone before its time, for `campaign`, and with
   * null when `signal` aborts. Absent where only time can tell.
   */
  whenVacant?(shard: number, signal: AbortSignal): Promise<number | null>;

  // The one way to change anything else
  /** How many commits of a term may be under way at the same time. Each takes effect after those that were asked for before
   * it, or not at all. One where it is absent. */
  readonly commitsAtOnce?: number;
  /** Answers the database's time of the transaction. Renews the term for `ttlMs` as well. */
  commit(term: Term, ttlMs: number, batch: Batch): Promise<Instant>;
  /** Removes finished jobs, events and completed keys by age, or one finished job; fenced like a commit. */
  prune(term: Term, retention: Pruning): Promise<Pruned>;

  /** Writes and removes declarations of workers, fenced like a commit. */
  changeDeclarations(term: Term, kind: DeclarationKind, change: DeclarationChange): Promise<void>;

  /** What tasks have printed. It is not moved by `dump` and `fill`. */
  readonly taskLog: TaskLogStore;

  /** How many commits of the leader here only the journal has. Null where nobody leads; absent without a journal. */
  unfolded?(shard: number): Promise<number | null>;

  // Loading, for a new leader
  loadCluster(shard: number): Promise<ClusterImage>;
  /** Live jobs that have a running task: a new leader needs these before it can serve. */
  loadBusyJobs(shard: number): Promise<readonly JobImage[]>;
  /** All live jobs in portions: urgent priorities first, then by number. */
  loadJobs(shard: number, priority: number, from: JobNo, limit: number): Promise<JobPortion>;
  /** One job, live or finished. */
  loadJob(shard: number, id: JobId): Promise<JobImage | null>;

  // Reading payloads and views
  inputs(shard: number, refs: readonly TaskRef[]): Promise<ReadonlyMap<string, string>>;
  /** Results of the tasks' current runs, by `refKey`. */
  results(shard: number, refs: readonly TaskRef[]): Promise<ReadonlyMap<string, string>>;
  steps(shard: number, ref: TaskRef, run: number): Promise<readonly StepRow[]>;
  keys(shard: number, scopes: readonly string[]): Promise<readonly KeyRow[]>;
  jobIdForKey(shard: number, idempotencyKey: string): Promise<JobId | null>;
  /** Hot rows as they are stored, by `refKey`. */
  taskRows(shard: number, refs: readonly TaskRef[]): Promise<ReadonlyMap<string, TaskRow>>;
  task(shard: number, id: JobId, taskId: TaskId): Promise<TaskView | null>;
  jobRow(shard: number, id: JobId): Promise<JobRow | null>;
  /** Those of the ids that name a job. */
  takenIds(shard: number, ids: readonly JobId[]): Promise<ReadonlySet<JobId>>;
  /** The next `limit` ids after `after` in an order of its own, of all shards. Absent where a look-up costs nothing. */
  jobIds?(after: string, limit: number): Promise<readonly JobId[]>;
  job(shard: number, id: JobId): Promise<JobView | null>;
  jobs(shard: number, filter: JobFilter): Promise<readonly ListedJob[]>;
  /** How many of the `newest` jobs are in each state. No index follows a state, so they are walked: ask rarely. */
  countJobs(shard: number, newest: number): Promise<JobCounts>;
  /** In order, from `after` (exclusive). Throws `not_found` when `after` is past retention. */
  events(shard: number, after: number, limit: number, jobId?: JobId): Promise<readonly EventView[]>;
  /** The log's head; reading a view after it shows at least as much. */
  lastSeq(shard: number): Promise<LogHead>;
  /** By id. `holds` says how many tasks a node holds, where somebody knows: to count them takes a walk over all live jobs. */
  nodes(shard: number, holds?: Holds): Promise<readonly NodeView[]>;
  /** By id. */
  schedules(shard: number): Promise<readonly ScheduleRow[]>;
  /** What workers have declared, by name. */
  declarations(shard: number, kind: DeclarationKind): Promise<readonly DeclarationRow[]>;
  /** Failed tasks with the error code `dead`, those of the newest job first. */
  deadTasks(shard: number, filter: DeadFilter): Promise<readonly DeadTask[]>;
  /** The oldest ones; fewer than `limit` when they are large, but none only when there are none. */
  inbox(shard: number, limit: number): Promise<readonly InboxRow[]>;
  /** Calls `fn` when rows may have come into the inbox: at once, after each transaction that put one
   * there, and after a gap in which that may have been missed. Returns how to stop. Absent where
   * rows only come with an import. */
  onInbox?(fn: () => void): Promise<() => Promise<void>>;

  // Moving
  /** Shard by shard: a `counters` row opens each shard, the rows after it belong to it. */
  dump(): AsyncIterable<Dumped>;
  /** Into an empty store only; one transaction. Returns the number of rows. */
  fill(rows: AsyncIterable<Dumped>): Promise<number>;

  close(): Promise<void>;
}

/** How `inputs` and `results` name a task. */
export function refKey(jobNo: JobNo, taskNo: TaskNo): string {
  return `${jobNo}/${taskNo}`;
}
