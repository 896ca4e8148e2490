/**
 * Conditions: whether a task is to run at all, by the results of its dependencies. They are
 * looked at when the task is handed out, because that is when results are read anyway, and so
 * they are stored with the input: `{ "$when": [...], "input": ... }`. An input that has a key
 * `$when` of its own is stored that way too, so that it can never be taken for a condition.
 */
import type { TaskId } from '../ids.ts';
import type { TaskEnd } from '../job/ending.ts';
import { canonicalJson } from '../json.ts';
import type { Json, JsonObject } from '../json.ts';
import { COMPARISONS, CONDITION, ENDS } from './grammar.ts';
import { pointedAt, pointerTokens } from './pointer.ts';
import { Fields } from './reader.ts';
import { below, refuse } from './refuse.ts';
import { FROM, checkPlain, checkReference } from './template.ts';
import type { Referable } from './template.ts';
import { described, printable } from './text.ts';

/** The key of the conditions in the stored text. */
const WHEN = '$when';

type Comparison = (typeof COMPARISONS)[number];
type Test = Comparison | TaskEnd;
const TESTS: readonly Test[] = [...COMPARISONS, ...ENDS];

/** In the shape of the document: checked, and stored as it is. */
export type Condition = JsonObject;

/** Reads a task's `when`: one condition or a list of them, all of which must hold. */
export function readConditions(
  value: unknown,
  path: string,
  referable: Referable,
): readonly Condition[] {
  if (value === undefined) return [];
  if (!Array.isArray(value)) return [readCondition(value, path, referable)];
  return Array.from(value as readonly unknown[], (each, at) =>
    readCondition(each, below(path, at), referable),
  );
}

function readCondition(value: unknown, path: string, referable: Referable): Condition {
  const fields = Fields.of(value, path, 'A condition', CONDITION);
  if (fields.raw(FROM) === undefined) {
    fields.missing(FROM, 'Give the dependency whose result is tested.');
  }
  checkReference({ [FROM]: fields.raw(FROM), ...given(fields, 'path') }, path, referable);
  const tests = TESTS.filter((test) => fields.raw(test) !== undefined);
  const [test, second] = tests;
  if (second !== undefined) {
    refuse(
      fields.at(second),
      `A condition has one comparison, not both '${test}' and '${second}'.`,
      'Write a list of conditions: all of them must hold.',
    );
  }
  if (test !== undefined) checkOperand(test, fields.raw(test), fields.at(test));
  if (test !== undefined && isEnd(test) && fields.raw('path') !== undefined) {
    refuse(
      fields.at('path'),
      `'${test}' tests the state of the task, not its result.`,
      'Remove the path.',
    );
  }
  return {
    [FROM]: fields.raw(FROM),
    ...given(fields, 'path'),
    ...(test === undefined ? {} : given(fields, test)),
  } as Condition;
}

function given(fields: Fields, field: string): Readonly<Record<string, unknown>> {
  const value = fields.raw(field);
  return value === undefined ? {} : { [field]: value };
}

function checkOperand(test: Test, value: unknown, path: string): void {
  if (isEnd(test)) {
    if (typeof value !== 'boolean') refuse(path, `Must be true or false, not ${described(value)}.`);
  } else if (test === 'in') {
    if (!Array.isArray(value)) refuse(path, `Must be a list of values, not ${described(value)}.`);
  } else if (test !== '=' && test !== '!=') {
    if (typeof value !== 'number' && typeof value !== 'string') {
      refuse(path, `Must be a number or text, not ${described(value)}.`);
    }
  }
  checkPlain(value, path);
}

/** The text that is stored: conditions and input in one. Null when there is neither. */
export function withConditions(
  conditions: readonly Condition[],
  input: string | null,
): string | null {
  if (conditions.length === 0 && (input === null || !mayHold(input))) return input;
  if (conditions.length === 0 && !isWrapped(JSON.parse(input ?? 'null') as Json)) return input;
  return `{"${WHEN}":${JSON.stringify(conditions)},"input":${input ?? 'null'}}`;
}

export interface StoredInput {
  readonly conditions: readonly Condition[];
  /** The template, as the document gave it. */
  readonly input: Json;
}

const NO_CONDITIONS: readonly Condition[] = Object.freeze([]);

/** What `withConditions` has made of the two. */
export function storedInput(text: string | null): StoredInput {
  const value = text === null ? null : (JSON.parse(text) as Json);
  if (text === null || !mayHold(text) || !isWrapped(value)) {
    return { conditions: NO_CONDITIONS, input: value };
  }
  return {
    conditions: value[WHEN] as readonly Condition[],
    input: value['input'] ?? null,
  };
}

