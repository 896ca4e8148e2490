/** What a program can ask of a runtime, wherever that runs: the types of the client. */
import type { Explanation, Json, Priority } from '../scheduler/core/index.ts';
import type { Callable } from '../tasks/executors/index.ts';
import type {
  BulkAction,
  BulkOutcome,
  EventShape,
  FlowShape,
  JobShape,
  JobSummary,
  LogShape,
  NodeShape,
  TaskDetail,
} from '../scheduler/contract/index.ts';
import type {
  BulkOptions,
  CallOptions,
  EventsOptions,
  ForkOptions,
  JobRef,
  JobsFilter,
  JobsMatch,
  LogsOptions,
  NewStart,
  NodesOptions,
  RerunOptions,
  SignalOptions,
  SubmitOptions,
  WatchOptions,
} from './options.ts';
import type { Queues } from './queues.ts';
import type { Schedules } from './schedules.ts';
import type { NewEvent, SendOptions, SentJobs } from './send-event.ts';
import type { Sql } from './sql/sql.ts';

/** Returned by `createRuntime()` and `connect(url)`. */
export interface Client extends AsyncDisposable {
  /**
   * Submits a flow or a task with its input, or a job document as it is. Resolves when the
   * job is durable. However often the call is retried, there is one job.
   */
  submit: Submit;
  /**
   * Starts a flow by its name: workers publish the flows that they have, and the server makes the job. For callers
   * that do not have the flow's code; `externalFlow` gives such a flow its types.
   */
  start(flow: string, input?: unknown, options?: SubmitOptions): Promise<JobHandle<Json>>;
  /**
   * Sends an event: every flow that names it (`on`) gets a job with the data as its input. Resolves when all of them are
   * durable. A flow that does not accept the data has an error in its place; without any flow the list is empty. Tasks
   * that wait for the event are `woken`, and jobs that name it in `cancelOn` are `cancelled`.
   */
  send(event: string, data?: unknown, options?: SendOptions): Promise<SentJobs>;
  /** Sends several events at once, in order, each as `send` does. An event that is refused has an error in its place. */
  sendMany(
    events: readonly NewEvent[],
    options?: CallOptions,
  ): Promise<readonly (SentJobs | Error)[]>;
  /** The flows that can be started by name, with the JSON Schemas of their inputs. */
  flows(options?: CallOptions): Promise<readonly FlowShape[]>;
  /** Submits many jobs at once. A refused one does not affect the others: its answer is an error. */
  submitAll(
    jobs: readonly Submission[],
    options?: CallOptions,
  ): Promise<readonly (JobHandle<unknown> | Error)[]>;
  /** A handle for a job that was submitted elsewhere. With the flow, its result has its type. */
  handle<O = Json>(id: string, what?: Callable<never, O>): JobHandle<O>;
  /** The current state of the job with all its tasks. */
  job(job: JobRef, options?: CallOptions): Promise<JobShape>;
  /** One task with its input, steps, placement and, while it runs, its lease. */
  task(job: JobRef, task: string, options?: CallOptions): Promise<TaskDetail>;
  /** Jobs, newest first; more are read as the loop goes on. */
  jobs(filter?: JobsFilter): AsyncGenerator<JobSummary, void>;
  /** Waits for the end of the job. Throws a `JobError` when it did not succeed. */
  result<O>(job: JobHandle<O>, options?: CallOptions): Promise<O>;
  result(job: string, options?: CallOptions): Promise<Json>;
  /** Waits for the end of the job, however it ends. */
  ended(job: JobRef, options?: CallOptions): Promise<JobShape>;
  /** The events of the job, from its beginning to its end; the generator returns the ended job. */
  watch(job: JobRef, options?: WatchOptions): AsyncGenerator<EventShape, JobShape>;
  /** A finished job is not changed. */
  cancel(job: JobRef, reason?: string, options?: CallOptions): Promise<JobShape>;
  /** Removes an ended job with its tasks, results and log lines. One that has not ended is refused: cancel it first. */
  remove(job: JobRef, options?: CallOptions): Promise<void>;
  /**
   * How urgent the job is: 0 urgent to 3 low, for all its tasks that have not ended. What runs goes on. A finished job
   * is not changed, and `changed` says so.
   */
  setPriority(
    job: JobRef,
    priority: Priority,
    options?: CallOptions,
  ): Promise<JobShape & { readonly changed: boolean }>;
  /**
   * When a job starts whose `runAt` lies ahead: at another time, after a delay from now, or `now`. One that has begun or
   * ended is not changed: `changed` says so, and `why` the reason.
   */
  reschedule(job: JobRef, start: NewStart, options?: CallOptions): Promise<RescheduledJob>;
  /** Runs again what did not succeed, and keeps what did. */
  rerun(job: JobRef, options?: RerunOptions): Promise<JobShape>;
  /** A new job from the same document: what lies at or below the task runs again, the rest is taken over. */
  fork<O>(job: JobHandle<O>, from: string, options?: ForkOptions): Promise<JobHandle<O>>;
  fork(job: string, from: string, options?: ForkOptions): Promise<JobHandle<Json>>;
  /** One task that is out of attempts, and what was skipped because of it. */
  redrive(job: JobRef, task: string, options?: CallOptions): Promise<JobShape>;
  /**
   * Does one thing to all jobs that fit and were submitted before: `cancel`, `rerun`, `redrive`, `remove`, `signal` (with
   * its name and value in the options), `priority` or `reschedule`. It is a job of its own, which goes on when this
   * program ends; its result has the figures. A filter without any field is refused.
   */
  bulk(
    action: BulkAction,
    match: JobsMatch,
    options?: BulkOptions,
  ): Promise<JobHandle<BulkOutcome>>;
  /** Sends a signal to a live job; a `ctx.waitFor` of that name receives it. */
  signal(job: JobRef, name: string, value?: unknown, options?: SignalOptions): Promise<JobShape>;
  /** Why a task waits. */
  explain(job: JobRef, task: string, options?: CallOptions): Promise<Explanation>;
  /** What the tasks of a job have printed: lines of `ctx.log`, and the output of commands, containers and threads. */
  logs(job: JobRef, options?: LogsOptions): AsyncGenerator<LogShape, void>;
  /** The log of the cluster, without end: leave the loop, or abort it by its signal. */
  events(options?: EventsOptions): AsyncGenerator<EventShape, void>;
  /**
   * Calls `fn` for each event, one after the other, from now on or after `after`; goes on after a lost connection. What
   * `fn` throws ends it and rejects `ended`. Returns how to stop.
   */
  onEvent(
    fn: (event: EventShape) => void | Promise<void>,
    options?: Omit<EventsOptions, 'signal'>,
  ): EventSubscription;
  /** All nodes, or those that can run a given executor or operator. */
  nodes(options?: NodesOptions): Promise<readonly NodeShape[]>;
  readonly schedules: Schedules;
  /** What waits and runs, by executor and by the key of a limit; each can be paused. */
  readonly queues: Queues;
  /** Distributed SQL over Parquet and other files: rows by a loop. */
  readonly sql: Sql;
  /** Closes all connections; pending calls are rejected. */
  close(): Promise<void>;
}

