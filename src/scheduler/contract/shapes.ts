/** The public shapes of jobs, tasks, nodes, events and schedules: the same in the HTTP API, in the client and on
 * observers. Times are by the database's clock: ISO 8601 text in JSON, and dates where nodes pass them on (`At`). */
import type {
  Json,
  JobId,
  JobState,
  Keep,
  Labels,
  LogKind,
  NodeId,
  NodeStatus,
  Priority,
  ScheduleId,
  StartedBy,
  TaskError,
  TaskId,
  TaskState,
  TaskTree,
} from '../core/index.ts';

/** Everything up to this event is in the answer. */
export interface AsOf<At = string> {
  readonly seq: number;
  readonly at: At;
  /** The history that the number belongs to: the same number means something else after the database has
   * lost commits. Absent before there is any. */
  readonly history?: string;
}

/** A job without its tasks, as lists show it. */
export interface JobSummary<At = string> {
  readonly id: JobId;
  /** Increases with every job; lists are sorted by it, newest first. */
  readonly no: number;
  readonly name: string;
  readonly state: JobState;
  readonly run: number;
  readonly priority: Priority;
  readonly taskCount: number;
  readonly idempotencyKey: string | null;
  readonly labels: Labels;
  /** None of its tasks starts before then; null for a job that started at once. */
  readonly runAt: At | null;
  /** The id of the trace in which it was submitted, 32 hexadecimal digits; null if it belongs to none. */
  readonly trace: string | null;
  /** What remains of it after its end. */
  readonly keep: Keep;
  /** The task that has submitted it with `ctx.submit`, or the event that has started it; otherwise null. */
  readonly startedBy: StartedBy | null;
  readonly scheduleId: ScheduleId | null;
  /** The scheduled time of the occurrence, even if the job started later. */
  readonly scheduledAt: At | null;
  readonly error: TaskError | null;
  readonly createdAt: At;
  readonly startedAt: At | null;
  readonly finishedAt: At | null;
  /** In a list of jobs that wait for a signal: which ones. With a name, that one and those of the same task. */
  readonly waitsFor?: readonly string[];
}

export interface JobShape<Result = Json, At = string> extends JobSummary<At> {
  /** Null until it has succeeded. See `jobResult` for a document that names no output. */
  readonly result: Result;
  /** There is a result, but it is too large to be shown with the job. */
  readonly isResultOmitted?: true;
  readonly tasks: readonly TaskShape<Result, At>[];
  /** Earlier runs of tasks, oldest first. */
  readonly history: readonly PastRun<At>[];
}

export interface TaskShape<Result = Json, At = string> {
  readonly id: TaskId;
  readonly state: TaskState;
  readonly run: number;
  readonly attempt: number;
  readonly node: NodeId | null;
  readonly executor: string;
  readonly dependsOn: readonly TaskId[];
  readonly parent: TaskId | null;
  readonly progress: number;
  /** How far everything below it has come; only of a task with children, where a whole job is shown. */
  readonly tree?: TaskTree;
  readonly result: Result;
  /** There is a result, but the job has too much of them to show them all. */
  readonly isResultOmitted?: true;
  readonly error: TaskError | null;
  /** Why it does not run, in a sentence; null for a task that does not wait, or when only the leader knows. */
  readonly waiting: string | null;
  readonly queuedAt: At | null;
  readonly startedAt: At | null;
  readonly finishedAt: At | null;
}

/** One task with all that is stored of it. */
export interface TaskDetail<Result = Json, At = string> extends TaskShape<Result, At> {
  /** As the job document has it, references included. */
  readonly input: Result;
  /** As its handler gets it, with results in the places of references. Null while one of them is missing, or if it is
   * too large to be shown. */
  readonly resolvedInput: Result;
  /** What the document asks of the node; null for nothing. */
  readonly placement: Json;
  /** Finished steps of its current run. */
  readonly steps: readonly { readonly name: string; readonly result: Result }[];
  /** Each assignment to a node, oldest first, as far back as events are retained; the current one last. */
  readonly attempts: readonly AttemptShape<At>[];
  /** While it runs: who may run it, and until when without another heartbeat. */
  readonly lease: LeaseShape<At> | null;
}

