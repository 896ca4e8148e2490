/** One task of a document: everything but what concerns the other tasks as a whole. */
import { isObject } from '../json.ts';
import { DECISION_EXECUTORS } from '../fragment.ts';
import type { TaskId, TaskNo } from '../ids.ts';
import { isMet } from '../job/ending.ts';
import type { Settings } from '../settings.ts';
import type { Priority } from '../task/chart.ts';
import type { Dependency, Need, TaskDocument, TaskOptions } from './document.ts';
import { conditionTask, readConditions, wantedEnd, withConditions } from './condition.ts';
import type { Condition } from './condition.ts';
import { DEPENDENCY, TASK } from './grammar.ts';
import { defaultOptions, encodeOptions, readOptions } from './options.ts';
import { Fields, readId, type Path } from './reader.ts';
import { below, refuse } from './refuse.ts';
import { didYouMean } from './spelling.ts';
import { checkSize, readTemplate, type Referable } from './template.ts';
import { described } from './text.ts';

/** What a condition may add to the largest input. */
const WRAPPING_BYTES = 64 * 1024;

/** What a task is read against: the ids around it and what it inherits. */
export interface Surroundings {
  readonly settings: Settings;
  readonly priority: Priority;
  /** The tasks of this document; a task may depend on these. */
  readonly siblings: ReadonlyMap<string, TaskNo>;
  /** A task that may be a parent but is not in this document. */
  readonly existing: (id: string) => TaskNo | undefined;
  /** The number of the first task of this document. */
  readonly firstNo: number;
  /** By place: the task that was the last to name this one as a dependency, or -1. */
  readonly namedBy: Int32Array;
  /** Equal options become one object, by their text; null before the first that differs from the defaults. */
  options: Map<string, TaskOptions> | null;
}

export function taskFields(value: unknown, path: string): Fields {
  return Fields.of(value, path, 'A task', TASK);
}

export function readTaskId(task: Fields): TaskId {
  const value = task.raw('id');
  if (value === undefined) task.missing('id', 'Every task needs an id of its own.');
  return readId(value, () => task.at('id')) as TaskId;
}

export function readPriority(fields: Fields): Priority | null {
  return fields.whole('priority') as Priority | null;
}

/** What they run was planned here, and only then is it known to read nothing but what it may. */
const OF_QUERIES: ReadonlySet<string> = new Set([
  ...['sql.fragment', 'sql.plan'],
  ...DECISION_EXECUTORS,
]);

export function readTask(task: Fields, id: TaskId, no: TaskNo, around: Surroundings): TaskDocument {
  const executor =
    task.name('executor') ??
    task.missing('executor', "Give the executor that runs it, such as 'http'.");
  if (OF_QUERIES.has(executor)) {
    refuse(
      task.at('executor'),
      `The executor '${executor}' is reserved for fragments of queries.`,
      "Use the executor 'sql' for a query as a task.",
    );
  }
  const dependsOn = readDependencies(task, id, no, around);
  return {
    id,
    executor,
    priority: readPriority(task) ?? around.priority,
    parent: readParent(task, id, around),
    dependsOn,
    idempotencyKey: task.name('idempotencyKey') ?? null,
    options: shared(readOptions(task, around.settings), around),
    input: readTaskInput(task, no, around, dependsOn),
  };
}

const NO_CONDITIONS: readonly Condition[] = [];
const NO_DEPENDENCY = 'is not a dependency of this task';
const NAME_IT = "Add it to the task's dependsOn first.";

function readTaskInput(
  task: Fields,
  self: TaskNo,
  around: Surroundings,
  dependsOn: readonly Dependency[],
): string | null {
  const value = task.raw('input') ?? null;
  const when = task.raw('when');
  if (value === null && when === undefined) return null;
  const { siblings, namedBy, firstNo, settings } = around;
  const referable: Referable = {
    mayName: (from) => namedBy[(siblings.get(from) ?? NaN) - firstNo] === self,
    ids: () => siblings.keys(),
    ...{ fault: NO_DEPENDENCY, todo: NAME_IT },
  };
  const path = task.at('input');
  const input = value === null ? null : readTemplate(value, path, referable);
  checkSize(input, path, 'The input', settings.inputBytesMax);
  if (when === undefined) return withConditions(NO_CONDITIONS, input);
  const conditions = readConditions(when, task.at('when'), referable);
  refuseImpossible(conditions, task, (id) => siblings.get(id), dependsOn);
  const stored = withConditions(conditions, input);
  const about = conditions.length === 0 ? 'The input' : 'The condition with the input';
  checkSize(stored, task.at('when'), about, settings.inputBytesMax + WRAPPING_BYTES);
  return stored;
}

/** Of a task that has nothing to depend on, and no condition. */
export function readAloneInput(value: unknown, path: string, settings: Settings): string | null {
  if (value === null) return null;
  const input = readTemplate(value, path, NOTHING_TO_NAME);
  checkSize(input, path, 'The input', settings.inputBytesMax);
  return withConditions(NO_CONDITIONS, input);
}

