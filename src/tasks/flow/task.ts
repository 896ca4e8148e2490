/** Tasks: code with a name and types, to be used in flows, called, mapped over or submitted alone. */
import type { StandardSchemaV1 } from '@standard-schema/spec';
import { asLiteral, isId, withDefaults } from '../../scheduler/core/index.ts';
import type { Json, JsonObject, WrittenStart } from '../../scheduler/core/index.ts';
import type {
  Callable,
  Jsonified,
  Mappable,
  TaskContext,
  TaskDefinition,
} from '../executors/index.ts';
import { type CancelEvent, cancelsFor, checkedCancels } from './cancels.ts';
import { checkedEvents } from './events.ts';
import { ID_RULE, refuse, refuseUnknownFields, shown } from './fault.ts';
import { type JobShape, jobFields } from './document.ts';
import { Graph } from './graph.ts';
import { JOB_FIELDS, jobShape } from './job-parts.ts';
import type { AnyJobParts, BatchPart, JobParts } from './job-parts.ts';
import { jsonCopy } from './json-copy.ts';
import { jsonSchemaOf, taskDeclaration } from './published.ts';
import { type ScheduleParts, ownSchedules } from './schedule-parts.ts';
import {
  DEFAULT_FIELDS,
  type TaskDefaults,
  checkDefaults,
  checkDocument,
  plainOptions,
} from './options.ts';
import { type FailurePart, failureField, failureHook } from './when-failed.ts';
import { type Maybe, andThen, checkSchema, conformInput, conformResult } from './schema.ts';

/** What a flow can use as a task: it has a name, and types for what goes in and comes out. */
export interface Usable<Input, Result> extends Mappable<Input, Result> {
  readonly name: string;
  readonly defaults: TaskDefaults;
  toTask(input: Input): JsonObject;
  readResult(result: Json): Result;
}

/** A task that `defineTask` made. `Input` is its input before its schema is applied; `Result` is its result as JSON,
 * as others see it. */
export interface Task<Input, Result>
  extends TaskDefinition, Usable<Input, Result>, Callable<Input, Result> {
  readonly kind: 'millrace.task';
  readonly name: string;
  readonly defaults: TaskDefaults;
  readonly inputSchema: StandardSchemaV1 | undefined;
  readonly outputSchema: StandardSchemaV1 | undefined;
  /** Checks the input, runs the handler and checks what it returned. */
  run(input: Json, context: TaskContext): Promise<unknown>;
  /** A job with this task alone. A promise when the input's schema has to wait for something. */
  toDocument(input: Input): JsonObject | Promise<JsonObject>;
  toTask(input: Input): JsonObject;
  readResult(result: Json): Result;
}

/** As it is given: the schema is applied when the task runs. */
type TaskInputOf<In, Given> = [In] extends [StandardSchemaV1]
  ? Jsonified<StandardSchemaV1.InferInput<In>>
  : Given;

/**
 * What `defineTask` takes. What it says of the job (`keep`, `webhooks`, `fairnessKey`, `debounce`, `singleton`, `batch`,
 * `search`) counts when the task is submitted, started by its name, by an event or by a schedule, and not where it is
 * a part of a flow or of a map.
 */
export interface TaskParts<
  In extends StandardSchemaV1 | undefined,
  Out extends StandardSchemaV1 | undefined,
  Given,
  Returned,
>
  extends
    TaskDefaults,
    JobParts<TaskInputOf<In, Given>>,
    BatchPart<TaskInputOf<In, Given>>,
    ScheduleParts<[In] extends [StandardSchemaV1] ? StandardSchemaV1.InferInput<In> : Given>,
    FailurePart<TaskInputOf<In, Given>> {
  /** Unique among all tasks of a cluster: workers offer it under this name. */
  readonly name: string;
  /** What the handler is given is checked by it, and is what it makes of it. */
  readonly input?: In;
  /** What the handler returns is checked by it; the result is what it makes of that. */
  readonly output?: Out;
  /** Events that start a job of it alone, with their data as its input: see `defineFlow`. Only a task that is published by
   * itself can be started so: one that a module exports, or that is in `tasks` of a runtime. */
  readonly on?: readonly WrittenStart[];
  /**
   * Events that cancel jobs of it: those whose input has the same value in a field. `[{ event: 'order.cancelled', match: 'id' }]`
   * cancels the live jobs whose input has the `id` of the event's data.
   */
  readonly cancelOn?: readonly CancelEvent[];
  /** `import.meta.url`, to run it on a thread of its own: for work that keeps a processor busy. The
   * module must export the task, or a flow that uses it. */
  readonly thread?: string;
  /** May be run again after a failure or a crash. What it returns must be JSON. */
  readonly run: (
    input: [In] extends [StandardSchemaV1] ? StandardSchemaV1.InferOutput<In> : Given,
    context: TaskContext,
  ) => [Out] extends [StandardSchemaV1]
    ? StandardSchemaV1.InferInput<Out> | Promise<StandardSchemaV1.InferInput<Out>>
    : Returned | Promise<Returned>;
}

