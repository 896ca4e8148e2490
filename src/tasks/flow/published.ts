/**
 * A flow as workers publish it: the job document with references in the places of the input, and the JSON Schema of
 * the input. `scheduler/core/document/flow-document.ts` makes job documents of it.
 */
import { createHash } from 'node:crypto';
import type { StandardJSONSchemaV1, StandardSchemaV1 } from '@standard-schema/spec';
import {
  EVENTS_FIELD,
  INPUT_GAP,
  INPUT_TASK,
  MillraceError,
  SCHEDULES_FIELD,
  asLiteral,
  canonicalJson,
  pointedAt,
  pointerTokens,
  isObject,
} from '../../scheduler/core/index.ts';
import type {
  FlowDeclaration,
  FlowStart,
  Json,
  JsonObject,
  WrittenStart,
} from '../../scheduler/core/index.ts';
import { cancelsTemplate } from './cancels.ts';
import type { FlowShape, JobShape } from './document.ts';
import type { GraphTask, GraphTest } from './graph.ts';
import type { Pointed } from './placeholder.ts';
import { pointerOf } from './pointer.ts';
import type { Part } from './template.ts';
import { type FailureHook, failureTemplate } from './when-failed.ts';

export function declarationOf(
  shape: FlowShape,
  schema: StandardSchemaV1 | undefined,
  starts: FlowStarts,
): FlowDeclaration {
  const name = shape.head['name'] as string;
  const takesInput = schema !== undefined;
  const output = shape.output === undefined ? undefined : referring(shape.output);
  const template: JsonObject = {
    ...jobTemplate(shape),
    ...startFields(starts),
    ...(output === undefined ? {} : { output }),
    tasks: shape.tasks.map((task) => taskTemplate(task, takesInput)),
  };
  return versioned(name, takesInput ? jsonSchemaOf(schema) : null, template);
}

/** A task by itself: it applies its schema when it runs, so its input is wired as it was given. */
export function taskDeclaration(
  name: string,
  schema: StandardSchemaV1 | undefined,
  options: JsonObject,
  { job, ...starts }: FlowStarts & { readonly job: JobShape | null },
): FlowDeclaration {
  const task = { id: name, executor: name, input: { [INPUT_GAP]: '' }, ...options };
  const template = { ...(job && jobTemplate(job)), ...startFields(starts), tasks: [task] };
  return versioned(name, schema === undefined ? ANYTHING : jsonSchemaOf(schema), template);
}

/** What starts a flow by itself, events and schedules, what cancels its jobs, and what runs when they fail. */
export interface FlowStarts {
  readonly on: readonly WrittenStart[];
  readonly schedules: readonly JsonObject[];
  readonly cancels: Parameters<typeof cancelsTemplate>[0];
  readonly hook: FailureHook | null;
}

function startFields({ on, schedules, cancels, hook }: FlowStarts): JsonObject {
  return {
    ...failureTemplate(hook),
    ...cancelsTemplate(cancels),
    ...(on.length === 0 ? {} : { [EVENTS_FIELD]: on }),
    ...(schedules.length === 0 ? {} : { [SCHEDULES_FIELD]: schedules }),
  };
}

function versioned(name: string, input: JsonObject | null, template: JsonObject): FlowDeclaration {
  const text = canonicalJson({ template, input });
  const version = createHash('sha256').update(text).digest('hex').slice(0, VERSION_CHARS);
  return { name, version, input, template };
}

const VERSION_CHARS = 12;

function jobTemplate(shape: JobShape): JsonObject {
  return { ...shape.head, ...labelsOf(shape.search), ...keysOf(shape) };
}

/** Labels that are made of the input are made of it as it was given. */
function labelsOf(search: Part | undefined): JsonObject {
  if (search === undefined) return {};
  if (search.kind !== 'object') return { labels: known(search) };
  return { labels: Object.fromEntries(search.fields.map(([key, part]) => [key, known(part)])) };
}

function keysOf(shape: JobShape): JsonObject {
  const { head, fairnessKey, debounceKey, singletonKey, batchKey } = shape;
  const keyed = (name: string, key: Part | undefined): JsonObject =>
    key === undefined ? {} : { [name]: { ...(head[name] as JsonObject), key: known(key) } };
  return {
    ...(fairnessKey === undefined ? {} : { fairnessKey: known(fairnessKey) }),
    ...keyed('debounce', debounceKey),
    ...keyed('singleton', singletonKey),
    ...keyed('batch', batchKey),
  };
}

/** A key that comes with the input is a list of its parts. */
function limitsTemplate({ options, limitKeys }: GraphTask): Json {
  return (options['limits'] as readonly JsonObject[]).map((limit, at) => {
    const parts = limitKeys.get(at);
    return parts === undefined ? limit : { ...limit, key: parts.map(known) };
  });
}

