/** Flows: typed graphs of tasks, made into a job document for each input. */
import type { StandardSchemaV1 } from '@standard-schema/spec';
import { isObject } from '../../scheduler/core/index.ts';
import type {
  FlowDeclaration,
  FlowStart,
  JobOutcome,
  Json,
  JsonObject,
  Keep,
  Priority,
} from '../../scheduler/core/index.ts';
import type { Callable, FlowDefinition, Jsonified, TaskDefinition } from '../executors/index.ts';
import { comparing, ending } from './condition.ts';
import { type FlowGraph, type FlowShape, documentFor, drawn } from './document.ts';
import { checkedEvents } from './events.ts';
import { refuse, refuseUnknownFields, shown } from './fault.ts';
import { Graph } from './graph.ts';
import { jsonCopy } from './json-copy.ts';
import type { FlowKit } from './builder.ts';
import { checkDocument } from './options.ts';
import { declarationOf, startedInput } from './published.ts';
import type { InputRef, Settled } from './ref.ts';
import { type Maybe, andThen, checkSchema, conformInput } from './schema.ts';
import { checkedName } from './task.ts';
import { type Part, partOf } from './template.ts';

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
export interface FlowParts<In extends StandardSchemaV1 | undefined, Built> {
  readonly name: string;
  /** What the flow is given is checked by it when it is submitted. Without it, it takes no input. */
  readonly input?: In;
  /**
   * Events that start it, with their data as its input: `['order.created']`. An event is sent by `client.send`, over
   * HTTP or by `millrace send`, and starts every flow that names it.
   */
  readonly on?: readonly string[];
  /** 0 is urgent, 3 is low, 2 is normal. */
  readonly priority?: Priority;
  /** When a task has failed: `finish` what does not need it (usual), or `cancel` the rest. */
  readonly onFailure?: 'finish' | 'cancel';
  /** How many of its tasks run at the same time, at most. */
  readonly maxParallel?: number;
  /** What remains of a job once it has ended: `all` for as long as the settings say (usual), `failed` nothing if it
   * succeeded, `none` nothing at all. */
  readonly keep?: Keep;
  /** Servers that are notified of the end of each job, by a signed request; `on` names the ends, all of them without it. */
  readonly webhooks?: readonly { readonly url: string; readonly on?: readonly JobOutcome[] }[];
  readonly timeouts?: {
    /** From submitted to ended. */
    readonly totalMs?: number;
  };
  /**
   * Jobs with the same key, say of one tenant, take turns with all others as if they were one job: text, or a
   * function that picks a part of the input and is called once like `build`.
   */
  readonly fairnessKey?: string | ((input: InputRef<FlowInputOf<In>>) => unknown);
  /**
   * A job starts when no other one with its key has come for `ms`. One that comes meanwhile replaces it, so the last
   * input wins; the first of them waits no longer than `maxMs`. The key is text or a function, as `fairnessKey`.
   */
  readonly debounce?: {
    readonly key: string | ((input: InputRef<FlowInputOf<In>>) => unknown);
    readonly ms: number;
    readonly maxMs?: number;
  };
  /**
   * Of the jobs with one key only one is live at a time. While it lives, another submission is answered with it (`skip`,
   * usual), or cancels it and takes its place (`replace`). The key is text or a function, as `fairnessKey`.
   */
  readonly singleton?: {
    readonly key: string | ((input: InputRef<FlowInputOf<In>>) => unknown);
    readonly whenBusy?: 'skip' | 'replace';
  };
  /**
   * Fields to find jobs by: an object of references to the input, called once like `build`. Their values become labels
   * of each job, so they are indexed, and have the limits of labels. A field that is absent or null gives no label.
   */
  readonly search?: (input: InputRef<FlowInputOf<In>>) => Readonly<Record<string, unknown>>;
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

const FIELDS = [
  'name',
  'input',
  'on',
  'priority',
  'onFailure',
  'maxParallel',
  'keep',
  'webhooks',
  'timeouts',
  'fairnessKey',
  'debounce',
  'singleton',
  'search',
  'build',
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
  const { name, input: inputSchema, priority, onFailure, maxParallel, keep, timeouts } = parts;
  const { webhooks } = parts;
  const on = checkedEvents(about, parts.on);
  // A key that comes with the input is not there yet: one that could be it holds its place.
  const debounce = parts.debounce === undefined ? undefined : { ...parts.debounce, key: name };
  const singleton = parts.singleton === undefined ? undefined : { ...parts.singleton, key: name };
  const graph = new Graph(name);
  const output = graph.output(built(graph, parts.build));
  if (graph.tasks.length === 0) refuse(about, 'it has no task.', 'Add one with `task` or `map`.');
  const head = jsonCopy(
    { name, priority, onFailure, maxParallel, keep, webhooks, debounce, singleton, timeouts },
    about,
  ) as JsonObject;
  const search = searchFields(graph, parts.search);
  const fairnessKey = pickedKey(graph, 'fairnessKey', parts.fairnessKey);
  const debounceKey = pickedKey(graph, 'debounce.key', parts.debounce?.key);
  const singletonKey = pickedKey(graph, 'singleton.key', parts.singleton?.key);
  const keys = { fairnessKey, debounceKey, singletonKey };
  const shape: FlowShape = { about, head, tasks: graph.tasks, output, search, ...keys };
  checkShape(shape);

  const conform = (input: unknown): Maybe<unknown> => {
    if (inputSchema !== undefined) return conformInput(inputSchema, input, `flow '${name}'`);
    if (input === undefined || input === null) return undefined;
    return refuse(about, 'it takes no input.', "Give it a schema in 'input', or omit the input.");
  };
  let declaration: FlowDeclaration | null = null;
  return Object.freeze({
    kind: 'millrace.flow',
    name,
    inputSchema,
    tasks: graph.definitions,
    graph: drawn(shape),
    toDocument: (input: unknown) =>
      andThen(conform(input), (value) => documentFor(shape, jsonCopy(value, about))),
    readResult: (result: Json) => (output === undefined ? undefined : result),
    declaration: () => (declaration ??= declarationOf(shape, inputSchema, on)),
    startInput: (start: FlowStart) =>
      andThen(conform(start.input), (value) => startedInput(name, start, jsonCopy(value, about))),
  } satisfies Flow<unknown, unknown>);
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

/** Text, or a part of the input that is text in every job. */
function pickedKey(graph: Graph, field: string, key: unknown): Part | undefined {
  if (key === undefined) return undefined;
  const about = `${graph.about}, '${field}'`;
  const picked: unknown =
    typeof key === 'function' ? (key as (input: unknown) => unknown)(graph.input()) : key;
  const part = partOf(picked, { about, use: (pointed) => graph.refuseForeign(pointed, about) });
  const isText =
    part?.kind === 'pointed' || (part?.kind === 'plain' && typeof part.value === 'string');
  if (part !== undefined && isText) return part;
  return refuse(about, `it must be text or a part of the input, not ${shown(picked)}.`);
}

function searchFields(graph: Graph, search: unknown): Part | undefined {
  if (search === undefined) return undefined;
  const about = `${graph.about}, 'search'`;
  if (typeof search !== 'function') refuse(about, `it must be a function, not ${shown(search)}.`);
  const fields: unknown = (search as (input: unknown) => unknown)(graph.input());
  if (!isObject(fields)) {
    refuse(about, `it must return an object, not ${shown(fields)}.`);
  }
  return partOf(fields, { about, use: (pointed) => graph.refuseForeign(pointed, about) });
}

/** The document without what comes with the input: all that is wrong with it is wrong for good. */
function checkShape({ about, head, tasks }: FlowShape): void {
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
}
