/** The port between a worker and what it runs. */
import type { OutputStream } from './output-lines.ts';
import type { StandardSchemaV1 } from '@standard-schema/spec';
import type {
  FlowDeclaration,
  FlowStart,
  JobId,
  Json,
  TaskId,
} from '../../scheduler/core/index.ts';
import type { Duration } from '../../kit/index.ts';
import type { Recorded } from './json-types.ts';
import type { NewJobOptions } from './submit-options.ts';

/**
 * Runs the tasks that name it. What `run` returns is the task's result and must be JSON; what it throws
 * fails the attempt, which is tried again unless the error says that it is fatal.
 */
export interface Executor {
  readonly name: string;
  /** Its start is reported only after this long: shorter work reports start and end at once. */
  readonly quietMs?: number;
  /** Its tasks take seconds, in processes of their own: they say nothing of how soon a slot is free for others. */
  readonly isBulk?: boolean;
  run(input: Json, context: TaskContext): unknown;
  /** The attempt has returned a result, which was not accepted: what it has left on this node can be removed. */
  discard?(attempt: Pick<TaskContext, 'jobId' | 'taskId' | 'fence'>): void;
}

/** What a module exports: `defineTask` makes such objects, and they may be written by hand. */
export interface TaskDefinition extends Executor {
  readonly kind: 'millrace.task';
  /** The module to load on a thread of its own and to run it there, as `import.meta.url` says it:
   * for work that keeps a processor busy. */
  readonly thread?: string;
  /** What is published of it, so that it can be started by its name. */
  declaration?(): FlowDeclaration;
  /** Runs once a job of it has failed: registered with it. */
  readonly whenFailed?: TaskDefinition;
}

/** A flow in a module: its tasks are registered with it. `defineFlow` makes such objects. */
export interface FlowDefinition {
  readonly kind: 'millrace.flow';
  readonly name: string;
  readonly tasks: readonly TaskDefinition[];
  /** The job document for an input, or a promise of it. Throws a `MillraceError` for one that does not
   * fit. */
  toDocument(input: unknown): unknown;
  /** What is published of it, so that it can be started by its name. One without it is submitted by programs only. */
  declaration?(): FlowDeclaration;
  /** Applies its schema to the input of a job that was started by name. */
  startInput?(start: FlowStart): unknown;
}

/** What a task can call as a job of its own: a flow, or a task by itself. `I` and `O` are for the
 * compiler only. */
export interface Callable<I, O> {
  readonly name: string;
  /** The job document, or a promise of it: a schema may have to wait for something. */
  toDocument(input: I): unknown;
  /** Checks what the job answered and gives it its type. Whoever called it also says which job it was. */
  readResult(result: Json, jobId?: JobId): O | Promise<O>;
}

/** What can run for each item of a list. */
export interface Mappable<I, O> {
  readonly name: string;
  /** Everything of a task document but its id and dependencies. */
  toTask(input: I): Readonly<Record<string, unknown>>;
  readResult(result: Json): O | Promise<O>;
}

/** What has started a job. Fields of the other kind are absent, so that one can be asked for without looking which it is. */
export type JobStart =
  | { readonly event: string; readonly id: string; readonly job?: never; readonly task?: never }
  | { readonly job: JobId; readonly task: TaskId; readonly event?: never; readonly id?: never };

/** One attempt as its handler sees it. */
export interface TaskContext {
  /** Aborts when the work is not wanted any more; its reason is a `MillraceError`. */
  readonly signal: AbortSignal;
  readonly jobId: JobId;
  readonly taskId: TaskId;
  readonly attempt: number;
  /** Grows when the job is run again. */
  readonly run: number;
  /** Grows with every assignment of the task: a store that keeps the highest one can refuse stale writers. */
  readonly fence: number;
  /** The same over all attempts of a run. */
  readonly idempotencyKey: string;
  /** The time for which a schedule has started the job, however late it came to run, and the same in
   * every attempt and run. Null for a job that no schedule has started. */
  readonly scheduledAt: Date | null;
  /** The event that has started the job, `{ event, id }`, or the task that has submitted it, `{ job, task }`. Null for a
   * job that a client, a schedule or a call has started. */
  readonly startedBy: JobStart | null;
  /** Of the job; `{}` if it has none. */
  readonly labels: Readonly<Record<string, string>>;
  /** From 0 to 1. Only the latest report counts, so it may be called often. */
  readonly progress: (fraction: number, note?: string) => void;
  /**
   * Runs `fn` once a run: when an attempt has finished a step, the attempts after it get its recorded
   * result. It comes back as JSON the first time too, so that no attempt sees another value. A name is used once
   * in an attempt, and the promise is awaited: anything else fails the task for good.
   */
  readonly step: <T>(
    name: string,
    fn: () => T | Promise<T>,
    options?: StepOptions,
  ) => Promise<Recorded<T>>;
  /** Frees the slot and continues after this duration or at this time, perhaps on another node: the handler runs from its start and every
   * finished step is skipped. Sleeping is a step: it happens once per run. */
  readonly sleep: (name: string, until: Duration | Date) => Promise<void>;
  /** Waits, without a slot, for a signal to the job. */
  readonly waitFor: WaitFor;
  /** Waits, without a slot, for an event that is sent from then on and whose data has these values. */
  readonly waitForEvent: WaitForEvent;
  /** Submits another job, waits for its end without a slot, and answers its result. */
  readonly call: <I, O>(name: string, what: Callable<I, O>, input: I) => Promise<O>;
  /**
   * Submits another job and goes on: nobody waits for it, and it does not end with this task. Answers its id. However
   * often the attempt is repeated there is one job: its submission is a step of the run.
   */
  readonly submit: <I>(
    name: string,
    what: Callable<I, unknown>,
    input: I,
    options?: NewJobOptions,
  ) => Promise<JobId>;
  /**
   * Sends an event, as `client.send` does: flows are started, tasks woken, jobs cancelled. However often the attempt is
   * repeated it is sent once: it is a step of the run. Answers the id of the event.
   */
  readonly send: (
    name: string,
    event: string,
    data?: unknown,
    options?: EventSend,
  ) => Promise<string>;
  /** Runs the task for each item as children of this one; answers their results in order. */
  readonly map: <I, O>(
    name: string,
    what: Mappable<I, O>,
    items: readonly I[],
    options?: MapOptions,
  ) => Promise<O[]>;
  /**
   * Completes the task inside a transaction of the handler's own PostgreSQL: what is done in that
   * transaction happens exactly once a run. The result of the task is `result`, whatever is returned.
   */
  readonly completeWith: (transaction: Transaction, result: unknown) => Promise<void>;
  /** Headers that carry the trace of this attempt to whatever it calls: `traceparent` and perhaps `tracestate`. Empty
   * when the job belongs to no trace. */
  readonly traceHeaders?: Readonly<Record<string, string>>;
  /** Kept with the job, and shown in the log of the worker. */
  readonly log: TaskLog;
  /** What a process or thread of the task has printed. It is kept with the job. */
  readonly output?: (stream: OutputStream, line: string) => void;
}

