/**
 * What the API needs of the node it stands before. It reads through `Reader`, changes through the
 * leader's services, and knows neither the store nor the coordinator.
 */
import type {
  ChangeSchedule,
  Explanation,
  Instant,
  JobId,
  JobState,
  NodeId,
  ScheduleId,
  TaskId,
  SignalFate,
  TaskState,
} from '../../scheduler/core/index.ts';
import type { QueryReader, ResultFormat, ResultStream } from '../../scheduler/contract/index.ts';

/** What became of a job that was asked to change. */
export interface JobReply {
  /** Of a signal that was just taken in. */
  readonly signal?: SignalFate;
  readonly jobId: JobId;
  readonly state: JobState;
  readonly run: number;
  /** False when the call changed nothing: it was there already, or it was over. */
  readonly changed: boolean;
}

export interface ScheduleReply {
  readonly scheduleId: ScheduleId;
  readonly nextAt: Instant | null;
  /** The job that was started by hand. */
  readonly jobId: JobId | null;
}

/** The leader of this moment. Its calls may throw `not_leader` later on as well. */
export interface LeaderPort {
  readonly jobs: {
    submit(
      document: unknown,
      options: { readonly jobId: JobId; readonly isFresh?: boolean },
    ): Promise<JobReply>;
    /** Plans the request, which is unchecked, and hands the job in. */
    submitQuery(
      request: unknown,
      options: { readonly jobId: JobId; readonly isFresh?: boolean },
      signal: AbortSignal,
    ): Promise<JobReply>;
    cancel(jobId: JobId, reason: string): Promise<JobReply>;
    rerun(jobId: JobId, expectedRun?: number): Promise<JobReply>;
    redrive(jobId: JobId, taskId: TaskId): Promise<JobReply>;
    /** `body` is JSON text; the same `signalId` again changes nothing. */
    signal(jobId: JobId, name: string, body: string, signalId: string): Promise<JobReply>;
    fork(jobId: JobId, from: TaskId, forkId: JobId): Promise<JobReply>;
    explain(jobId: JobId, taskId: TaskId): Promise<Explanation | null>;
  };
  readonly workers: {
    drain(nodeId: NodeId): Promise<void>;
    release(nodeId: NodeId): Promise<void>;
  };
  readonly schedules: {
    put(scheduleId: ScheduleId, value: unknown): Promise<ScheduleReply>;
    change(scheduleId: ScheduleId, change: ChangeSchedule['change']): Promise<ScheduleReply>;
  };
}

/** Queries, where this node can read them. Planning is for the node that leads. */
export interface QueryPort {
  readonly reader: QueryReader;
  /** Settles when the query is over or unknown, at the latest after `ms` or when the signal aborts. */
  ended(id: JobId, ms: number, signal: AbortSignal): Promise<void>;
  /** What would be run, without running it. The request is unchecked; callers take turns. */
  explain(
    request: unknown,
    signal: AbortSignal,
    caller: string,
  ): Promise<{ readonly plan: unknown; readonly text: string }>;
  /** What was run, with what it took; null when there is no such query. */
  analysis(id: JobId): Promise<string | null>;
  /** Throws `not_found`, `conflict` while it runs, its own error when it failed, `expired`, `result_lost`. */
  results(id: JobId, format: ResultFormat, signal: AbortSignal): Promise<ResultStream>;
  /** Counted since the start of this node. */
  figures(): QueryFigures;
}

export interface QueryFigures {
  readonly plans: number;
  /** Of these, the ones that DuckDB had planned before. */
  readonly planHits: number;
  readonly plansFailed: number;
  readonly planningMs: number;
  readonly planningNow: number;
  readonly results: number;
  readonly resultsFailed: number;
  readonly resultsOpen: number;
  readonly resultBytes: number;
  /** Of these, what came from other nodes. */
  readonly fetchedBytes: number;
}

/** How this node stands at the moment; asked often, so it must cost nothing. */
export interface Standing {
  readonly nodeId: string;
  readonly leads: boolean;
  /** Of the leader that this node knows, itself or another. */
  readonly epoch: number | null;
  /** It accepts work, or can say who does. */
  readonly isReady: boolean;
  /** False while the database cannot be reached, where the node depends on it. */
  readonly storeAnswers?: boolean;
  /** Only the leader has them. */
  readonly figures: LeaderFigures | null;
}

export interface LeaderFigures {
  /** Events that wait for the store. */
  readonly backlog: number;
  /** How often it has dropped its memory in this term because of a fault of its own. */
  readonly reloads?: number;
  readonly jobs?: Readonly<Partial<Record<JobState, number>>>;
  readonly tasks?: Readonly<Partial<Record<TaskState, number>>>;
  /** How long the task has been ready that waits longest for a node that could run it. */
  readonly unfitMs?: number | null;
  /** Queries that are let in, and those that wait for it. */
  readonly queries?: { readonly running: number; readonly waiting: number };
}
