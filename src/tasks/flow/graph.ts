/** The graph of one flow while it is built, and the checks that need to see it as a whole. */
import { INPUT_TASK, isId } from '../../scheduler/core/index.ts';
import type { JsonObject, Need } from '../../scheduler/core/index.ts';
import type { TaskDefinition } from '../executors/index.ts';
import { type Test, type TestOperator, testsOf } from './condition.ts';
import { type About, ID_RULE, refuse, refuseUnknownFields, shown } from './fault.ts';
import type { MapUse, TaskUse } from './builder.ts';
import { DEFAULT_FIELDS, type TaskDefaults, merged, plainOptions, withoutGaps } from './options.ts';
import { type Pointed, describe, placeholder, pointedBy } from './placeholder.ts';
import { keyPart, keysOf, limitsOf, onlyInput } from './limit-keys.ts';
import { Needs } from './needs.ts';
import type { Usable } from './task.ts';
import { type Part, partOf } from './template.ts';

/** A task of the flow, taken apart. */
export interface GraphTask {
  readonly id: string;
  readonly about: About;
  readonly executor: string;
  /** For a map: what runs for each item. */
  readonly of: string | null;
  readonly input: Part | undefined;
  /** By task, how it must end. */
  readonly needs: ReadonlyMap<string, Need>;
  readonly tests: readonly GraphTest[];
  readonly idempotencyKey: Part | undefined;
  readonly concurrencyKey: Part | undefined;
  /** The keys of `options.limits` that come with the input: the parts of each, by its place in that list. */
  readonly limitKeys: ReadonlyMap<number, readonly Part[]>;
  /** The fields of the document that are the same for every input. */
  readonly options: JsonObject;
}

export interface GraphTest {
  readonly subject: Pointed;
  readonly comparison: { readonly operator: TestOperator; readonly operand: Part } | null;
}

const ORDER_FIELDS = ['when', 'after', 'optional', 'idempotencyKey'];
const TASK_FIELDS = [...ORDER_FIELDS, ...DEFAULT_FIELDS];
const MAP_FIELDS = [...TASK_FIELDS, 'with'];

export class Graph {
  readonly #flow: string;
  readonly #kind: 'Flow' | 'Task';
  readonly #tasks: Map<string, GraphTask> = new Map();
  readonly #definitions: Map<string, object> = new Map();
  /** Tasks that may be skipped, by a condition of their own or of a task that they need. */
  readonly #skippable: Set<string> = new Set();
  #isBuilt = false;

  /** A task that is started by itself has a graph for references to its input, without tasks. */
  constructor(flow: string, kind: 'Flow' | 'Task' = 'Flow') {
    this.#flow = flow;
    this.#kind = kind;
  }

  get name(): string {
    return this.#flow;
  }