const NOTHING_TO_NAME: Referable = {
  mayName: () => false,
  ids: () => [],
  ...{ fault: NO_DEPENDENCY, todo: NAME_IT },
};

/** A task that waits for a failure must be able to outlast it: otherwise it would never run, without a trace. */
function refuseImpossible(
  conditions: readonly Condition[],
  task: Fields,
  numberOf: (id: string) => TaskNo | undefined,
  dependsOn: readonly Dependency[],
): void {
  const asking = conditions.filter((each) => wantedEnd(each) !== null);
  if (asking.length === 0) return;
  const needs = new Map(dependsOn.map(({ no, required }) => [no, required]));
  for (const condition of asking) {
    const id = conditionTask(condition);
    const wanted = wantedEnd(condition) ?? 'failed';
    if (isMet(needs.get(numberOf(id) as TaskNo) ?? true, wanted)) continue;
    const [how, need] =
      wanted === 'failed' ? ['has failed', 'false'] : ['was skipped', '"unlessSkipped"'];
    refuse(
      task.at('when'),
      `The condition tests whether '${id}' ${how}, but in that case this task does not run.`,
      `Write { "id": "${id}", "required": ${need} } in its dependsOn.`,
    );
  }
}

/** A job of a hundred thousand tasks has a handful of different options: keep one object of each. */
function shared(options: TaskOptions, around: Surroundings): TaskOptions {
  const text = encodeOptions(options, around.settings);
  if (text === null) return defaultOptions(around.settings);
  around.options ??= new Map();
  const known = around.options.get(text);
  if (known !== undefined) return known;
  around.options.set(text, options);
  return options;
}

function readParent(task: Fields, id: TaskId, around: Surroundings): TaskNo | null {
  const value = task.raw('parent');
  if (value === undefined) return null;
  const at = (): string => task.at('parent');
  const parent = readId(value, at);
  if (parent === id) refuse(at(), `The task '${id}' is its own parent.`);
  const no = around.siblings.get(parent) ?? around.existing(parent);
  if (no !== undefined) return no;
  return refuse(
    at(),
    `There is no task '${parent}'.${didYouMean(parent, around.siblings.keys())}`,
    'A parent is a task of the same job.',
  );
}

const NO_DEPENDENCIES: readonly never[] = Object.freeze([]);

/** Also stamps each dependency as named by this task, which finds the second mention of one, and
 * later tells `$from` what it may name, without a set for each of a hundred thousand tasks. */
function readDependencies(
  task: Fields,
  id: TaskId,
  self: TaskNo,
  around: Surroundings,
): readonly Dependency[] {
  const list = task.list('dependsOn');
  if (list === undefined || list.length === 0) return NO_DEPENDENCIES;
  const dependsOn: Dependency[] = [];
  for (let place = 0; place < list.length; place += 1) {
    const each = list[place];
    const at = (): string => below(task.at('dependsOn'), place);
    const { wanted, required, where } =
      typeof each === 'string'
        ? { wanted: readId(each, at), required: true, where: at }
        : readDependency(each, at());
    if (wanted === id) refuse(where(), `The task '${id}' depends on itself.`, 'Remove this entry.');
    const no = around.siblings.get(wanted) ?? unknownDependency(wanted, where(), around);
    if (around.namedBy[no - around.firstNo] === self) {
      refuse(where(), `The dependency '${wanted}' is named twice.`, 'Keep one of the two.');
    }
    around.namedBy[no - around.firstNo] = self;
    dependsOn.push({ no, required });
  }
  return dependsOn;
}

interface Wanted {
  readonly wanted: string;
  readonly required: Need;
  readonly where: Path;
}

function readDependency(value: unknown, path: string): Wanted {
  if (!isObject(value)) {
    refuse(path, `A dependency is a task id or { id, required }, not ${described(value)}.`);
  }
  const fields = Fields.of(value, path, 'A dependency', DEPENDENCY);
  const id = fields.raw('id');
  if (id === undefined) fields.missing('id', 'Name the task to wait for.');
  const where = (): string => fields.at('id');
  return { wanted: readId(id, where), required: readNeed(fields), where };
}

function readNeed(fields: Fields): Need {
  const value = fields.raw('required');
  if (value === undefined) return true;
  if (typeof value === 'boolean' || value === 'unlessSkipped') return value;
  return refuse(
    fields.at('required'),
    `Must be true, false or 'unlessSkipped', not ${described(value)}.`,
    "false: it only has to end; 'unlessSkipped': it must not fail, but may be skipped.",
  );
}

function unknownDependency(id: string, path: string, around: Surroundings): never {
  if (around.existing(id) !== undefined) {
    refuse(
      path,
      `The task '${id}' is already in the job, and new tasks cannot depend on it.`,
      'New tasks depend on one another only.',
    );
  }
  return refuse(
    path,
    `There is no task '${id}'.${didYouMean(id, around.siblings.keys())}`,
    'A dependency is a task of the same document.',
  );
}
