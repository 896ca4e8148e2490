/** Flows: typed graphs of tasks, made into a job document for each input. */
import type { StandardSchemaV1 } from '@standard-schema/spec';
import type {
  FlowDeclaration,
  FlowStart,
  Json,
  JsonObject,
  Priority,
  WrittenStart,
} from '../../scheduler/core/index.ts';
import type { Callable, FlowDefinition, Jsonified, TaskDefinition } from '../executors/index.ts';
import { comparing, ending } from './condition.ts';
import { type FlowGraph, type FlowShape, documentFor, drawn } from './document.ts';
import { type CancelEvent, cancelsFor, checkedCancels } from './cancels.ts';
import { checkedEvents } from './events.ts';
import { refuse, refuseUnknownFields, shown } from './fault.ts';
import { Graph } from './graph.ts';
import { JOB_FIELDS, type JobParts, jobShape } from './job-parts.ts';
import { jsonCopy } from './json-copy.ts';
import type { FlowKit } from './builder.ts';
import { checkDocument } from './options.ts';
import { declarationOf, startedInput } from './published.ts';
import type { Settled } from './ref.ts';
import { type Maybe, andThen, checkSchema, conformInput } from './schema.ts';
import { type ScheduleParts, ownSchedules } from './schedule-parts.ts';
import { checkedName, taskOf } from './task.ts';
import { type FailurePart, failureField, failureHook } from './when-failed.ts';

/**
 * A flow that `defineFlow` made. `Input` is what it is given, before its schema has looked at it;
 * `Result` is what its job answers.
 */
export interface Flow<Input, Result> extends FlowDefinition, Callable<Input, Result> {
  readonly kind: 'millrace.flow';
  readonly name: string;
  /** The tasks it uses whose code is in this program. */
  readonly tasks: readonly TaskDefinition[];
  /** What it looks like, for people. */
  readonly graph: FlowGraph;
  readonly inputSchema: StandardSchemaV1 | undefined;
  /** Checks the input and fills it in. A promise when the schema has to wait for something. */
  toDocument(input: Input): JsonObject | Promise<JsonObject>;
  readResult(result: Json): Result;
  /** What workers publish of it, so that it can be started by its name. */
  declaration(): FlowDeclaration;
  /** The input of a job that was started by name, as the schema makes it. */
  startInput(start: FlowStart): Json | Promise<Json>;
}

/** What `defineFlow` takes. */
export interface FlowParts<In extends StandardSchemaV1 | undefined, Built>
  extends
    JobParts<FlowInputOf<In>>,
    ScheduleParts<FlowGivenOf<In>>,
    FailurePart<Jsonified<FlowGivenOf<In>>> {
  readonly name: string;
  /** What the flow is given is checked by it when it is submitted. Without it, it takes no input. */
  readonly input?: In;
  /**
   * Events that start it, with their data as its input: `['order.created']`. An event is sent by `client.send`, over
   * HTTP or by `millrace send`, and starts every flow that names it. With a condition, only one whose data has these values:
   * `[{ event: 'order.created', match: { 'shop.region': 'eu' } }]`.
   */
  readonly on?: readonly WrittenStart[];
  /**
   * Events that cancel jobs of it: those whose input has the same value in a field. `[{ event: 'order.cancelled', match: 'id' }]`
   * cancels the live jobs whose input has the `id` of the event's data.
   */
  readonly cancelOn?: readonly CancelEvent[];
  /** 0 is urgent, 3 is low, 2 is normal. */
  readonly priority?: Priority;
  /** When a task has failed: `finish` what does not need it (usual), or `cancel` the rest. */
  readonly onFailure?: 'finish' | 'cancel';
  /** How many of its tasks run at the same time, at most. */
  readonly maxParallel?: number;
  readonly timeouts?: {
    /** From submitted to ended. */
    readonly totalMs?: number;
  };
  /**
   * Says which tasks there are and what they give each other. It is called once, when the flow is
   * defined: no value is there yet, and every job has the same graph. What it returns is the result of
   * the flow: a reference, or anything that has references in it.
   */
  readonly build: (kit: FlowKit<FlowInputOf<In>>) => Built;
}

type FlowInputOf<In> = [In] extends [StandardSchemaV1]
  ? Jsonified<StandardSchemaV1.InferOutput<In>>
  : null;

/** As it is given, before the schema is applied. */
type FlowGivenOf<In> = [In] extends [StandardSchemaV1] ? StandardSchemaV1.InferInput<In> : null;

const FIELDS = [
  'name',
  'input',
  'on',
  'schedule',
  'cancelOn',
  'whenFailed',
  'priority',
  'onFailure',
  'maxParallel',
  'timeouts',
  'build',
  ...JOB_FIELDS,
] as const;

/**
 * Defines a flow: a graph of tasks in which the results of some are the inputs of others.
 *
 * ```ts
 * export const order = defineFlow({
 *   name: 'order',
 *   input: z.object({ id: z.string(), cents: z.number().int() }),
 *   build: ({ input, task }) => {
 *     const paid = task('charge', charge, { order: input.id, cents: input.cents });
 *     const sent = task('ship', ship, { receipt: paid.receipt });
 *     return { receipt: paid.receipt, parcel: sent.parcel };
 *   },
 * });
 * ```
 */
