/** A flow with one input put into it: the job document. And the flow without, as a drawing. */
import { INPUT_TASK, asLiteral } from '../../scheduler/core/index.ts';
import type { Json, JsonObject, Need } from '../../scheduler/core/index.ts';
import { type About, refuse } from './fault.ts';
import type { GraphTask, GraphTest } from './graph.ts';
import { type Pointed, describe } from './placeholder.ts';
import { pointerOf, spelled } from './pointer.ts';
import { type FlowInput, type Part, filled, filledWhole, inputAt } from './template.ts';

/** What there is of a job beside its tasks. */
export interface JobShape {
  readonly about: About;
  /** The fields of the job itself. */
  readonly head: JsonObject;
  /** Labels by key, made of the input. */
  readonly search: Part | undefined;
  readonly fairnessKey: Part | undefined;
  /** Of `head.debounce`. */
  readonly debounceKey: Part | undefined;
  /** Of `head.singleton`. */
  readonly singletonKey: Part | undefined;
  /** Of `head.batch`. */
  readonly batchKey: Part | undefined;
}

/** A flow that is built and checked. */
export interface FlowShape extends JobShape {
  readonly tasks: readonly GraphTask[];
  readonly output: Part | undefined;
}

export function documentFor(shape: FlowShape, input: FlowInput): JsonObject {
  const { tasks, about } = shape;
  const output =
    shape.output === undefined ? undefined : filled(shape.output, input, `${about}, its result,`);
  return {
    ...jobFields(shape, input),
    ...(output === undefined ? {} : { output }),
    tasks: [...inputTask(tasks, input), ...tasks.map((task) => taskDocument(task, input))],
  };
}

/** The fields of a job but its tasks, for one input. */
export function jobFields(shape: JobShape, input: FlowInput): JsonObject {
  const { head, about, fairnessKey, debounceKey, singletonKey, batchKey } = shape;
  const keyed = (name: 'debounce' | 'singleton' | 'batch', key: Part | undefined): JsonObject => {
    if (key === undefined) return {};
    const value = filledWhole(key, input, `${about}, '${name}.key'`);
    return { [name]: { ...(head[name] as JsonObject), key: value } };
  };
  return {
    ...head,
    ...searched(shape, input),
    ...(fairnessKey === undefined
      ? {}
      : { fairnessKey: filledWhole(fairnessKey, input, `${about}, 'fairnessKey'`) }),
    ...keyed('debounce', debounceKey),
    ...keyed('singleton', singletonKey),
    ...keyed('batch', batchKey),
  };
}

function searched({ search, about }: JobShape, input: FlowInput): JsonObject {
  if (search === undefined) return {};
  const fields = filled(search, input, `${about}, 'search'`) as JsonObject;
  const labels = Object.entries(fields).flatMap(([key, value]) => {
    if (value === null) return [];
    if (typeof value !== 'object') return [[key, String(value)] as const];
    return refuse(
      `${about}, 'search'`,
      `'${key}' is ${Array.isArray(value) ? 'a list' : 'an object'}, not text or a number.`,
      'Refer to one field of it.',
    );
  });
  return labels.length === 0 ? {} : { labels: Object.fromEntries(labels) };
}

function taskDocument(task: GraphTask, input: FlowInput): JsonObject {
  const { id, about, executor, options, idempotencyKey, concurrencyKey, limitKeys } = task;
  const value = task.input === undefined ? undefined : filled(task.input, input, about);
  const dependsOn = [...task.needs].map(([each, required]): Json =>
    required === true ? each : { id: each, required },
  );
  const when = task.tests.map((test) => condition(test, input, about));
  // A missing key would mean no key: the work would silently be done twice.
  const key = (part: Part): Json => filledWhole(part, input, about);
  return {
    id,
    executor,
    ...(value === undefined ? {} : { input: value }),
    ...(dependsOn.length === 0 ? {} : { dependsOn }),
    ...(when.length === 0 ? {} : { when }),
    ...(idempotencyKey === undefined ? {} : { idempotencyKey: key(idempotencyKey) }),
    ...options,
    ...(concurrencyKey === undefined ? {} : limited(options, key(concurrencyKey))),
    ...(limitKeys.size === 0
      ? {}
      : { limits: keyedLimits(task, (part) => keyText(key(part), about)) }),
  };
}