export interface StepOptions {
  /** When the function throws it is called again within the attempt, which keeps its slot. The step fails with the last
   * error, and at once with one that is fatal or names the time of the next attempt. */
  readonly retry?: StepRetry;
}

export interface StepRetry {
  /** How often it is called, at most. */
  readonly maxAttempts: number;
  /** The wait before the second call, doubled for each further one and with jitter; 250 if not given. */
  readonly backoffMs?: number;
  /** The longest wait; 30 seconds if not given. */
  readonly maxBackoffMs?: number;
}

export interface WaitFor {
  /** With a schema: a signal that does not fit is left aside, and the wait goes on. */
  <Schema extends StandardSchemaV1>(
    name: string,
    options: WaitOptions & { readonly schema: Schema; readonly timeout: Duration | Date },
  ): Promise<StandardSchemaV1.InferOutput<Schema> | undefined>;
  <Schema extends StandardSchemaV1>(
    name: string,
    options: WaitOptions & { readonly schema: Schema },
  ): Promise<StandardSchemaV1.InferOutput<Schema>>;
  /** Undefined when the time was over first. */
  <T = Json>(
    name: string,
    options: WaitOptions & { readonly timeout: Duration | Date },
  ): Promise<T | undefined>;
  <T = Json>(name: string, options?: WaitOptions): Promise<T>;
}

export interface EventSend {
  /** Of each job that the event starts. */
  readonly labels?: Readonly<Record<string, string>>;
}

export interface WaitForEvent {
  <Schema extends StandardSchemaV1>(
    name: string,
    event: string,
    options: EventOptions & { readonly schema: Schema; readonly timeout: Duration | Date },
  ): Promise<StandardSchemaV1.InferOutput<Schema> | undefined>;
  <Schema extends StandardSchemaV1>(
    name: string,
    event: string,
    options: EventOptions & { readonly schema: Schema },
  ): Promise<StandardSchemaV1.InferOutput<Schema>>;
  /** Undefined when the time was over first. */
  <T = Json>(
    name: string,
    event: string,
    options: EventOptions & { readonly timeout: Duration | Date },
  ): Promise<T | undefined>;
  <T = Json>(name: string, event: string, options?: EventOptions): Promise<T>;
}

export interface EventOptions {
  /** Fields of the event's data, as names joined by dots, and the value that each must have: `{ 'order.id': id }`. */
  readonly match?: Readonly<Record<string, string | number | boolean | null>>;
  readonly timeout?: Duration | Date;
  /** What the data must be like: anything that implements Standard Schema. */
  readonly schema?: StandardSchemaV1;
}

export interface WaitOptions {
  readonly timeout?: Duration | Date;
  /** What a signal must be like: anything that implements Standard Schema. */
  readonly schema?: StandardSchemaV1;
  /** The name of the step, when it is not that of the signal: for the second signal of one name. */
  readonly as?: string;
}

export interface MapOptions {
  /** The limit on children that run at the same time. */
  readonly concurrency?: number;
}

/** A transaction of `postgres` (a function with `unsafe`) or of `pg` (a client with `query`). */
export type Transaction =
  | { unsafe(text: string, parameters: string[]): PromiseLike<Iterable<unknown>> }
  | { query(text: string, parameters: string[]): PromiseLike<{ readonly rows: unknown[] }> };

/** For people: it decides nothing and is not kept with the task. */
export interface TaskLog {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
}

/** Kept beside the message. */
export type LogFields = Readonly<Record<string, unknown>>;