/** `lost`: the node was lost, or the input. `returned`: it counts as no attempt, and its number is used again.
 * `discarded`: the task had two attempts at the same time, and the other one decided. */
export type AttemptOutcome =
  | 'succeeded'
  | 'failed'
  | 'lost'
  | 'returned'
  | 'suspended'
  | 'cancelled'
  | 'skipped'
  | 'discarded';

export interface AttemptShape<At = string> {
  readonly run: number;
  readonly attempt: number;
  readonly fence: number;
  readonly node: NodeId | null;
  /** When the worker said so, or else when it was assigned. */
  readonly started: At | null;
  readonly finished: At | null;
  /** Null while it runs. */
  readonly outcome: AttemptOutcome | null;
  readonly error: TaskError | null;
  /** It was started beside another attempt that took too long. */
  readonly speculative: boolean;
}

export interface LeaseShape<At = string> {
  readonly node: NodeId;
  readonly attempt: number;
  readonly fence: number;
  /** When it was assigned; only the leader knows. */
  readonly since: At | null;
  /** When it ends unless its session is renewed; only the leader knows. */
  readonly expiresAt: At | null;
}

export interface PastRun<At = string> {
  readonly id: TaskId;
  readonly run: number;
  readonly state: TaskState;
  readonly attempt: number;
  readonly node: NodeId | null;
  readonly error: TaskError | null;
  readonly startedAt: At | null;
  readonly finishedAt: At | null;
}

/** A task that is out of attempts. */
export interface DeadTask<At = string> {
  readonly job: JobId;
  readonly task: TaskId;
  readonly executor: string;
  readonly attempt: number;
  readonly node: NodeId | null;
  readonly error: TaskError | null;
  readonly finishedAt: At | null;
}

/** What a worker measures of its process and its disk. For people: it decides nothing. */
export interface WorkerFigures {
  readonly residentBytes: number;
  /** Outputs of queries that it keeps for others. */
  readonly shuffleBytes: number;
  /** Of the disk that they lie on; 0 where it is not known. */
  readonly diskFreeBytes: number;
  /** What it takes in of the outputs of other workers, while it is fetching; 0 if it is not. */
  readonly fetchBytesPerSecond: number;
}

export interface NodeShape<At = string> {
  readonly id: NodeId;
  readonly status: NodeStatus;
  readonly draining: boolean;
  readonly slots: number;
  /** Tasks that are assigned to it. */
  readonly running: number;
  readonly executors: readonly string[];
  readonly capabilities: Readonly<Record<string, Json>>;
  readonly address: string | null;
  readonly version: string;
  readonly quarantinedUntil: At | null;
  readonly registeredAt: At;
  readonly seenAt: At;
  /** As of its last heartbeat; null where the node that answers does not lead, and for a worker that says nothing. */
  readonly figures: WorkerFigures | null;
}

export interface ScheduleShape<At = string> {
  readonly id: ScheduleId;
  readonly spec: Json;
  readonly paused: boolean;
  readonly nextAt: At | null;
  readonly lastAt: At | null;
  readonly lastJob: JobId | null;
}

export interface EventShape<At = string> {
  readonly seq: number;
  readonly at: At;
  readonly kind: LogKind;
  readonly job: JobId | null;
  readonly task: TaskId | null;
  readonly node: NodeId | null;
  readonly run: number | null;
  readonly attempt: number | null;
  readonly fence: number | null;
  readonly detail: Json;
}

/** A query: a job whose tasks run fragments of a plan. */
export interface QueryShape<At = string> {
  readonly id: JobId;
  readonly state: JobState;
  readonly sql: string;
  readonly error: TaskError | null;
  /** As the result has them, in order. */
  readonly columns: readonly { readonly name: string; readonly type: string }[];
  /** Why it runs as one fragment; null when it is distributed. */
  readonly single: string | null;
  readonly partitions: number;
  readonly stages: readonly StageShape[];
  /** While it waits for admission: how many are before it, and why it waits. */
  readonly waiting: { readonly position: number; readonly why: string } | null;
  readonly submittedAt: At;
  readonly startedAt: At | null;
  readonly finishedAt: At | null;
  /** From then on its rows are gone; null while it runs. */
  readonly expiresAt: At | null;
}

