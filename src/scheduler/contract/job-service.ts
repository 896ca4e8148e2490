/** What clients ask of the leader about jobs. Every call may be repeated without harm. */
import type {
  Explanation,
  HeldTask,
  JobId,
  JobReply,
  MillraceError,
  StartedBy,
  TaskId,
  Trace,
  WokenTask,
} from '../core/index.ts';

export type { JobReply } from '../core/index.ts';

export interface SubmitOptions {
  /** Chosen by the caller, so that it can repeat the call. */
  readonly jobId: JobId;
  /** The server made the id for this very call, so no job can have it yet and it is not looked up. Never set from what
   * a client says: a false claim would make the leader load its state again. */
  readonly isFresh?: boolean;
  /** Who asks: callers take turns where queries are planned. */
  readonly caller?: string;
  /** Where the call stands in a trace. A document that says so itself takes precedence. */
  readonly trace?: Trace | null;
  /** What has started the job, if it was not the caller itself. Never set from what a client says. */
  readonly startedBy?: StartedBy;
}

export interface SendOptions extends Pick<SubmitOptions, 'trace'> {
  /** Of a job, or of the event if its sender has chosen none. */
  readonly newId: () => JobId;
}

export interface EventJob {
  readonly flow: string;
  readonly outcome: JobReply | MillraceError;
  /** Of a job that is not new. */
  readonly because?: EventJobReason;
}

/** Why the answer is a job that was there: the same event was sent before, or the flow is a singleton and a job with its
 * key is live. */
export type EventJobReason = 'sent_before' | 'singleton';

/** An event that was taken in. */
export interface EventReply {
  readonly event: string;
  readonly id: string;
  /** One for each flow that it starts, by name. */
  readonly jobs: readonly EventJob[];
  /** Tasks that waited for it, and jobs that it has cancelled: the first ones of each. */
  readonly woken: readonly WokenTask[];
  readonly cancelled: readonly JobId[];
  /** How many more were woken or cancelled. */
  readonly unlisted?: number;
  /** That it has no effect, or not on everybody that it means. */
  readonly note?: string;
}

export interface NewJob extends SubmitOptions {
  /** Unchecked. */
  readonly document: unknown;
}

/** Wrapped, because null is an input as well. */
export interface EditedInput {
  readonly input: unknown;
}

export interface JobService {
  submit(document: unknown, options: SubmitOptions): Promise<JobReply>;
  /** One answer for each job, in order: a job that is refused does not affect the others. */
  submitAll(jobs: readonly NewJob[]): Promise<readonly (JobReply | MillraceError)[]>;
  /** Starts every flow that listens to the event, wakes tasks and cancels jobs. Its name and its body `{data, id, labels}` are unchecked. */
  send(event: unknown, body: unknown, options: SendOptions): Promise<EventReply>;
  /** Plans the request, which is unchecked, and submits the job that runs it. */
  submitQuery(request: unknown, options: SubmitOptions, signal: AbortSignal): Promise<JobReply>;
  cancel(jobId: JobId, reason: string): Promise<JobReply>;
  /** For the job and all its tasks that have not ended; one that has ended is not changed. It is unchecked. */
  setPriority(jobId: JobId, priority: unknown): Promise<JobReply>;
  /** A job that waits for its time starts at this one (unchecked; `now` for at once). Any other is not changed, and `why`
   * says why not. */
  reschedule(jobId: JobId, runAt: unknown): Promise<JobReply>;
  /** Removes an ended job and all that is stored of it. A live one is refused. */
  remove(jobId: JobId): Promise<void>;
  /** Runs again what did not succeed. With `expectedRun`, only if the job is still at that run. */
  rerun(jobId: JobId, expectedRun?: number): Promise<JobReply>;
  /** Runs one dead task again, and what was skipped because of it. */
  redrive(jobId: JobId, taskId: TaskId): Promise<JobReply>;
  /** `body` is JSON text; the same `signalId` again changes nothing. */
  signal(jobId: JobId, name: string, body: string, signalId: string): Promise<JobReply>;
  /**
   * Creates a new job from the same document. Tasks that succeeded and do not depend on `from` keep their results.
   * `edited` replaces the input of `from`; it is unchecked.
   */
  fork(jobId: JobId, from: TaskId, forkId: JobId, edited?: EditedInput): Promise<JobReply>;
  /** Why the task is waiting; null when it is not live. */
  explain(jobId: JobId, taskId: TaskId): Promise<Explanation | null>;
  /** What each node holds, the longest first, at most `perNode` of each. */
  held(perNode: number): Promise<readonly HeldTask[]>;
}
