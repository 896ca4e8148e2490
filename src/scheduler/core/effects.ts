/**
 * What a step leaves to be done: rows to write, then answers to send. Nothing here may reach
 * anybody before the rows are committed.
 */
import { type MillraceError, broken } from './errors.ts';
import type { Ask } from './event.ts';
import { JobList, RowsByKey, TaskList } from './memory/row-list.ts';
import type { Instant, JobId, JobNo, NodeId, ScheduleId, TaskId, TaskNo } from './ids.ts';
import type { Batch, TaskRef } from './rows.ts';
import type {
  CopiedResultRow,
  EventView,
  JobRow,
  KeyRow,
  LimitRow,
  NamedBatch,
  NodeRow,
  ResultRow,
  ScheduleRow,
  SignalRow,
  StepRow,
  TakenSignalRow,
  TaskRow,
  TaskSpecRow,
} from './rows.ts';
import type { Pause } from './queue/pause.ts';
import type { Trace } from './document/document.ts';
import type { StartedBy } from './document/job-options.ts';
import type { Labels } from './document/labels.ts';
import type { JobState } from './task/chart.ts';
import type { LeaseName } from './task/lease.ts';

/** What has started a job, and its labels: a handler may ask for them. */
export interface JobAbout {
  readonly startedBy: StartedBy | null;
  readonly labels: Labels;
}

/** One task for one worker. The input is fetched from the store when the answer is sent. */
export interface Assignment {
  readonly lease: LeaseName;
  readonly jobId: JobId;
  readonly taskId: TaskId;
  readonly executor: string;
  readonly run: number;
  readonly attempt: number;
  readonly runMs: number | null;
  /** By the database's clock. */
  readonly assignedAt: Instant;
  /** The time for which a schedule has started the job; null for all other jobs. */
  readonly scheduledAt: Instant | null;
  /** It has added tasks of its own to the job. */
  readonly hasChildren: boolean;
  /** True when the task goes on after a suspension. */
  readonly resumed: boolean;
  /** The key that its user gave it. */
  readonly idempotencyKey: string | null;
  /** Where the job stands in a trace; null if that is not known. */
  readonly trace: Trace | null;
  /** What the job carries beside its tasks; absent for a job that has neither. */
  readonly about?: JobAbout;
  /** The other tasks of its batch: it is given their items too. Null when they are not known yet, so it must wait. */
  readonly members?: readonly TaskRef[] | null;
}

/** What the leader wants of a worker, sent with every answer. */
export interface Orders {
  /** Stop these: cancelled, timed out, or no longer yours. */
  readonly abort: readonly LeaseName[];
  readonly drain: boolean;
}

/** `lost`: not your lease any more, abort. `unknown`: the job is not in memory, ask the store. */
export type Verdict = 'ok' | 'lost' | 'unknown';

/** What became of a signal at once. */
export interface SignalFate {
  /** The task that has taken it; null when it is kept, because nobody waits for one of its name. */
  readonly takenBy: TaskId | null;
  /** The names of the signals that tasks of the job wait for. */
  readonly awaited: readonly string[];
}

/** The answer to a call about one job, from here to the client. */
export interface JobReply {
  readonly jobId: JobId;
  readonly state: JobState;
  readonly run: number;
  /** False when the call changed nothing: the job was there already, or it was over. */
  readonly changed: boolean;
  /** Of a signal that was just accepted. */
  readonly signal?: SignalFate;
  /** Why a change of its time has changed nothing, as a sentence. */
  readonly why?: string;
}

/** The answer to a call about one schedule. */
export interface ScheduleReply {
  readonly scheduleId: ScheduleId;
  readonly nextAt: Instant | null;
  /** The job that this call has started. */
  readonly jobId: JobId | null;
}

/** A job that runs a schedule for a time that has passed. */
export interface BackfilledJob {
  readonly at: Instant;
  readonly jobId: JobId;
  /** False when it was there before, or when a singleton lives in its place. */
  readonly isNew: boolean;
}

/** Why a schedule that a flow declares is not there as it is declared. */
export interface DeclaredNote {
  readonly scheduleId: ScheduleId;
  readonly note: string;
}

/** The answer to a call that pauses or resumes a queue. */
export interface PauseReply {
  /** The pause that there is now. */
  readonly pause: Pause | null;
  /** False when the call changed nothing. */
  readonly changed: boolean;
}

/** What an event has brought about. */
export interface EventFate {
  readonly woken: readonly WokenTask[];
  readonly cancelled: readonly JobId[];
  /** Tasks whose jobs have got as many signals as they may: they still wait. */
  readonly full: readonly WokenTask[];
  /** There are more of them than one transaction takes: raise it again. */
  readonly isMore: boolean;
}

export interface WokenTask {
  readonly job: JobId;
  readonly task: TaskId;
}