  get tasks(): readonly GraphTask[] {
    return [...this.#tasks.values()];
  }

  /** The definitions whose code is in this program, each once. */
  get definitions(): readonly TaskDefinition[] {
    return [...this.#definitions.values()].filter(isTaskDefinition);
  }

  get about(): About {
    return `${this.#kind} '${this.#flow}'`;
  }

  /** Later calls of what `build` was given come to nothing, so they are refused. */
  close(): void {
    this.#isBuilt = true;
  }

  input(): object {
    return placeholder(this.#pointing(null));
  }

  addTask(id: string, what: unknown, input: unknown, use: TaskUse = {}): object {
    const about = this.#begin(id);
    const { name, defaults } = this.#usable(about, what);
    refuseUnknownFields(about, use, TASK_FIELDS);
    const needs = new Needs(about, this.#tasks, (pointed) => this.refuseForeign(pointed, about));
    const { concurrency, limits, ...others } = use;
    const key = keyPart(concurrency?.key, needs, `'concurrency.key'`);
    const isFixed = key === undefined || key.kind === 'plain';
    const options = merged(defaults, {
      ...others,
      // A key that comes with the input is not there yet: the id, which could be one, holds its place.
      ...(concurrency === undefined
        ? {}
        : { concurrency: { ...concurrency, key: isFixed ? (concurrency.key as string) : id } }),
      ...limitsOf(id, limits),
    });
    const limitKeys = keysOf(limits, defaults.limits?.length ?? 0, needs);
    return this.#add({
      id,
      about,
      executor: name,
      of: null,
      input: partOf(input, needs),
      concurrencyKey: isFixed ? undefined : key,
      limitKeys,
      options: plainOptions(options, about),
      ...ordered(use, needs),
    });
  }

  addMap(id: string, what: unknown, items: unknown, use: MapUse = {}): object {
    const about = this.#begin(id);
    const { name, defaults } = this.#usable(about, what);
    refuseUnknownFields(about, use, MAP_FIELDS);
    const { concurrency, priority } = use;
    if (concurrency !== undefined && (!Number.isInteger(concurrency) || concurrency < 1)) {
      refuse(about, `'concurrency' must be a whole number above 0, not ${shown(concurrency)}.`);
    }
    if (concurrency !== undefined && defaults.concurrency !== undefined) {
      refuse(
        about,
        `the task '${name}' has a limit of its own, for the key '${defaults.concurrency.key}'.`,
        'Remove the concurrency of the map: a task has one limit.',
      );
    }
    const needs = new Needs(about, this.#tasks, (pointed) => this.refuseForeign(pointed, about));
    const list = partOf(items, needs, '/items');
    if (list === undefined || (list.kind === 'plain' && !Array.isArray(list.value))) {
      refuse(about, `'map' runs for each item of a list, not of ${shown(items)}.`);
    }
    const { retry, timeouts, placement, limits } = use;
    const given = withoutGaps<TaskDefaults>({
      retry,
      timeouts,
      placement,
      priority,
      limits,
      concurrency: undefined,
    });
    const itemOptions = merged(defaults, given);
    const item: Part = {
      kind: 'plain',
      value: { executor: name, ...plainOptions(itemOptions, about) },
    };
    const more: (readonly [string, Part])[] = [];
    const shared = partOf(use.with, needs, '/with');
    if (shared !== undefined) more.push(['with', shared]);
    if (concurrency !== undefined) {
      more.push(['concurrency', { kind: 'plain', value: concurrency }]);
    }
    return this.#add({
      id,
      about,
      executor: 'map',
      of: name,
      input: { kind: 'object', fields: [['items', list], ['task', item], ...more] },
      concurrencyKey: undefined,
      limitKeys: new Map(),
      options: priority === undefined ? {} : { priority },
      ...ordered(use, needs),
    });
  }

  orNull(ref: unknown): object {
    const pointed = pointedBy(ref);
    if (pointed === undefined) refuse(this.about, `'orNull' takes a reference, not ${shown(ref)}.`);
    const orNull = pointed.orNull === 'never' ? 'ifSkipped' : pointed.orNull;
    return placeholder({ ...pointed, orNull });
  }

  errorOf(ref: unknown): object {
    const pointed = pointedBy(ref);
    if (pointed === undefined || pointed.task === null || pointed.tokens.length > 0)
      refuse(this.about, `'errorOf' takes what 'task' or 'map' returned, not ${shown(ref)}.`);
    return placeholder({ ...pointed, orNull: 'ifFailed', isError: true });
  }

  orNullIfFailed(ref: unknown): object {
    const pointed = pointedBy(ref);
    if (pointed === undefined || pointed.task === null) {
      refuse(
        this.about,
        `'orNullIfFailed' takes the result of a task, not ${pointed === undefined ? shown(ref) : 'the input'}.`,
        pointed === undefined ? undefined : "'orNull' takes a field that the input may lack.",
      );
    }
    return placeholder({ ...pointed, orNull: 'ifFailed' });
  }

  /** What the flow answers. */
  output(value: unknown): Part | undefined {
    const about = `${this.about}, its result`;
    return partOf(value, {
      about,
      use: (pointed) => {
        this.refuseForeign(pointed, about);
        if (
          pointed.task === null ||
          pointed.orNull !== 'never' ||
          !this.#skippable.has(pointed.task)
        )
          return;
        refuse(
          about,
          `the task '${pointed.task}' may be skipped, and then ${describe(pointed)} is null.`,
          `Use orNull(${describe(pointed)}).`,
        );
      },
    });
  }

  refuseForeign(pointed: Pointed, about: About): void {
    if (pointed.graph === this) return;
    refuse(
      about,
      `${describe(pointed)} belongs to the flow '${pointed.flow}'.`,
      'A flow can use results of its own tasks only; what it needs from outside is its input.',
    );
  }

  #pointing(task: string | null): Pointed {
    return { graph: this, flow: this.#flow, task, tokens: [], orNull: 'never' };
  }

  #begin(id: unknown): About {
    if (this.#isBuilt) {
      refuse(
        this.about,
        'it has already been built.',
        "Add tasks inside its 'build' function only.",
      );
    }
    if (typeof id !== 'string' || !isId(id)) {
      refuse(this.about, `${shown(id)} is not a valid task id.`, ID_RULE);
    }
    if (id === INPUT_TASK) {
      refuse(this.about, `the id '${id}' is already in use.`, 'Choose another id.');
    }
    if (this.#tasks.has(id)) {
      refuse(this.about, `there are two tasks with the id '${id}'.`, 'Give each its own id.');
    }
    return `${this.about}, task '${id}'`;
  }