export function defineFlow<
  In extends StandardSchemaV1 | undefined = undefined,
  const Built = undefined,
>(
  parts: FlowParts<In, Built>,
): Flow<
  [In] extends [StandardSchemaV1] ? StandardSchemaV1.InferInput<In> : null | undefined | void,
  Settled<Built>
>;
export function defineFlow(parts: FlowParts<StandardSchemaV1, unknown>): Flow<unknown, unknown> {
  const about = checkedName('Flow', parts);
  refuseUnknownFields(about, parts, FIELDS);
  checkSchema(about, 'input', parts.input);
  const { name, input: inputSchema, priority, onFailure, maxParallel, timeouts } = parts;
  const on = checkedEvents(about, parts.on);
  const cancels = checkedCancels(about, parts.cancelOn, inputSchema !== undefined);
  const hook = failureHook(about, name, parts.whenFailed, taskOf);
  const graph = new Graph(name);
  const output = graph.output(built(graph, parts.build));
  if (graph.tasks.length === 0) refuse(about, 'it has no task.', 'Add one with `task` or `map`.');
  const own = jsonCopy({ name, priority, onFailure, maxParallel, timeouts }, about) as JsonObject;
  const shape: FlowShape = { ...jobShape(graph, parts, own), tasks: graph.tasks, output };
  const sample = checkShape(shape);

  const conform = (input: unknown): Maybe<unknown> => {
    if (inputSchema !== undefined) return conformInput(inputSchema, input, `flow '${name}'`);
    if (input === undefined || input === null) return undefined;
    return refuse(about, 'it takes no input.', "Give it a schema in 'input', or omit the input.");
  };
  const schedules = ownSchedules({ about, name, sample }, parts.schedule, conform);
  let declaration: FlowDeclaration | null = null;
  return Object.freeze({
    kind: 'millrace.flow',
    name,
    inputSchema,
    tasks: [...graph.definitions, ...(hook === null ? [] : [hook.task])],
    graph: drawn(shape),
    toDocument: (input: unknown) =>
      andThen(conform(input), (value) => {
        const copy = jsonCopy(value, about);
        return {
          ...documentFor(shape, copy),
          ...cancelsFor(cancels, copy ?? null, about),
          ...failureField(hook, hook === null ? null : asSent(input)),
        };
      }),
    readResult: (result: Json) => (output === undefined ? undefined : result),
    declaration: () =>
      (declaration ??= declarationOf(shape, inputSchema, { on, schedules, cancels, hook })),
    startInput: (start: FlowStart) =>
      andThen(conform(start.input), (value) => startedInput(name, start, jsonCopy(value, about))),
  } satisfies Flow<unknown, unknown>);
}

/** As a client without the code of the flow would send it. */
function asSent(input: unknown): Json {
  return JSON.parse(JSON.stringify(input ?? null)) as Json;
}

function built(graph: Graph, build: unknown): unknown {
  if (typeof build !== 'function') {
    refuse(graph.about, `'build' must be a function, not ${shown(build)}.`);
  }
  const kit = {
    input: graph.input(),
    task: graph.addTask.bind(graph),
    map: graph.addMap.bind(graph),
    orNull: graph.orNull.bind(graph),
    orNullIfFailed: graph.orNullIfFailed.bind(graph),
    errorOf: graph.errorOf.bind(graph),
    is: comparing.bind(null, graph.about),
    succeeded: (ref: unknown) => ending(graph.about, ref, 'succeeded'),
    failed: (ref: unknown) => ending(graph.about, ref, 'failed'),
    skipped: (ref: unknown) => ending(graph.about, ref, 'skipped'),
  };
  const returned: unknown = (build as (kit: unknown) => unknown)(kit);
  graph.close();
  if (!(returned instanceof Promise)) return returned;
  // It may fail as well, without a listener.
  returned.catch(() => {});
  return refuse(
    graph.about,
    "'build' must not be async.",
    'It only describes the graph; do asynchronous work in tasks.',
  );
}

/** The document without what comes with the input: all that is wrong with it is wrong for good. */
function checkShape({ about, head, tasks }: FlowShape): JsonObject {
  const sample = tasks.map(({ id, executor, options }) => ({ id, executor, ...options }));
  // The options of the items of a map are in its input, which has not been checked yet.
  const items = tasks.flatMap(({ id, input }) => {
    const task =
      input?.kind === 'object' ? input.fields.find(([key]) => key === 'task') : undefined;
    const part = task?.[1];
    return part?.kind === 'plain' ? [{ id, ...(part.value as JsonObject) }] : [];
  });
  const whose = (list: readonly { readonly id: string }[]) => (place: number | null) =>
    place === null ? about : `${about}, task '${list[place]?.id}'`;
  checkDocument({ ...head, tasks: sample }, whose(sample));
  if (items.length > 0) checkDocument({ tasks: items }, whose(items));
  return { ...head, tasks: sample };
}