export type ReplyBody =
  | ({ readonly type: 'job' } & JobReply)
  | { readonly type: 'jobs'; readonly replies: readonly (JobReply | MillraceError)[] }
  | { readonly type: 'registered'; readonly sessionTtlMs: number; readonly heartbeatMs: number }
  | { readonly type: 'orders'; readonly orders: Orders }
  | {
      readonly type: 'assignments';
      readonly assignments: readonly Assignment[];
      readonly orders: Orders;
    }
  | { readonly type: 'verdicts'; readonly verdicts: readonly Verdict[]; readonly orders: Orders }
  | { readonly type: 'done' }
  | ({ readonly type: 'raised' } & EventFate)
  | { readonly type: 'node'; readonly nodeId: NodeId }
  | ({ readonly type: 'schedule' } & ScheduleReply)
  | { readonly type: 'backfilled'; readonly jobs: readonly BackfilledJob[] }
  | { readonly type: 'declared'; readonly notes: readonly DeclaredNote[] }
  | ({ readonly type: 'pause' } & PauseReply)
  | { readonly type: 'refused'; readonly error: MillraceError };

export interface Reply {
  readonly ask: Ask;
  readonly body: ReplyBody;
}

/** Replies that say what is stored. */
const PROMISES: ReadonlySet<ReplyBody['type']> = new Set([
  'job',
  'jobs',
  'schedule',
  'declared',
  'backfilled',
  'pause',
  'raised',
]);

type Counters = Pick<Batch, 'commitNo' | 'lastSeq' | 'nextJobNo'>;

/** Collects changes until they are committed; a row changed twice is written once. */
export class Effects {
  #replies: Reply[] = [];
  readonly #archived: TaskRef[] = [];
  readonly #jobInserts: JobList<JobRow> = new JobList();
  readonly #jobUpdates: JobList<JobRow> = new JobList();
  readonly #specInserts: TaskSpecRow[] = [];
  /** Null for one whose row is yet to come. */
  readonly #taskInserts: TaskList<TaskRow | null> = new TaskList();
  readonly #taskUpdates: TaskList<TaskRow> = new TaskList();
  readonly #results: ResultRow[] = [];
  readonly #keys: RowsByKey<string, KeyRow> = new RowsByKey();
  readonly #copiedResults: CopiedResultRow[] = [];
  readonly #steps: RowsByKey<string, StepRow> = new RowsByKey();
  readonly #signals: SignalRow[] = [];
  readonly #takenSignals: TakenSignalRow[] = [];
  readonly #nodes: RowsByKey<NodeId, NodeRow> = new RowsByKey();
  readonly #schedules: RowsByKey<ScheduleId, ScheduleRow> = new RowsByKey();
  readonly #limits: RowsByKey<string, LimitRow> = new RowsByKey();
  readonly #inboxDeletes: number[] = [];
  readonly #events: EventView[] = [];

  reply(ask: Ask, body: ReplyBody): void {
    this.#replies.push({ ask, body });
  }

  get hasReplies(): boolean {
    return this.#replies.length > 0;
  }

  /** A reply says that a job, a schedule or a pause exists, although nothing of it may change now. */
  get hasPromises(): boolean {
    return this.#replies.some(({ body: { type } }) => PROMISES.has(type));
  }

  takeReplies(): Reply[] {
    const replies = this.#replies;
    this.#replies = [];
    return replies;
  }

  insertJob(row: JobRow): void {
    this.#jobInserts.put(row);
  }

