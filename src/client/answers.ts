/** What the client's calls take and give. Jobs, nodes and events look as the protocol room has them. */
import type { JobId, JobState, TaskId } from '../core/index.ts';
import type {
  AsOf,
  DeadTask,
  JobShape,
  JobSummary,
  NodeShape,
  ScheduleShape,
} from '../protocol/index.ts';

export interface CallOptions {
  /** Gives the call up; it then rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

export interface SubmitOptions extends CallOptions {
  /** Without it one is made up. With it the whole call can be repeated later, by another process too. */
  readonly jobId?: JobId;
  /** The caller has sent it before and did not get the answer. */
  readonly isRepeated?: boolean;
}

/** The id is of an older job when the document's `idempotencyKey` was known. */
export interface Submitted {
  readonly id: JobId;
  readonly state: JobState;
  /** Made by this call; false when its key or its id was known. */
  readonly isNew: boolean;
}

export interface JobsFilter extends CallOptions {
  readonly state?: JobState;
  readonly name?: string;
  /** How many on a page. */
  readonly limit?: number;
  /** Where to go on, from an earlier page. */
  readonly cursor?: string;
}

export interface JobsPage {
  readonly jobs: readonly JobSummary[];
  readonly cursor: string | null;
  readonly asOf: AsOf;
}

export interface DatedJob extends JobShape {
  readonly asOf: AsOf;
}

export interface DeadTasksPage {
  readonly tasks: readonly DeadTask[];
  readonly cursor: string | null;
  readonly asOf: AsOf;
}

export interface RerunOptions extends CallOptions {
  /** Only if the job is still at this run; without it, at the run that it is found at now. */
  readonly expectedRun?: number;
}

export interface ForkOptions extends CallOptions {
  /** What lies at or below this task runs again; everything else that succeeded is taken over. */
  readonly from: TaskId;
  readonly jobId?: JobId;
}

export interface SignalOptions extends CallOptions {
  /** Without it one is made up. The same one again changes nothing, by another process too. */
  readonly signalId?: string;
}

export interface DatedNodes {
  readonly nodes: readonly NodeShape[];
  readonly asOf: AsOf;
}

export interface DatedSchedules {
  readonly schedules: readonly ScheduleShape[];
  readonly asOf: AsOf;
}

export interface WatchOptions extends CallOptions {
  /** The last event that the caller has seen, 0 for the job's beginning; without it, from now on. */
  readonly after?: number;
}

export interface EventsOptions extends CallOptions {
  /** The last event that the caller has seen, 0 for all that are kept; without it, from now on. */
  readonly after?: number;
  readonly job?: JobId;
  /** Ends once everything up to this event has been seen; without it, never. */
  readonly until?: number;
}