/** Most texts have no such key. JSON.stringify never escapes it. */
function mayHold(text: string): boolean {
  return text.includes(`"${WHEN}"`);
}

function isWrapped(value: Json): value is JsonObject {
  return (
    value !== null &&
    typeof value === 'object' &&
    !Array.isArray(value) &&
    Object.hasOwn(value, WHEN)
  );
}

export function conditionTask(condition: Condition): TaskId {
  return condition[FROM] as TaskId;
}

/** Null when all of them hold; otherwise why the first one that does not, does not. `resultOf` gives
 * undefined for a task without a result. */
export function failingCondition(
  conditions: readonly Condition[],
  resultOf: (task: TaskId) => Json | undefined,
  endOf: (task: TaskId) => TaskEnd,
): string | null {
  for (const condition of conditions) {
    const task = conditionTask(condition);
    const wanted = endIn(condition);
    if (wanted !== undefined) {
      const end = endOf(task);
      if (condition[wanted] !== (end === wanted)) return `'${task}' has ${HOW[end]}`;
      continue;
    }
    const result = resultOf(task);
    const tokens = pointerTokens(pathOf(condition)) ?? [];
    const value = result === undefined ? undefined : pointedAt(result, tokens);
    if (!holds(condition, value)) return because(condition, value);
  }
  return null;
}

function pathOf(condition: Condition): string {
  return (condition['path'] as string | undefined) ?? '';
}

function holds(condition: Condition, value: Json | undefined): boolean {
  const test = testOf(condition);
  if (test === undefined) return isTruthy(value);
  // What is not there differs from everything, and is neither more nor less than anything.
  if (value === undefined) return test === '!=';
  const wanted = condition[test] as Json;
  switch (test) {
    case '=':
      return isSame(value, wanted);
    case '!=':
      return !isSame(value, wanted);
    case 'in':
      return (wanted as readonly Json[]).some((each) => isSame(value, each));
    case '>':
      return compared(value, wanted, (a, b) => a > b);
    case '>=':
      return compared(value, wanted, (a, b) => a >= b);
    case '<':
      return compared(value, wanted, (a, b) => a < b);
    case '<=':
      return compared(value, wanted, (a, b) => a <= b);
  }
}

function testOf(condition: Condition): Comparison | undefined {
  return COMPARISONS.find((test) => Object.hasOwn(condition, test));
}

function endIn(condition: Condition): TaskEnd | undefined {
  return ENDS.find((end) => Object.hasOwn(condition, end));
}

function isEnd(test: Test): test is TaskEnd {
  return ENDS.some((end) => end === test);
}

/** The end without success that the condition asks for; null for any other condition. `succeeded: false` is the
 * older form, which asks for none in particular. */
export function wantedEnd(condition: Condition): 'failed' | 'skipped' | null {
  const end = endIn(condition);
  return end === undefined || end === 'succeeded' || condition[end] !== true ? null : end;
}

/** As people read it: an empty list or object is something. */
function isTruthy(value: Json | undefined): boolean {
  return value !== undefined && value !== null && value !== false && value !== 0 && value !== '';
}

function isSame(one: Json, other: Json): boolean {
  return one === other || canonicalJson(one) === canonicalJson(other);
}

/** A number with a number, text with text; anything else cannot be compared. */
function compared(
  value: Json,
  wanted: Json,
  test: (a: number | string, b: number | string) => boolean,
): boolean {
  if (typeof value === 'number' && typeof wanted === 'number') return test(value, wanted);
  if (typeof value === 'string' && typeof wanted === 'string') return test(value, wanted);
  return false;
}

const HOW: Readonly<Record<TaskEnd, string>> = {
  succeeded: 'succeeded',
  failed: 'failed',
  skipped: 'been skipped',
};

function because(condition: Condition, value: Json | undefined): string {
  const test = testOf(condition);
  const path = pathOf(condition);
  const where = path === '' ? '' : ` at '${printable(path, 100)}'`;
  const wanted = test === undefined ? 'something' : `${test} ${shown(condition[test] as Json)}`;
  const what = value === undefined ? 'missing' : shown(value);
  return `the result of '${conditionTask(condition)}'${where} is ${what}; it must be ${wanted}`;
}

/** Small enough for a log line. */
function shown(value: Json): string {
  if (Array.isArray(value)) {
    const list = value as readonly Json[];
    if (list.length > 5 || list.some((each) => each !== null && typeof each === 'object')) {
      return `a list of ${list.length}`;
    }
    return `[${list.map(shown).join(', ')}]`;
  }
  return value !== null && typeof value === 'object' ? 'an object' : described(value);
}