  job(row: JobRow): void {
    (this.#jobInserts.has(row.no) ? this.#jobInserts : this.#jobUpdates).put(row);
  }

  /** Its row follows: it is written when the task is as it stays for now. */
  insertTask(spec: TaskSpecRow): void {
    this.#specInserts.push(spec);
    this.#taskInserts.put(spec.jobNo, spec.taskNo, null);
  }

  /** Whether the row of a new task is yet to come. */
  lacksRow(jobNo: JobNo, taskNo: TaskNo): boolean {
    return this.#taskInserts.get(jobNo, taskNo) === null;
  }

  task(row: TaskRow): void {
    const { jobNo, taskNo } = row;
    const isNew = this.#taskInserts.has(jobNo, taskNo);
    (isNew ? this.#taskInserts : this.#taskUpdates).put(jobNo, taskNo, row);
  }

  /** Whether the task's row changes in this very batch. */
  touches({ jobNo, taskNo }: TaskRef): boolean {
    return this.#taskUpdates.has(jobNo, taskNo) || this.#taskInserts.has(jobNo, taskNo);
  }

  /** A new run overwrites the row: the store copies the image it has to the history first. */
  archive(ref: TaskRef): void {
    this.#archived.push(ref);
  }

  result(row: ResultRow): void {
    this.#results.push(row);
  }

  /** JSON text; undefined if the task does not get one in this very batch. */
  resultOf({ jobNo, taskNo }: TaskRef): string | undefined {
    const found = this.#results.findLast((row) => row.jobNo === jobNo && row.taskNo === taskNo);
    return found?.body;
  }

  copyResult(row: CopiedResultRow): void {
    this.#copiedResults.push(row);
  }

  step(row: StepRow): void {
    const key = `${row.jobNo}/${row.taskNo}/${row.run}/${row.name}`;
    if (!this.#steps.has(key)) this.#steps.set(key, row);
  }

  signal(row: SignalRow): void {
    this.#signals.push(row);
  }

  takeSignal(row: TakenSignalRow): void {
    this.#takenSignals.push(row);
  }

  key(scope: string, row: KeyRow | null): void {
    this.#keys.set(scope, row);
  }

  node(id: NodeId, row: NodeRow | null): void {
    this.#nodes.set(id, row);
  }

  limit(id: string, row: LimitRow | null): void {
    this.#limits.set(id, row);
  }

  schedule(id: ScheduleId, row: ScheduleRow | null): void {
    this.#schedules.set(id, row);
  }

  deleteInbox(no: number): void {
    this.#inboxDeletes.push(no);
  }

  event(row: EventView): void {
    this.#events.push(row);
  }

  /** Nothing to write: replies may go at once. */
  get isEmpty(): boolean {
    return (
      this.#events.length === 0 &&
      this.#taskUpdates.rows.length === 0 &&
      this.#jobUpdates.rows.length === 0 &&
      this.#jobInserts.rows.length === 0 &&
      this.#taskInserts.rows.length === 0 &&
      this.#specInserts.length === 0 &&
      this.#archived.length === 0 &&
      this.#results.length === 0 &&
      this.#copiedResults.length === 0 &&
      this.#nodes.size === 0 &&
      this.#schedules.size === 0 &&
      this.#limits.size === 0 &&
      this.#keys.size === 0 &&
      this.#steps.size === 0 &&
      this.#signals.length === 0 &&
      this.#takenSignals.length === 0 &&
      this.#inboxDeletes.length === 0
    );
  }

  /**
   * Throws `invariant` when the rows do not fit together, so that such a batch is never sent to the store. What
   * hangs on a task's row comes with it: a result, a copied one, and the copy that a new run leaves in the history.
   */
  check({ lastSeq, nextJobNo }: Pick<Counters, 'lastSeq' | 'nextJobNo'>): void {
    for (const row of this.#results) this.#requireTask(row, 'a result');
    for (const row of this.#copiedResults) this.#requireTask(row, 'a copied result');
    for (const row of this.#archived) this.#requireTask(row, 'an archived run');
    const [specs, { rows: tasks }] = [this.#specInserts, this.#taskInserts];
    if (specs.length !== tasks.length)
      broken(`${specs.length} new specs for ${tasks.length} new tasks`);
    for (let at = 0; at < tasks.length; at += 1) {
      if (tasks[at] === null)
        broken(`new task ${specs[at]?.jobNo}/${specs[at]?.taskNo} has no row`);
    }
    for (const { no } of this.#jobInserts.rows) {
      if (no >= nextJobNo) broken(`job ${no} was not numbered: the counter is at ${nextJobNo}`);
    }
    let seq = lastSeq - this.#events.length;
    for (const event of this.#events) {
      seq += 1;
      if (event.seq !== seq) broken(`event ${event.seq} stands where ${seq} is due`);
    }
  }

  #requireTask(ref: TaskRef, what: string): void {
    if (!this.touches(ref)) broken(`${what} without the row of task ${ref.jobNo}/${ref.taskNo}`);
  }

  /** For a shard whose counters are these, `commitNo` that of the last commit. */
  batch({ commitNo, lastSeq, nextJobNo }: Counters): NamedBatch {
    return {
      commitNo: commitNo + 1,
      lastSeq,
      nextJobNo,
      archived: this.#archived,
      jobInserts: this.#jobInserts.rows,
      jobUpdates: this.#jobUpdates.rows,
      specInserts: this.#specInserts,
      taskInserts: this.#taskInserts.rows as TaskRow[],
      taskUpdates: this.#taskUpdates.rows,
      results: this.#results,
      keyUpserts: this.#keys.rows,
      keyDeletes: this.#keys.gone,
      copiedResults: this.#copiedResults,
      steps: this.#steps.rows,
      signalInserts: this.#signals,
      takenSignals: this.#takenSignals,
      nodeUpserts: this.#nodes.rows,
      nodeDeletes: this.#nodes.gone,
      scheduleUpserts: this.#schedules.rows,
      scheduleDeletes: this.#schedules.gone,
      limitUpserts: this.#limits.rows,
      limitDeletes: this.#limits.gone,
      inboxDeletes: this.#inboxDeletes,
      events: this.#events,
    };
  }
}
