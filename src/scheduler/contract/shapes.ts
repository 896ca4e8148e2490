/** The public shapes of jobs, tasks, nodes, events and schedules: the same in the HTTP API, in the client and on
 * observers. Times are ISO 8601 text, by the database's clock. */
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
  TaskError,
  TaskId,
  TaskState,
} from '../core/index.ts';

/** Everything up to this event is in the answer. */
export interface AsOf {
  readonly seq: number;
  readonly at: string;
  /** The history that the number belongs to: the same number means something else after the database has
   * lost commits. Absent before there is any. */
  readonly history?: string;
}

/** A job without its tasks, as lists show it. */
export interface JobSummary {
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
  readonly runAt: string | null;
  /** The id of the trace in which it was submitted, 32 hexadecimal digits; null if it belongs to none. */
  readonly trace: string | null;
  /** What remains of it after its end. */
  readonly keep: Keep;
  readonly scheduleId: ScheduleId | null;
  /** The scheduled time of the occurrence, even if the job started later. */
  readonly scheduledAt: string | null;
  readonly error: TaskError | null;
  readonly createdAt: string;
  readonly startedAt: string | null;
  readonly finishedAt: string | null;
}

export interface JobShape<Result = Json> extends JobSummary {
  /** Null until it has succeeded. See `jobResult` for a document that names no output. */
  readonly result: Result;
  /** There is a result, but it is too large to be shown with the job. */
  readonly isResultOmitted?: true;
  readonly tasks: readonly TaskShape<Result>[];
  /** Earlier runs of tasks, oldest first. */
  readonly history: readonly PastRun[];
}

export interface TaskShape<Result = Json> {
  readonly id: TaskId;
  readonly state: TaskState;
  readonly run: number;
  readonly attempt: number;
  readonly node: NodeId | null;
  readonly executor: string;
  readonly dependsOn: readonly TaskId[];
  readonly parent: TaskId | null;
  readonly progress: number;
  readonly result: Result;
  /** There is a result, but the job has too much of them to show them all. */
  readonly isResultOmitted?: true;
  readonly error: TaskError | null;
  /** Why it does not run, in a sentence; null for a task that does not wait, or when only the leader knows. */
  readonly waiting: string | null;
  readonly queuedAt: string | null;
  readonly startedAt: string | null;
  readonly finishedAt: string | null;
}

/** One task with all that is stored of it. */
export interface TaskDetail<Result = Json> extends TaskShape<Result> {
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
  readonly attempts: readonly AttemptShape[];
  /** While it runs: who may run it, and until when without another heartbeat. */
  readonly lease: LeaseShape | null;
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

export interface AttemptShape {
  readonly run: number;
  readonly attempt: number;
  readonly fence: number;
  readonly node: NodeId | null;
  /** When the worker said so, or else when it was assigned. */
  readonly started: string | null;
  readonly finished: string | null;
  /** Null while it runs. */
  readonly outcome: AttemptOutcome | null;
  readonly error: TaskError | null;
  /** It was started beside another attempt that took too long. */
  readonly speculative: boolean;
}

export interface LeaseShape {
  readonly node: NodeId;
  readonly attempt: number;
  readonly fence: number;
  /** When it was assigned; only the leader knows. */
  readonly since: string | null;
  /** When it ends unless its session is renewed; only the leader knows. */
  readonly expiresAt: string | null;
}

export interface PastRun {
  readonly id: TaskId;
  readonly run: number;
  readonly state: TaskState;
  readonly attempt: number;
  readonly node: NodeId | null;
  readonly error: TaskError | null;
  readonly startedAt: string | null;
  readonly finishedAt: string | null;
}

/** A task that is out of attempts. */
export interface DeadTask {
  readonly job: JobId;
  readonly task: TaskId;
  readonly executor: string;
  readonly attempt: number;
  readonly node: NodeId | null;
  readonly error: TaskError | null;
  readonly finishedAt: string | null;
}

export interface NodeShape {
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
  readonly quarantinedUntil: string | null;
  readonly registeredAt: string;
  readonly seenAt: string;
}

export interface ScheduleShape {
  readonly id: ScheduleId;
  readonly spec: Json;
  readonly paused: boolean;
  readonly nextAt: string | null;
  readonly lastAt: string | null;
  readonly lastJob: JobId | null;
}

export interface EventShape {
  readonly seq: number;
  readonly at: string;
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
export interface QueryShape {
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
  readonly submittedAt: string;
  readonly startedAt: string | null;
  readonly finishedAt: string | null;
  /** From then on its rows are gone; null while it runs. */
  readonly expiresAt: string | null;
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
  readonly spilledBytes: number;
  /** From its first start to its last end; null before. */
  readonly elapsedMs: number | null;
  /** Sum of what its tasks have worked. */
  readonly workMs: number;
  /** Bytes of each partition over all its tasks; empty while it runs. */
  readonly partitionBytes: readonly number[];
  /** How the partitions that it reads are grouped into tasks; null before that is decided, or if it never is. */
  readonly grouping: StageGrouping | null;
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
}
