/**
 * A job document from the name of a flow and an input, without the flow's code.
 *
 * The template of a flow is a job document. Its first task, `_input`, runs on a worker that has the flow: it applies the
 * flow's own schema and returns the input as that makes it, with defaults and transformations. All other tasks depend on
 * it and take from its result what they need. Idempotency keys, keys of limits and operands of conditions must be known
 * when the job is submitted: they stand in the template as `{ "$input": pointer }` and are taken from the input as it was
 * given, with the defaults that the published JSON Schema states. The first task fails if the schema makes something else
 * of one of those, so no key can differ from what the flow means.
 */
import { EVENTS_FIELD, SCHEDULES_FIELD, flowExecutor } from '../node/flow.ts';
import type { FlowDeclaration } from '../node/flow.ts';
import { isObject } from '../json.ts';
import type { Json, JsonObject } from '../json.ts';
import { schemaFault } from './json-schema.ts';
import { pointedAt, pointerTokens } from './pointer.ts';
import { below, refuse } from './refuse.ts';
import { withDefaults } from './schema-defaults.ts';
import { asLiteral } from './template.ts';
import { weigh } from './weigh.ts';

/** The task that holds the input of a flow. */
export const INPUT_TASK = '_input';
/** The key of a gap in a template. */
export const INPUT_GAP = '$input';

/** What the executor of a flow is given. */
export interface FlowStart {
  readonly input: Json;
  /** JSON Pointers to what the schema must leave as it is. */
  readonly unchanged: readonly string[];
  /** What was taken for fields that the input lacks: a default, or nothing at all. */
  readonly assumed?: readonly Assumed[];
}

/** JSON Pointer and value; without a value: the schema must not fill it either. */
export interface Assumed {
  readonly path: string;
  readonly value?: Json;
}

/** Throws `bad_input`, with the path of the field, for an input that does not fit. */
export function flowDocument(
  flow: FlowDeclaration,
  input: Json,
  path: string,
  bytesMax: number,
): JsonObject {
  const { name } = flow;
  const { [EVENTS_FIELD]: _on, [SCHEDULES_FIELD]: _schedules, ...template } = flow.template;
  weigh(input, path, 'The input', 0, bytesMax);
  if (flow.input === null && input !== null)
    refuse(path, `The flow '${name}' takes no input.`, 'Omit it.');
  const wrong =
    flow.input === null || isOmittable(flow.input, input)
      ? null
      : schemaFault(flow.input, input, path);
  if (wrong !== null)
    refuse(wrong.path, `${wrong.what} The flow '${name}' does not accept this input.`);
  const tasks = Array.isArray(template['tasks']) ? (template['tasks'] as readonly Json[]) : [];
  const [single] = tasks;
  const gaps = new Gaps(flow, input, path);
  // A task that is published by itself takes the input as it is, and applies its own schema.
  const isTask = tasks.length === 1 && isObject(single) && isGap(single['input']);
  const filled = tasks.map((task) => (isObject(task) ? gaps.fill(task) : task));
  const document = {
    ...template,
    ...gaps.labels(template['labels']),
    ...gaps.keys(template),
    ...gaps.cancels(template['cancelOn']),
    ...wholeInput(template['whenFailed'], input),
    name,
  };
  if (isTask) return { ...document, tasks: [{ ...single, input: asLiteral(input) }] };
  if (flow.input === null) return { ...document, tasks: filled };
  const assumed = [...gaps.assumed].map(([at, value]) =>
    value === undefined ? { path: at } : { path: at, value },
  );
  const start: JsonObject = {
    input,
    unchanged: [...gaps.used],
    ...(assumed.length > 0 && { assumed }),
  } satisfies FlowStart;
  const first = { id: INPUT_TASK, executor: flowExecutor(name), input: asLiteral(start) };
  return { ...document, tasks: [first, ...filled] };
}

/** No input is null, and may stand for the default of the schema. */
function isOmittable(schema: JsonObject, input: Json): boolean {
  return input === null && Object.hasOwn(schema, 'default');
}

class Gaps {
  readonly used: Set<string> = new Set();
  readonly assumed: Map<string, Json | undefined> = new Map();
  readonly #flow: string;
  readonly #schema: JsonObject | null;
  readonly #input: Json;
  readonly #path: string;
  /** With the defaults that are known here. */
  #whole: Json | undefined;

  constructor({ name, input: schema }: FlowDeclaration, input: Json, path: string) {
    this.#flow = name;
    this.#schema = schema;
    this.#input = input;
    this.#path = path;
  }

