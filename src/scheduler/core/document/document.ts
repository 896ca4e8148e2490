/**
 * The job document as the core understands it: checked, with defaults filled in and dependencies
 * turned from names into numbers. `parse.ts` makes one from unknown JSON or says what is wrong.
 */
import type { Instant, NodeId, TaskId, TaskNo } from '../ids.ts';
import type { Priority } from '../task/chart.ts';
import type { EventMatch } from './event-match.ts';

export interface JobDocument {
  readonly name: string;
  readonly priority: Priority;
  readonly idempotencyKey: string | null;
  readonly maxParallel: number | null;
  readonly onFailure: 'finish' | 'cancel';
  readonly totalMs: number | null;
  /** As `key:value`, sorted: see `labels.ts`. */
  readonly labels: readonly string[];
  /** None of its tasks starts before then; null for at once. */
  readonly runAt: Instant | null;
  readonly options: JobOptions;
  /** JSON text of the template of the job's own result, over any of its tasks; null for none. */
  readonly output: string | null;
  /** In document order: a task's number is its place here. */
  readonly tasks: readonly TaskDocument[];
}

export interface TaskDocument {
  readonly id: TaskId;
  readonly executor: string;
  readonly priority: Priority;
  readonly parent: TaskNo | null;
  readonly dependsOn: readonly Dependency[];
  readonly idempotencyKey: string | null;
  readonly options: TaskOptions;
  /** A running task has added it to the job: no document of a user has it. */
  readonly isAdded?: true;
  /** JSON text of the input template, with the task's condition if it has one (see `condition.ts`);
   * null when both are absent or null. */
  readonly input: string | null;
}

export interface Dependency {
  readonly no: TaskNo;
  readonly required: Need;
}

/** How a dependency must end: with success; with anything but a failure; or somehow. */
export type Need = true | 'unlessSkipped' | false;

/** The parts of a task that most tasks leave at their defaults; interned in memory. */
export interface TaskOptions {
  readonly retry: RetryPolicy;
  readonly timeouts: Timeouts;
  readonly placement: Placement;
  readonly concurrency: Concurrency | null;
  /** All of them must have a place for the task. */
  readonly limits: readonly LimitFigures[];
  /**
   * The result refers to data on the node that ran the task, which is lost with that node's session. While it may
   * still be needed it is then recomputed; if it is non-deterministic, everything that has read it is too. Not
   * allowed in the documents of users.
   */
  readonly output?: 'deterministic' | 'non-deterministic';
  /** In place of the setting of this name; 0 for never. Not allowed in the documents of users. */
  readonly stragglerFactor?: number;
  /** The task is done when the job is admitted, and reserves this until the job has ended. Its result comes with
   * the job. Not allowed in the documents of users. */
  readonly admission?: Admission;
}

/** What a job takes while it runs. */
export interface Admission {
  readonly memoryBytes: number;
}

export interface RetryPolicy {
  /** In all, the first one included. */
  readonly maxAttempts: number;
  readonly backoffMs: number;
  readonly maxBackoffMs: number;
  readonly maxLosses: number;
}

export interface Timeouts {
  /** From ready to assigned. */
  readonly queueMs: number | null;
  /** From started to ended, each attempt. */
  readonly runMs: number | null;
  /** From created to ended, over all attempts. */
  readonly totalMs: number | null;
}

export interface Placement {
  /** Besides the task's own executor, the node must have all of these ... */
  readonly executors: readonly string[];
  /** ... and at least one of these, if any are named. */
  readonly executorsAny: readonly string[];
  readonly capabilities: Readonly<Record<string, CapabilityTest>>;
  /** Null: any node. Never empty. */
  readonly allowedNodes: readonly NodeId[] | null;
  readonly forbiddenNodes: readonly NodeId[];
  /** How many tasks with this very placement may run on one node at the same time. */
  readonly maxParallelPerNode: number | null;
}

/** At most `limit` tasks of the cluster that name the same `key` are assigned at the same time. */
export interface Concurrency {
  readonly key: string;
  readonly limit: number;
}

/** A limit that tasks share by its key. Without a period at most `max` of them are assigned at the same time; with one
 * at most `max` are started in any period of that length. */
export interface LimitFigures {
  readonly key: string;
  readonly max: number;
  readonly perMs: number | null;
}

/** What remains of a job after its end: everything, nothing if it succeeded, or nothing in any case. */
export const KEEPS = ['all', 'failed', 'none'] as const;
export type Keep = (typeof KEEPS)[number];

export const OUTCOMES = ['succeeded', 'failed', 'cancelled'] as const;
export type JobOutcome = (typeof OUTCOMES)[number];

/** A server that is notified of the job's end. */
export interface Webhook {
  readonly url: string;
  /** For which ends; in the order of `OUTCOMES`. */
  readonly on: readonly JobOutcome[];
}

/** What else a document says of the job. */
export interface JobOptions {
  readonly keep: Keep;
  readonly webhooks: readonly Webhook[];
  /** Jobs with the same key take turns together with all others as if they were one. */
  readonly fairnessKey: string | null;
  readonly debounce: Debounce | null;
  readonly singleton: Singleton | null;
  readonly batch: BatchFigures | null;
  /** Events that cancel the job. */
  readonly cancelOn: readonly CancelOn[];
  /** The task that runs once it has failed, as JSON text: see `when-failed.ts`. */
  readonly whenFailed: string | null;
  /** Where its submitter stands in a trace; null if that is not known. */
  readonly trace: Trace | null;
}

export interface CancelOn {
  readonly event: string;
  /** What its data must have. */
  readonly match: EventMatch;
}

/** A place in a trace, as W3C Trace Context writes it: see `trace.ts`. */
export interface Trace {
  /** `00-<trace id>-<span id>-<flags>`. */
  readonly parent: string;
  readonly state: string | null;
}

/** Of jobs with the same key that are submitted within `ms` of each other only the last one runs. */
export interface Debounce {
  readonly key: string;
  /** It starts when no other one has come for so long ... */
  readonly ms: number;
  /** ... or when the first of them has waited for so long; null for no such limit. */
  readonly maxMs: number | null;
}

/** What a submission does while a job with its key lives: answer that job, or cancel it and take its place. */
export const WHEN_BUSY = ['skip', 'replace'] as const;

/** Of jobs with the same key one lives at a time. */
export interface Singleton {
  readonly key: string;
  readonly whenBusy: (typeof WHEN_BUSY)[number];
}

/** Jobs with the same key are executed together: the first of them takes the items of all. */
export interface BatchFigures {
  readonly key: string;
  /** It starts when it has so many jobs ... */
  readonly max: number;
  /** ... or when the first of them has waited for so long. */
  readonly ms: number;
}

/** What a node says of itself. */
export type CapabilityValue = string | number | boolean | readonly (string | number)[];
export type Capabilities = Readonly<Record<string, CapabilityValue>>;

/** A bare value means: number `>=`, list `superset`, anything else equal. */
export type CapabilityTest =
  | CapabilityValue
  | { readonly [operator in Operator]?: CapabilityValue };
export const OPERATORS = ['=', '!=', '>', '>=', '<', '<=', 'in', 'has'] as const;
export type Operator = (typeof OPERATORS)[number];