const FIELDS = [
  ...[
    'name',
    'input',
    'output',
    'on',
    'cancelOn',
    'whenFailed',
    'schedule',
    'thread',
    'run',
    'batch',
  ],
  ...JOB_FIELDS,
  ...DEFAULT_FIELDS,
];

/** Names that workers have given away already. */
const TAKEN = [
  ...['echo', 'sleep', 'http', 'command', 'container', 'aggregate', 'map'],
  ...['sql', 'sql.fragment', 'sql.plan', 'sql.groups'],
];

/**
 * Defines a task: a named piece of work that workers run, retry and record.
 *
 * ```ts
 * export const charge = defineTask({
 *   name: 'charge',
 *   input: z.object({ order: z.string(), cents: z.number().int() }),
 *   retry: { maxAttempts: 5 },
 *   run: async (input, ctx) => ({ receipt: await ctx.step('pay', () => pay(input)) }),
 * });
 * ```
 *
 * An input that its schema refuses fails the task for good, and so does a result.
 */
export function defineTask<
  In extends StandardSchemaV1 | undefined = undefined,
  Out extends StandardSchemaV1 | undefined = undefined,
  Given = Json,
  Returned = unknown,
>(
  parts: TaskParts<In, Out, Given, Returned>,
): Task<
  [In] extends [StandardSchemaV1] ? StandardSchemaV1.InferInput<In> : Given,
  [Out] extends [StandardSchemaV1]
    ? Jsonified<StandardSchemaV1.InferOutput<Out>>
    : Jsonified<Awaited<Returned>>
>;
export function defineTask(
  parts: Omit<
    TaskParts<StandardSchemaV1, StandardSchemaV1, never, unknown>,
    keyof AnyJobParts | 'schedule' | 'whenFailed'
  > &
    AnyJobParts & { readonly schedule?: unknown; readonly whenFailed?: unknown },
): Task<unknown, Json> {
  const about = checkedName('Task', parts);
  refuseUnknownFields(about, parts, FIELDS);
  const { name, input: inputSchema, output: outputSchema, thread } = parts;
  if (TAKEN.includes(name)) {
    refuse(about, 'The name is reserved for a built-in executor.', 'Choose another name.');
  }
  const handler: unknown = parts.run;
  if (typeof handler !== 'function') {
    refuse(about, `'run' must be a function, not ${shown(handler)}.`, 'It does the work.');
  }
  if (thread !== undefined && (typeof thread !== 'string' || !URL.canParse(thread))) {
    refuse(about, `'thread' is ${shown(thread)}.`, "Write 'thread: import.meta.url'.");
  }
  const on = checkedEvents(about, parts.on);
  const cancels = checkedCancels(about, parts.cancelOn, true);
  if (cancels.length > 0 && parts.batch !== undefined)
    refuse(
      about,
      "it cannot have 'cancelOn' and 'batch': the input of a batch is a list.",
      "Remove 'cancelOn', or submit a job for each item without 'batch'.",
    );
  checkSchema(about, 'input', inputSchema);
  checkSchema(about, 'output', outputSchema);
  const whose = `task '${name}'`;
  const conform = (input: Json): Maybe<unknown> =>
    inputSchema === undefined ? input : conformInput(inputSchema, input, whose);
  const usable = usableNamed<unknown, Json>(name, parts);
  const sample = { id: name, executor: name, input: [], ...(usable.defaults as JsonObject) };
  const job = jobOf(name, parts, sample);
  const schedules = ownSchedules(
    { about, name, sample: { ...job?.head, tasks: [sample] } },
    parts.schedule,
    (given) => conform(given ?? null),
  );
  const hook = failureHook(about, name, parts.whenFailed, taskOf);
  const declared = { on, schedules, cancels, hook, job };
  const ownFields = fieldsByInput(about, inputSchema, declared);

  return Object.freeze({
    ...usable,
    kind: 'millrace.task',
    inputSchema,
    outputSchema,
    ...(thread === undefined ? {} : { thread }),
    ...(hook === null ? {} : { whenFailed: hook.task }),
    declaration: () => taskDeclaration(name, inputSchema, usable.defaults as JsonObject, declared),
    async run(input: Json, context: TaskContext): Promise<unknown> {
      const returned = await parts.run(await conform(input), context);
      return outputSchema === undefined ? returned : conformResult(outputSchema, returned, whose);
    },
    toDocument(input: unknown): Maybe<JsonObject> {
      // What is checked is what the worker will see, and it is sent unchanged: the worker checks again.
      const given = jsonCopy(input, about) ?? null;
      return andThen(conform(given), () => ({
        name,
        ...ownFields(given),
        ...failureField(hook, given),
        tasks: [{ id: name, ...usable.toTask(input) }],
      }));
    },
  } satisfies Task<unknown, Json>);
}

