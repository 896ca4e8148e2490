/** What the `build` function of a flow is given, and what it says about each task. */
import type { Json, Priority } from '../../scheduler/core/index.ts';
import type { Jsonified } from '../executors/index.ts';
import type { Comparison, Condition, Operand } from './condition.ts';
import type { LimitOption, PlacementOptions, TaskDefaults, TimeoutOptions } from './options.ts';
import type { InputRef, Ref, TaskRef, Wired } from './ref.ts';
import type { Usable } from './task.ts';

/** The tools to build a flow with. */
export interface FlowKit<Input> {
  /** Stands for the input of the flow: `input.order`. */
  readonly input: InputRef<Input>;
  /**
   * Adds a task. Every reference in its input makes it wait for the task that is referred to, which must
   * succeed. Returns what stands for its result.
   *
   * `what` is a task, or the name of an executor that is registered elsewhere.
   */
  readonly task: <What extends Usable<never, unknown> | string>(
    id: string,
    what: What,
    ...rest: TaskArguments<What>
  ) => TaskRef<ResultOf<What>>;
  /** Runs a task for each item of a list, which may be known only when the job runs. Returns a reference to the list
   * of the results, in the order of the items. */
  readonly map: MapItems;
  /** The same value, or null if the task that it comes from was skipped, or the input has no such field. If the task
   * failed, the dependent task does not run, as with any result that it needs. */
  readonly orNull: <T, From extends 'task' | 'input'>(
    ref: Ref<T, From>,
  ) => Ref<Exclude<T, undefined> | null, From>;
  /** The same value, or null if the task failed, was cancelled or was skipped: the dependent task runs however the
   * task ended. A job in which a task has failed is failed all the same. */
  readonly orNullIfFailed: <T>(ref: Ref<T, 'task'>) => Ref<Exclude<T, undefined> | null, 'task'>;
  /**
   * Why a task failed, or null if it has not: for a task that undoes or reports it, `when: failed(paid)`. The dependent task
   * runs however the task ended, unless its condition says otherwise.
   */
  readonly errorOf: (ref: Ref<unknown, 'task'>) => TaskRef<FailureOfTask | null>;
  /** Compares a value when the job runs: `when: is(paid.cents, '>', 100)`. */
  readonly is: <T, Op extends Comparison>(
    ref: Ref<T>,
    comparison: Op,
    operand: Operand<NoInfer<T>, Op>,
  ) => Condition;
  /** Whether a task ended well. Who asks waits for its end, but does not need it to succeed. */
  readonly succeeded: (ref: Ref<unknown, 'task'>) => Condition;
  /** Whether a task failed, was cancelled, or did not run because something that it needs failed. For what has
   * to be undone or reported then: `when: failed(shipped)`. */
  readonly failed: (ref: Ref<unknown, 'task'>) => Condition;
  /** Whether a task was skipped by a condition, its own or that of a task that it needs. */
  readonly skipped: (ref: Ref<unknown, 'task'>) => Condition;
}

/** What `errorOf` stands for. */
export interface FailureOfTask {
  readonly code: string;
  readonly message: string;
  readonly task: string;
}

export interface MapItems {
  <Item, Result>(
    id: string,
    what: Usable<Item, Result>,
    items: Wired<readonly Jsonified<NoInfer<Item>>[]>,
    options?: MapUse,
  ): TaskRef<Result[]>;
  /** With fields that are the same for every item. */
  <Item, Result, Shared extends keyof Jsonified<Item>>(
    id: string,
    what: Usable<Item, Result>,
    items: Wired<readonly Omit<Jsonified<NoInfer<Item>>, Shared>[]>,
    options: MapUse & {
      readonly with: { readonly [K in Shared]: Wired<Jsonified<NoInfer<Item>>[K]> };
    },
  ): TaskRef<Result[]>;
}

/** When a task runs, besides what its input needs. */
interface Order {
  /**
   * Runs only if this holds; otherwise it is skipped, and with it every task that needs it. A reference
   * holds unless it is null, false, 0, an empty text or missing. All of a list must hold.
   */
  readonly when?: When | readonly When[];
  /** Tasks that must have succeeded before; `orNull(ref)` is one that may have been skipped. */
  readonly after?: readonly Ref<unknown, 'task'>[];
  /** Tasks that must have ended before, however they ended. */
  readonly optional?: readonly Ref<unknown, 'task'>[];
  /** The work is done once for all tasks with the same executor and key, in any job. */
  readonly idempotencyKey?: string | Ref<string, 'input'>;
}

type When = Ref<unknown> | Condition;

/** How a task is used. Fields of `retry`, `timeouts` and `placement` win over those of the task itself. */
export interface TaskUse extends Order, Omit<TaskDefaults, 'concurrency' | 'limits'> {
  /** At most `limit` tasks with the same `key` run at the same time, over the whole cluster. */
  readonly concurrency?: {
    readonly key: string | Ref<string, 'input'>;
    readonly limit: number;
  };
  /** Limits that must all have a place for the task, besides those of the task itself. */
  readonly limits?: readonly (Omit<LimitOption, 'key'> & {
    /** Text, a part of the input, or several of these: `['tenant', input.tenant]`. */
    readonly key: LimitKey | readonly LimitKey[];
  })[];
}

type LimitKey = string | Ref<string, 'input'>;

/** How a task is used for each item of a list. */
export interface MapUse extends Order {
  /** Fields that every item gets; those of the item itself win. */
  readonly with?: Readonly<Record<string, unknown>>;
  /** How many items are worked on at the same time, at most. */
  readonly concurrency?: number;
  /** Of each item, as are the others below. */
  readonly retry?: TaskDefaults['retry'] & object;
  readonly timeouts?: TimeoutOptions;
  readonly placement?: PlacementOptions;
  readonly limits?: readonly LimitOption[];
  /** Of the items and of the list as a whole. */
  readonly priority?: Priority;
}

/** The input may be left out where null is one. */
export type TaskArguments<What> = What extends string
  ? [input?: Wired<Json>, options?: TaskUse]
  : What extends Usable<infer Input, unknown>
    ? null extends Jsonified<Input>
      ? [input?: Wired<Jsonified<Input>>, options?: TaskUse]
      : [input: Wired<Jsonified<Input>>, options?: TaskUse]
    : never;

export type ResultOf<What> = What extends Usable<never, infer Result> ? Result : Json;
