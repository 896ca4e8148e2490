/**
 * What is durable, row by row. The core writes these, the stores keep them, a new leader reads
 * them back; nothing else about a task survives. Rows are whole images: an update carries every
 * mutable column, so the last image of a batch wins and earlier ones need not be written.
 */
import type {
  Instant,
  JobId,
  JobNo,
  NodeId,
  ScheduleId,
  SessionId,
  TaskId,
  TaskNo,
  TermId,
} from './ids.ts';
import type { JobState, Priority, TaskState } from './task/chart.ts';
import type { LogKind } from './log/kinds.ts';

export interface TaskError {
  readonly code: string;
  readonly message: string;
}

export interface JobRow {
  readonly no: JobNo;
  readonly id: JobId;
  readonly name: string;
  /** As submitted. One that it was given later is in its options: see `priorityOf`. */
  readonly priority: Priority;
  readonly idempotencyKey: string | null;
  /** Running tasks at most, or null for no limit of its own. */
  readonly maxParallel: number | null;
  /** `finish`: independent branches go on after a failure. `cancel`: the first failure ends all. */
  readonly onFailure: 'finish' | 'cancel';
  readonly totalMs: number | null;
  readonly scheduleId: ScheduleId | null;
  /** The template of the job's own result as JSON text; null when the document has none. */
  readonly output: string | null;
  /** As `key:value`, sorted. */
  readonly labels: readonly string[];
  /** None of its tasks starts before then; null for at once. */
  readonly runAt: Instant | null;
  readonly createdAt: Instant;
  // Mutable from here on.
  /** What else the document says of the job, as JSON text; null when that is nothing. Only its priority changes. */
  readonly options: string | null;
  readonly state: JobState;
  readonly run: number;
  readonly taskCount: number;
  /** Why the job is being stopped, while its running tasks are still ending. */
  readonly stopping: 'cancel' | 'timeout' | 'failure' | null;
  readonly error: TaskError | null;
  readonly startedAt: Instant | null;
  readonly finishedAt: Instant | null;
}

/** Written once, when the task is created. */
export interface TaskSpecRow {
  readonly jobNo: JobNo;
  readonly taskNo: TaskNo;
  readonly id: TaskId;
  readonly executor: string;
  readonly priority: Priority;
  readonly parentNo: TaskNo | null;
  /** Task numbers; a required one as it is, an optional one as its bitwise complement (~no). */
  readonly dependsOn: readonly number[];
  readonly idempotencyKey: string | null;
  /** Retry, timeouts, placement and concurrency as JSON text; null when all are default. */
  readonly options: string | null;
  /** The input template as JSON text; null when the input is absent or null. */
  readonly input: string | null;
}

/** What a suspended task waits for; of several things the one that comes last in this list. */
export type Suspension = 'time' | 'children' | 'signal' | 'job';

/** The narrow, hot row: every transition rewrites it. */
export interface TaskRow {
  readonly jobNo: JobNo;
  readonly taskNo: TaskNo;
  readonly state: TaskState;
  /** Generation: grows by re-run and redrive. */
  readonly run: number;
  /** The attempt that runs or ran last, from 1; 0 before the first. */
  readonly attempt: number;
  readonly failures: number;
  readonly losses: number;
  /** Grows with every assignment, over all runs. Together with `term` it names one lease. */
  readonly fence: number;
  readonly term: TermId | null;
  /** The node that runs it; when it has ended, the one whose report or loss ended it. */
  readonly nodeId: NodeId | null;
  /** Not null exactly while a session holds the lease, that is while `running`. */
  readonly sessionId: SessionId | null;
  /** The lease is being taken back: the worker was asked to abort. */
  readonly stopping: 'cancel' | 'timeout' | null;
  readonly suspended: Suspension | null;
  /** The signals that a suspended task waits for, and the jobs that it has called and that have not
   * ended, as JSON text: see `AwaitedThings`. */
  readonly waits: string | null;
  /** Delayed until then. */
  readonly notBefore: Instant | null;
  readonly progress: number;
  readonly error: TaskError | null;
  readonly queuedAt: Instant | null;
  readonly startedAt: Instant | null;
  readonly finishedAt: Instant | null;
}