function taskTemplate(task: GraphTask, takesInput: boolean): JsonObject {
  const { id, executor, options, idempotencyKey, concurrencyKey } = task;
  const input = task.input === undefined ? undefined : referring(task.input);
  const needs = new Map(task.needs);
  // Nothing runs for an input that the schema refuses, whatever it needs or does without.
  if (takesInput) needs.set(INPUT_TASK, true);
  const dependsOn = [...needs].map(([each, required]): Json =>
    required === true ? each : { id: each, required },
  );
  const when = task.tests.map(testTemplate);
  return {
    id,
    executor,
    ...(input === undefined ? {} : { input }),
    ...(dependsOn.length === 0 ? {} : { dependsOn }),
    ...(when.length === 0 ? {} : { when }),
    ...(idempotencyKey === undefined ? {} : { idempotencyKey: known(idempotencyKey) }),
    ...options,
    ...(concurrencyKey === undefined
      ? {}
      : {
          concurrency: { ...(options['concurrency'] as JsonObject), key: known(concurrencyKey) },
        }),
    ...(task.limitKeys.size === 0 ? {} : { limits: limitsTemplate(task) }),
  };
}

function testTemplate({ subject, comparison }: GraphTest): JsonObject {
  const from = reference(subject);
  return comparison === null ? from : { ...from, [comparison.operator]: known(comparison.operand) };
}

/** A plain value, or a part of the input that must be known when the job is submitted. */
function known(part: Part): Json {
  if (part.kind === 'plain') return part.value;
  const tokens = part.kind === 'pointed' ? part.pointed.tokens : [];
  return { [INPUT_GAP]: pointerOf(tokens) };
}

/** With references in the places of the input, as results have them already. */
function referring(part: Part, isField = true): Json {
  switch (part.kind) {
    case 'plain':
      return asLiteral(part.value);
    case 'pointed':
      return { ...reference(part.pointed), ...(isField ? lenient(part.pointed) : {}) };
    case 'list':
      return part.parts.map((each) => referring(each, false));
    case 'object':
      return Object.fromEntries(part.fields.map(([key, each]) => [key, referring(each)]));
  }
}

function reference({ task, tokens, isError }: Pointed): JsonObject {
  return {
    $from: task ?? INPUT_TASK,
    ...(isError === true ? { error: true } : {}),
    ...(tokens.length === 0 ? {} : { path: pointerOf(tokens) }),
  };
}

/** A field that the input lacks is left out where it is wired, or null. */
function lenient({ task, tokens, orNull }: Pointed): JsonObject {
  if (task !== null || tokens.length === 0) return {};
  return { missing: orNull === 'never' ? 'omit' : 'null' };
}

type WithJsonSchema = StandardSchemaV1 &
  Partial<StandardJSONSchemaV1> & {
    /** Of zod and arktype, where they do not have the standard's. */
    readonly toJSONSchema?: (options: object) => unknown;
    readonly toJsonSchema?: () => unknown;
  };

/** A larger one is of no help to a reader. */
const SCHEMA_CHARS_MAX = 64 * 1024;
const ANYTHING: JsonObject = {};

/** As the library of the schema writes it; `{}`, which allows anything, where it cannot. */
export function jsonSchemaOf(schema: StandardSchemaV1): JsonObject {
  const given = schema as WithJsonSchema;
  const ways = [
    () =>
      given['~standard'].jsonSchema?.input({
        target: 'draft-2020-12',
        // What zod cannot express allows anything, instead of spoiling the rest.
        libraryOptions: { unrepresentable: 'any' },
      }),
    () => given.toJSONSchema?.({ io: 'input', unrepresentable: 'any' }),
    () => given.toJsonSchema?.(),
  ];
  for (const way of ways) {
    const made = plainObject(way);
    if (made !== null) return made;
  }
  return ANYTHING;
}

function plainObject(make: () => unknown): JsonObject | null {
  try {
    const text = JSON.stringify(make());
    if (text === undefined || text.length > SCHEMA_CHARS_MAX) return null;
    const value = JSON.parse(text) as Json;
    if (!isObject(value)) return null;
    const { $schema: _, ...rest } = value;
    return rest;
  } catch {
    // The library cannot express this schema.
    return null;
  }
}

/** What the executor of a flow does: the input as the schema makes it, unless that changes what is used already. */
export function startedInput(
  flow: string,
  { input, unchanged, assumed = [] }: FlowStart,
  conformed: Json | undefined,
): Json {
  const made = conformed ?? null;
  for (const pointer of unchanged) {
    const tokens = pointerTokens(pointer) ?? [];
    const [before, after] = [pointedAt(input, tokens), pointedAt(made, tokens)];
    const isSame =
      before !== undefined && after !== undefined && canonicalJson(before) === canonicalJson(after);
    if (isSame) continue;
    throw new MillraceError({
      code: 'bad_input',
      path: pointer,
      what: `The schema of flow '${flow}' changes this field, and a key or condition of the flow uses it.`,
      why: 'When a flow is started by its name, keys and conditions are made of the input as it was given.',
      todo: 'Start it with this value as the schema makes it, or take the key from another field.',
    });
  }
  for (const { path, value = null } of assumed) {
    const after = pointedAt(made, pointerTokens(path) ?? []) ?? null;
    if (canonicalJson(after) === canonicalJson(value)) continue;
    throw new MillraceError({
      code: 'bad_input',
      path,
      what: `The schema of flow '${flow}' fills this field, and a key, a condition or 'cancelOn' of the flow uses it.`,
      why: 'When a flow is started by its name, only defaults that its JSON Schema states are known by then.',
      todo: 'Give the field a value.',
    });
  }
  return made;
}