/** A task with this handler, and nothing else to say of it. */
export function taskOf(
  name: string,
  run: (input: never, context: TaskContext) => unknown,
): TaskDefinition {
  return defineTask({ name, run });
}

/** Null for a task that says nothing of its jobs. */
function jobOf(name: string, parts: AnyJobParts, sample: JsonObject): JobShape | null {
  if ([...JOB_FIELDS, 'batch' as const].every((field) => parts[field] === undefined)) return null;
  const shape = jobShape(new Graph(name, 'Task'), parts, {});
  checkDocument({ ...shape.head, tasks: [sample] }, () => shape.about);
  return shape;
}

/** As for a job that is started by the task's name: of the input as given, with the defaults of its JSON Schema. */
function fieldsByInput(
  about: string,
  schema: StandardSchemaV1 | undefined,
  { job, cancels }: Pick<Parameters<typeof taskDeclaration>[3], 'job' | 'cancels'>,
): (given: Json) => JsonObject {
  if (job === null && cancels.length === 0) return () => ({});
  let published: JsonObject | null = null;
  return (given) => {
    published ??= schema === undefined ? {} : jsonSchemaOf(schema);
    const whole = withDefaults(published, given);
    return { ...(job && jobFields(job, whole)), ...cancelsFor(cancels, whole, about) };
  };
}

/** Something that workers know by name and that is not defined in this program. */
export interface ExternalTask<Input, Result>
  extends Usable<Input, Result>, Callable<Input, Result> {
  readonly kind: 'millrace.external';
  readonly name: string;
  toDocument(input: Input): JsonObject;
  toTask(input: Input): JsonObject;
  readResult(result: Json): Result;
}

/**
 * Names a task whose code lives elsewhere: in another module, another language, or in Millrace itself.
 * Nobody checks the two types; they are what you know of it.
 *
 * ```ts
 * const resize = externalTask<{ image: string }, { width: number }>('resize');
 * ```
 */
export function externalTask<Input = Json, Result = Json>(
  name: string,
  defaults: TaskDefaults = {},
): ExternalTask<Input, Result> {
  const about = checkedName('External task', { name });
  refuseUnknownFields(about, defaults, DEFAULT_FIELDS);
  const usable = usableNamed<Input, Result>(name, defaults);
  return Object.freeze({
    ...usable,
    kind: 'millrace.external',
    toDocument: (input: Input): JsonObject => ({
      name,
      tasks: [{ id: name, ...usable.toTask(input) }],
    }),
  });
}

function usableNamed<Input, Result>(name: string, given: TaskDefaults): Usable<Input, Result> {
  const about = `Task '${name}'`;
  const options = plainOptions(given, about);
  checkDefaults(about, name, options);
  return {
    name,
    defaults: Object.freeze(options),
    toTask: (input: Input) => ({
      executor: name,
      input: asLiteral(jsonCopy(input, about) ?? null),
      ...options,
    }),
    // What a worker has checked is what it has answered.
    readResult: (result: Json) => result as Result,
  };
}

/** What to call the thing in messages. */
export function checkedName(what: string, parts: { readonly name: unknown }): string {
  const isObject = typeof parts === 'object' && parts !== null;
  if (!isObject) refuse(what, `its definition must be an object, not ${shown(parts)}.`);
  const { name } = parts;
  if (typeof name !== 'string' || !isId(name)) {
    refuse(what, `${shown(name)} is not a valid name.`, ID_RULE);
  }
  return `${what} '${name}'`;
}
