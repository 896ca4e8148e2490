/** What runs once a job of a flow or a task has failed: a task, in a job of its own. */
import { INPUT_GAP } from '../../scheduler/core/index.ts';
import type { JobId, Json, JsonObject, Labels } from '../../scheduler/core/index.ts';
import type { TaskContext, TaskDefinition } from '../executors/index.ts';
import { refuse, shown } from './fault.ts';

/** A job that has failed for good. */
export interface Failure<Input = Json> {
  readonly job: {
    readonly id: JobId;
    readonly name: string;
    readonly labels: Labels;
    readonly state: 'failed';
  };
  readonly error: { readonly code: string; readonly message: string } | null;
  /** The first task that failed; null if it was none, say because the time of the job was over. */
  readonly task: { readonly id: string; readonly code: string; readonly message: string } | null;
  /** What the job was given, before a schema has looked at it; null if it is larger than 32 KiB, or too deep to be passed on. */
  readonly input: Input | null;
}

/** Anything that `defineTask` makes and that takes a failure. */
interface FailureTask<Input> extends TaskDefinition {
  readonly defaults: object;
  toTask(input: Failure<Input>): JsonObject;
}

export interface FailurePart<Input> {
  /**
   * Runs when a job has failed for good: after the last attempt, or because its time was over. A handler, or a task that
   * several flows may share. It is started in the transaction of the end, once for each time that a job fails, in a
   * job of its own with retries of its own. Its failures start nothing.
   */
  readonly whenFailed?:
    | FailureTask<Input>
    | ((failure: Failure<Input>, context: TaskContext) => unknown);
}

/** The field `whenFailed` of documents, without the input. */
export interface FailureHook {
  readonly task: TaskDefinition;
  readonly fields: JsonObject;
}

export function failureHook(
  about: string,
  name: string,
  given: unknown,
  define: (name: string, run: (failure: never, context: TaskContext) => unknown) => TaskDefinition,
): FailureHook | null {
  if (given === undefined) return null;
  const task =
    typeof given === 'function'
      ? define(`${name}.failed`, given as (failure: never, context: TaskContext) => unknown)
      : given;
  if (!isTask(task)) {
    const what = `'whenFailed' must be a function or a task, not ${shown(given)}.`;
    return refuse(about, what, 'Write whenFailed: ({ job, error, input }, ctx) => ...');
  }
  return { task, fields: { executor: task.name, ...(task.defaults as JsonObject) } };
}

function isTask(value: unknown): value is TaskDefinition & { readonly defaults: object } {
  const { kind, defaults } = (value ?? {}) as { kind?: unknown; defaults?: unknown };
  return kind === 'millrace.task' && typeof defaults === 'object';
}

export function failureField(hook: FailureHook | null, input: Json): JsonObject {
  return hook === null ? {} : { whenFailed: { ...hook.fields, input } };
}

/** As it is published, with a gap for the input. */
export function failureTemplate(hook: FailureHook | null): JsonObject {
  return failureField(hook, { [INPUT_GAP]: '' });
}