  #usable(about: About, what: unknown): Pick<Usable<unknown, unknown>, 'name' | 'defaults'> {
    if (typeof what === 'string') return { name: what, defaults: {} };
    const kind: unknown = isRecord(what) ? what['kind'] : undefined;
    if (kind === 'millrace.flow') {
      refuse(
        about,
        'a flow cannot be a task of another flow.',
        'Use a task that runs it: `ctx.call(name, flow, input)`.',
      );
    }
    if (!isRecord(what) || typeof what['name'] !== 'string' || !isRecord(what['defaults'])) {
      refuse(
        about,
        `${shown(what)} cannot be run as a task.`,
        'Use what defineTask or externalTask returned, or the name of an executor.',
      );
    }
    const definition = what as unknown as Usable<unknown, unknown>;
    this.#remember(definition, about);
    return definition;
  }

  #remember(definition: Usable<unknown, unknown>, about: About): void {
    const { name } = definition;
    const other = this.#definitions.get(name);
    // Names of tasks elsewhere may be said twice, with other types or defaults.
    const isOwn = isTaskDefinition(definition);
    if (other === undefined) this.#definitions.set(name, definition);
    else if (other !== definition && (isOwn || isTaskDefinition(other))) {
      refuse(
        about,
        `there are two different tasks with the name '${name}' in this flow.`,
        'A worker knows a task by its name: give one of them another.',
      );
    }
  }

  #add(task: GraphTask): object {
    const isSkippable =
      task.tests.length > 0 ||
      [...task.needs].some(([id, need]) => need === true && this.#skippable.has(id));
    if (isSkippable) this.#skippable.add(task.id);
    this.#tasks.set(task.id, task);
    return placeholder(this.#pointing(task.id));
  }
}

/** Everything about a task that says when it runs. Call it last: what is optional must not be needed. */
function ordered(
  use: TaskUse | MapUse,
  needs: Needs,
): Pick<GraphTask, 'needs' | 'tests' | 'idempotencyKey'> {
  const tests = testsOf(needs.about, use.when).map((test) => graphTest(test, needs));
  needs.add(use.after, 'after');
  needs.add(use.optional, 'optional');
  for (const test of tests) refuseImpossible(test, needs);
  if (tests.some(({ subject }) => subject.task === null)) needs.byTask.set(INPUT_TASK, true);
  return {
    needs: needs.byTask,
    tests,
    idempotencyKey: keyPart(use.idempotencyKey, needs, "'idempotencyKey'"),
  };
}

/** A task that waits for a failure must be able to outlast it: otherwise it would never run, without a trace. */
function refuseImpossible({ subject, comparison }: GraphTest, needs: Needs): void {
  const end = comparison?.operator;
  if (subject.task === null || (end !== 'failed' && end !== 'skipped')) return;
  const need = needs.byTask.get(subject.task) ?? false;
  if (need === false || (need === 'unlessSkipped' && end === 'skipped')) return;
  const how = end === 'failed' ? 'has failed' : 'was skipped';
  const word = end === 'failed' ? 'orNullIfFailed' : 'orNull';
  refuse(
    needs.about,
    `it runs when '${subject.task}' ${how}, but it needs '${subject.task}' and could never run.`,
    `Where it uses the result, write ${word}(${subject.task}); remove it from 'after'.`,
  );
}

function graphTest({ subject, comparison }: Test, needs: Needs): GraphTest {
  needs.use(subject);
  if (comparison === null) return { subject, comparison };
  const { operator } = comparison;
  const operand = onlyInput(comparison.operand, needs, 'a condition compares');
  if (operand === undefined) {
    refuse(needs.about, `'when' compares ${describe(subject)} with undefined.`, 'Use null.');
  }
  return { subject, comparison: { operator, operand } };
}

/** A key that comes with the input is not there yet: one that could be it holds its place. */
function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && pointedBy(value) === undefined;
}

function isTaskDefinition(value: object): value is TaskDefinition {
  return 'kind' in value && value.kind === 'millrace.task';
}