/** A task's result in one run, as JSON text. A succeeded task without a row has the result null. */
export interface ResultRow {
  readonly jobNo: JobNo;
  readonly taskNo: TaskNo;
  readonly run: number;
  readonly body: string;
}

/** A task whose idempotency key was completed elsewhere takes that result as its own. */
export interface CopiedResultRow {
  readonly jobNo: JobNo;
  readonly taskNo: TaskNo;
  readonly run: number;
  readonly scope: string;
}

/** A memoised step: the first one written under a name stays. */
export interface StepRow {
  readonly jobNo: JobNo;
  readonly taskNo: TaskNo;
  readonly run: number;
  readonly name: string;
  readonly body: string;
}

/** A signal to a job. Taken by one wait for its name, in the order in which they came; kept
 * after that, so that the same one is never taken in twice. */
export interface SignalRow {
  readonly jobNo: JobNo;
  /** From 0, in the order of arrival. */
  readonly no: number;
  /** Chosen by the sender. */
  readonly id: string;
  readonly name: string;
  /** JSON text. */
  readonly body: string;
  readonly sentAt: Instant;
  readonly taken: boolean;
}

/** A signal reaches the wait that asked for it: its body becomes the step's. */
export interface TakenSignalRow {
  readonly jobNo: JobNo;
  readonly signalNo: number;
  readonly taskNo: TaskNo;
  readonly run: number;
  readonly step: string;
}

/** The execution record of a user's idempotency key; `scope` is executor and key. */
export interface KeyRow {
  readonly scope: string;
  readonly state: 'pending' | 'completed';
  readonly jobNo: JobNo;
  readonly taskNo: TaskNo;
  /** JSON text; null while pending, and for a null result. */
  readonly result: string | null;
  readonly updatedAt: Instant;
}

export type NodeStatus = 'healthy' | 'stale' | 'dead';

export interface NodeRow {
  readonly id: NodeId;
  readonly sessionId: SessionId;
  readonly status: NodeStatus;
  readonly draining: boolean;
  readonly slots: number;
  readonly prefetch: number;
  readonly executors: readonly string[];
  /** JSON text of the capability map. */
  readonly capabilities: string;
  readonly address: string | null;
  readonly version: string;
  readonly quarantinedUntil: Instant | null;
  readonly registeredAt: Instant;
  readonly seenAt: Instant;
}

/** What workers declare when they register, and what is remembered of it. */
export type DeclarationKind = 'operator' | 'flow';

export interface DeclarationRow {
  /** Its name. */
  readonly id: string;
  /** JSON: an `OperatorDeclaration`, or the versions of a flow. */
  readonly declaration: string;
}

export interface ScheduleRow {
  readonly id: ScheduleId;
  /** The timing, policies and job document as JSON text. */
  readonly spec: string;
  readonly paused: boolean;
  readonly nextAt: Instant | null;
  readonly lastAt: Instant | null;
  readonly lastJobId: JobId | null;
}

/** What must be remembered of a limit while no task may name it: its starts in the present period. A paused queue has
 * one, too: see `queue/pause.ts`. */
export interface LimitRow {
  readonly id: string;
  /** JSON text. */
  readonly state: string;
}

export interface EventRow {
  /** Gap-free within the shard, from 1. */
  readonly seq: number;
  readonly at: Instant;
  readonly kind: LogKind;
  readonly jobNo: JobNo | null;
  readonly taskNo: TaskNo | null;
  readonly nodeId: NodeId | null;
  readonly run: number | null;
  readonly attempt: number | null;
  readonly fence: number | null;
  /** Small JSON text with what else is worth knowing. */
  readonly detail: string | null;
}