export interface StageShape {
  readonly id: number;
  readonly title: string;
  readonly state: 'waiting' | 'running' | 'succeeded' | 'failed' | 'cancelled';
  /** `hash(2)`, `broadcast`, ...: how its output is partitioned. */
  readonly output: string;
  readonly inputs: readonly { readonly stage: number; readonly mode: string }[];
  readonly tasks: {
    readonly total: number;
    readonly queued: number;
    readonly running: number;
    readonly succeeded: number;
    readonly failed: number;
    /** Recomputed because their output was lost. */
    readonly recomputed: number;
  };
  readonly estimate: { readonly rows: number | null; readonly bytes: number | null };
  /** Sums over its tasks so far. */
  readonly rowsIn: number;
  readonly rowsOut: number;
  readonly bytesOut: number;
  readonly batches: number;
  readonly fetchedBytes: number;
  /** Inputs that were on the nodes of its tasks before these began. */
  readonly earlyBytes: number;
  readonly spilledBytes: number;
  /** From its first start to its last end; null before. */
  readonly elapsedMs: number | null;
  /** Sum of what its tasks have worked. */
  readonly workMs: number;
  /** Bytes of each partition over all its tasks; empty while it runs. */
  readonly partitionBytes: readonly number[];
  /** How the partitions that it reads are grouped into tasks; null before that is decided, or if it never is. */
  readonly grouping: StageGrouping | null;
  /** How its scans are filtered by the keys of other stages; empty before that is decided, or if they are not. */
  readonly filters: readonly StageFilter[];
  /** Rows that these filters have left out; null if nobody has counted them, which only EXPLAIN ANALYZE asks for. */
  readonly filteredRows: number | null;
  /** Whether a side of its join is broadcast, decided by the size of that side; null before that, or if it never is. */
  readonly join: StageJoin | null;
}

/** Decided when the stage of the smaller side has ended, before the other side is exchanged. */
export interface StageJoin {
  /** The stage whose size decides, and its rows and bytes: as written, or as much as they seem to be in memory. */
  readonly build: number;
  readonly rows: number;
  readonly bytes: number;
  /** The setting `broadcastThresholdBytes`. */
  readonly thresholdBytes: number;
  /** The stage of the other side, which does not run if `isBroadcast`. */
  readonly probe: number;
  readonly isBroadcast: boolean;
}

/** Decided when the stage that has the keys has ended, from the values in its output. */
export interface StageFilter {
  /** The column that is filtered: `lineitem.l_partkey`. */
  readonly name: string;
  /** The stage that has the keys, and its rows. */
  readonly from: number;
  readonly rows: number;
  /** `list`: by all keys, `bitmap`: by their hashes, `range`: between the least and the greatest, `empty`: no row is needed, `none`: not at all. */
  readonly by: 'none' | 'empty' | 'range' | 'list' | 'bitmap';
  /** How many keys there are, if they are listed. */
  readonly keys: number | null;
}

/** Decided when the producers of a stage have ended, from what they have written. */
export interface StageGrouping {
  readonly partitions: number;
  /** Tasks that read at least one of them; the others have nothing to do. */
  readonly tasks: number;
  /** Of all partitions. */
  readonly rows: number;
  readonly bytes: number;
  /** What it was decided by: the setting `targetPartitionBytes`, and how many tasks could run at the same time. */
  readonly targetBytes: number;
  readonly slots: number;
  /** Partitions that were too large for one task. */
  readonly skewed: readonly SkewedPartitionShape[];
}

export interface SkewedPartitionShape {
  readonly partition: number;
  readonly rows: number;
  readonly bytes: number;
  /** How many times the median of all partitions it is; null if that is 0. */
  readonly times: number | null;
  /** Tasks that read it: one if it was not split. */
  readonly tasks: number;
  /** The stage by whose tasks its rows are split; null if the operators need all rows of a partition together. */
  readonly stage: number | null;
}