export interface EventSubscription {
  /** Resolves after `stop`, or when `until` is reached; rejects when it cannot go on. */
  readonly ended: Promise<void>;
  stop(): void;
}

/** What can be submitted by itself. A job document is any other object. */
export type Document = Readonly<Record<string, unknown>>;

/**
 * One signature for flows and documents: with two, compilers report why the other one did not match, and not which
 * field is missing.
 */
export type Submit = <What extends Submittable>(
  what: What,
  ...rest: SubmitArguments<What>
) => Promise<JobHandle<ResultOfJob<What>>>;

export type Submittable = Callable<never, unknown> | Document;

/** What follows a flow is its input; a document carries its inputs itself. */
export type SubmitArguments<What> =
  What extends Callable<infer I, unknown>
    ? InputAndOptions<I>
    : [input?: undefined, options?: SubmitOptions];

export type ResultOfJob<What> = What extends Callable<never, infer O> ? O : Json;

/** The input may be left out where there need not be one: nothing is null then. */
export type InputAndOptions<I> = undefined extends I
  ? [input?: I, options?: SubmitOptions]
  : null extends I
    ? [input?: I | undefined, options?: SubmitOptions]
    : [input: I, options?: SubmitOptions];

/** One of many: see `submission`. */
export interface Submission {
  readonly what: Callable<never, unknown> | Document;
  readonly input?: unknown;
  readonly options?: Omit<SubmitOptions, keyof CallOptions | 'jobId'>;
}

/** One job, and what can be done with it. */
export interface JobHandle<O> {
  readonly id: string;
  /** False when an earlier submission had the same idempotency key or job id, or a job with its singleton key is live. */
  readonly isNew: boolean;
  /** Waits for the end of the job. Throws a `JobError` when it did not succeed. */
  result(options?: CallOptions): Promise<O>;
  /** Waits for the end of the job, however it ends: say, after `cancel`. */
  ended(options?: CallOptions): Promise<JobShape>;
  watch(options?: WatchOptions): AsyncGenerator<EventShape, JobShape>;
  cancel(reason?: string): Promise<JobShape>;
  signal(name: string, value?: unknown): Promise<JobShape>;
  /** 0 is urgent, 3 is low. */
  setPriority(priority: Priority): Promise<JobShape & { readonly changed: boolean }>;
  /** Starts at another time, if it waits for its `runAt`: a Date, RFC 3339 text, or `now`. */
  reschedule(runAt: Date | string): Promise<RescheduledJob>;
  job(): Promise<JobShape>;
}

export interface RescheduledJob extends JobShape {
  readonly changed: boolean;
  /** Why nothing has changed. */
  readonly why?: string;
}