/** An event with the names of what it is about. */
export interface EventView extends EventRow {
  readonly jobId: JobId | null;
  readonly taskId: TaskId | null;
}

export interface TaskRef {
  readonly jobNo: JobNo;
  readonly taskNo: TaskNo;
}

/** Everything but the jobs, as a new leader loads it. */
export interface ClusterImage {
  readonly now: Instant;
  /** The number of the last commit. */
  readonly commitNo: number;
  readonly lastSeq: number;
  readonly nextJobNo: JobNo;
  readonly nodes: readonly NodeRow[];
  readonly schedules: readonly ScheduleRow[];
  readonly limits: readonly LimitRow[];
}

/** One job as a new leader needs it: no inputs, no results. */
export interface JobImage {
  readonly job: JobRow;
  /** In task number order; `input` is null here. */
  readonly specs: readonly TaskSpecRow[];
  readonly tasks: readonly TaskRow[];
  /** Records of the idempotency keys that this job's tasks name. */
  readonly keys: readonly KeyRow[];
  /** By number, taken ones too; `body` is empty here. */
  readonly signals: readonly SignalRow[];
}

/**
 * One transaction's worth of changes. Keys are unique within each list. A store applies them in
 * this order, all or nothing, after it has checked the term.
 */
export interface Batch {
  /** Its number among the commits of the shard, one more than that of the last one. A store that is not
   * at the commit before it has another history than the leader remembers. */
  readonly commitNo: number;
  /** The highest event number in use after this batch, and the next free job number. */
  readonly lastSeq: number;
  readonly nextJobNo: JobNo;
  /** Tasks whose stored row is copied to the history before it is overwritten by a new run. */
  readonly archived: readonly TaskRef[];
  readonly jobInserts: readonly JobRow[];
  readonly jobUpdates: readonly JobRow[];
  readonly specInserts: readonly TaskSpecRow[];
  readonly taskInserts: readonly TaskRow[];
  readonly taskUpdates: readonly TaskRow[];
  readonly results: readonly ResultRow[];
  readonly keyUpserts: readonly KeyRow[];
  readonly keyDeletes: readonly string[];
  /** After `keyUpserts`, because a key completed in this batch may be copied in it. */
  readonly copiedResults: readonly CopiedResultRow[];
  readonly steps: readonly StepRow[];
  readonly signalInserts: readonly SignalRow[];
  /** After `signalInserts` and `steps`: a step of that name that is there already stays as it is. A
   * signal that is not there, or was taken before, is a bad row. */
  readonly takenSignals: readonly TakenSignalRow[];
  readonly nodeUpserts: readonly NodeRow[];
  readonly nodeDeletes: readonly NodeId[];
  readonly scheduleUpserts: readonly ScheduleRow[];
  readonly scheduleDeletes: readonly ScheduleId[];
  readonly limitUpserts: readonly LimitRow[];
  readonly limitDeletes: readonly string[];
  readonly inboxDeletes: readonly number[];
  readonly events: readonly EventRow[];
}

/** A batch as the scheduler makes it: its events can be shown without asking the store for names. */
export interface NamedBatch extends Batch {
  readonly events: readonly EventView[];
}

/** A batch with nothing in it but what is given. */
export function batchOf(
  parts: Partial<Batch> & Pick<Batch, 'commitNo' | 'lastSeq' | 'nextJobNo'>,
): Batch {
  return {
    archived: [],
    jobInserts: [],
    jobUpdates: [],
    specInserts: [],
    taskInserts: [],
    taskUpdates: [],
    results: [],
    keyUpserts: [],
    keyDeletes: [],
    copiedResults: [],
    steps: [],
    signalInserts: [],
    takenSignals: [],
    nodeUpserts: [],
    nodeDeletes: [],
    scheduleUpserts: [],
    scheduleDeletes: [],
    limitUpserts: [],
    limitDeletes: [],
    inboxDeletes: [],
    events: [],
    ...parts,
  };
}