function keyText(value: Json, about: About): string {
  if (typeof value === 'string' || typeof value === 'number') return String(value);
  return refuse(about, 'the key of a limit must be text or a number.', 'Refer to one field.');
}

/** The limits with the keys that came with the input; several parts make one key. */
function keyedLimits({ options, limitKeys }: GraphTask, text: (part: Part) => string): Json {
  return (options['limits'] as readonly JsonObject[]).map((limit, at) => {
    const parts = limitKeys.get(at);
    return parts === undefined ? limit : { ...limit, key: parts.map(text).join(':') };
  });
}

/** The same limit under a key that came with the input. */
function limited(options: JsonObject, key: Json): JsonObject {
  return { concurrency: { ...(options['concurrency'] as JsonObject), key } };
}

function condition({ subject, comparison }: GraphTest, input: FlowInput, about: About): JsonObject {
  const { task, tokens } = subject;
  const where: readonly string[] = task === null ? [describe(subject)] : tokens;
  const from = {
    $from: task ?? INPUT_TASK,
    ...(where.length === 0 ? {} : { path: pointerOf(where) }),
  };
  if (comparison === null) return from;
  return { ...from, [comparison.operator]: operandOf(comparison.operand, input, about) };
}

/** As it is: a condition compares with data only, so nothing in it can be taken for a reference. */
function operandOf(part: Part, input: FlowInput, about: About): Json {
  if (part.kind === 'plain') return part.value;
  const value = part.kind === 'pointed' ? inputAt(part.pointed, input, about) : undefined;
  return value ?? filledWhole(part, input, about);
}

/** One task that answers every part of the input that a condition looks at, by its name. */
function inputTask(tasks: readonly GraphTask[], input: FlowInput): readonly JsonObject[] {
  const asked = new Map<string, { readonly subject: Pointed; readonly about: About }>();
  for (const { tests, about } of tasks) {
    for (const { subject } of tests) {
      if (subject.task === null) asked.set(describe(subject), { subject, about });
    }
  }
  if (asked.size === 0) return [];
  const values = [...asked].flatMap(([name, { subject, about }]) => {
    const value = inputAt(subject, input, about);
    return value === undefined ? [] : [[name, value] as const];
  });
  return [{ id: INPUT_TASK, executor: 'echo', input: asLiteral(Object.fromEntries(values)) }];
}

/** What a flow looks like: plain data, to be printed. */
export interface FlowGraph {
  readonly name: string;
  /** In the order in which they were added: each comes after those it waits for. */
  readonly tasks: readonly FlowGraphTask[];
}

export interface FlowGraphTask {
  readonly id: string;
  readonly executor: string;
  /** For a map: the task that runs for each item. */
  readonly of?: string;
  readonly dependsOn: readonly { readonly id: string; readonly required: Need }[];
  /** The conditions as they were written: `charge.cents >= 100`. */
  readonly when: readonly string[];
}

export function drawn({ head, tasks }: FlowShape): FlowGraph {
  const own = tasks.map(({ id, executor, of, needs, tests }): FlowGraphTask => ({
    id,
    executor,
    ...(of === null ? {} : { of }),
    dependsOn: [...needs].map(([each, required]) => ({ id: each, required })),
    when: tests.map(spelledTest),
  }));
  const asksInput = tasks.some(({ needs }) => needs.has(INPUT_TASK));
  const first = { id: INPUT_TASK, executor: 'echo', dependsOn: [], when: [] };
  return { name: head['name'] as string, tasks: asksInput ? [first, ...own] : own };
}

function spelledTest({ subject, comparison }: GraphTest): string {
  const what = spelled(subject.task ?? 'input', subject.tokens);
  if (comparison === null) return what;
  const { operator, operand } = comparison;
  if (operator === 'succeeded' || operator === 'failed' || operator === 'skipped') {
    return `${what} ${operator}`;
  }
  const other = operand.kind === 'pointed' ? describe(operand.pointed) : undefined;
  const value = operand.kind === 'plain' ? JSON.stringify(operand.value) : other;
  return `${what} ${operator} ${value}`;
}