  /** Gaps are in a few places of a task only: its input is not searched. */
  fill(task: JsonObject): JsonObject {
    const { idempotencyKey, concurrency, limits, when } = task;
    return {
      ...task,
      ...(isObject(idempotencyKey) ? { idempotencyKey: this.#value(idempotencyKey) } : {}),
      ...(isObject(concurrency) && isObject(concurrency['key'])
        ? { concurrency: { ...concurrency, key: this.#value(concurrency['key']) } }
        : {}),
      ...(Array.isArray(limits)
        ? { limits: (limits as readonly Json[]).map((each) => this.#limit(each)) }
        : {}),
      ...(Array.isArray(when)
        ? { when: (when as readonly Json[]).map((each) => this.#test(each)) }
        : {}),
    };
  }

  /** Those of the job itself. */
  keys({ fairnessKey, debounce, singleton, batch }: JsonObject): JsonObject {
    return {
      ...(isGap(fairnessKey) ? { fairnessKey: this.#value(fairnessKey) } : {}),
      ...this.#keyed('debounce', debounce),
      ...this.#keyed('singleton', singleton),
      ...this.#keyed('batch', batch),
    };
  }

  #keyed(name: string, value: Json | undefined): JsonObject {
    if (!isObject(value) || !isGap(value['key'])) return {};
    return { [name]: { ...value, key: this.#value(value['key']) } };
  }

  /** A job whose input lacks a field is not cancelled by that event. */
  cancels(given: Json | undefined): JsonObject {
    if (!Array.isArray(given)) return {};
    const cancelOn = (given as readonly Json[]).flatMap((entry) => {
      if (!isObject(entry) || !isObject(entry['match'])) return [entry];
      const match = Object.entries(entry['match']);
      const values = match.map(([, each]) => (isGap(each) ? this.#taken(each) : each));
      if (values.some((value) => value === undefined || value === null)) return [];
      const filled = match.map(([field], at) => [field, values[at] as Json] as const);
      return [{ ...entry, match: Object.fromEntries(filled) }];
    });
    return { cancelOn };
  }

  /** A key that comes with the input is a list of its parts. */
  #limit(limit: Json): Json {
    if (!isObject(limit) || !Array.isArray(limit['key'])) return limit;
    const parts = (limit['key'] as readonly Json[]).map((part) => {
      const value = isGap(part) ? this.#value(part) : part;
      if (typeof value === 'string' || typeof value === 'number') return String(value);
      return refuse(this.#path, `The key of a limit of the flow '${this.#flow}' is not text.`);
    });
    return { ...limit, key: parts.join(':') };
  }

  /** For people to find the job by: what the input lacks gives no label, and nothing depends on them. */
  labels(given: Json | undefined): JsonObject {
    if (!isObject(given)) return {};
    const labels = Object.entries(given).flatMap(([key, each]) => {
      const value = isGap(each) ? this.#at(each) : each;
      if (value === undefined || value === null) return [];
      return [[key, typeof value === 'object' ? value : String(value)] as const];
    });
    return { labels: Object.fromEntries(labels) };
  }

  #at(gap: JsonObject): Json | undefined {
    const pointer = gap[INPUT_GAP];
    const tokens = typeof pointer === 'string' ? pointerTokens(pointer) : null;
    if (tokens === null) return undefined;
    const given = pointedAt(this.#input, tokens);
    if (given !== undefined || this.#schema === null) return given;
    this.#whole ??= withDefaults(this.#schema, this.#input);
    return pointedAt(this.#whole, tokens);
  }

  /** The schema must make the same of it. */
  #taken(gap: JsonObject): Json | undefined {
    const value = this.#at(gap);
    const pointer = gap[INPUT_GAP];
    if (typeof pointer !== 'string') return value;
    const given = pointedAt(this.#input, pointerTokens(pointer) ?? []);
    if (given === undefined) this.assumed.set(pointer, value);
    else this.used.add(pointer);
    return value;
  }

  #test(condition: Json): Json {
    if (!isObject(condition)) return condition;
    return Object.fromEntries(
      Object.entries(condition).map(([key, each]) => [key, isGap(each) ? this.#value(each) : each]),
    );
  }

  #value(gap: JsonObject): Json {
    const pointer = gap[INPUT_GAP];
    const tokens = typeof pointer === 'string' ? pointerTokens(pointer) : null;
    if (tokens === null || typeof pointer !== 'string') return gap;
    const value = this.#taken(gap);
    if (value !== undefined) return value;
    const where = tokens.reduce((at, token) => below(at, token), this.#path);
    return refuse(
      where,
      `It is missing, and a key or condition of the flow '${this.#flow}' needs it.`,
    );
  }
}

/** It gets the input as it was given. */
function wholeInput(whenFailed: Json | undefined, input: Json): JsonObject {
  if (!isObject(whenFailed) || !isGap(whenFailed['input'])) return {};
  return { whenFailed: { ...whenFailed, input } };
}

function isGap(value: Json | undefined): value is JsonObject {
  return isObject(value) && Object.hasOwn(value, INPUT_GAP);
}
