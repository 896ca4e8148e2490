/** Turns an input template into the input that a handler sees. The stored template is never changed: each attempt
 * resolves it again, and results are only read. */
import type { TaskId } from '../ids.ts';
import type { TaskEnd } from '../job/ending.ts';
import { isObject } from '../json.ts';
import type { Json, JsonObject } from '../json.ts';
import type { TaskError } from '../rows.ts';
import { conditionTask, failingCondition, storedInput } from './condition.ts';
import { pointedAt, pointerTokens } from './pointer.ts';
import { FROM, LITERAL } from './template.ts';
import type { MISSING } from './template.ts';
import { printable } from './text.ts';

/** Stands for the element of the list, in the templates below `each`. */
const ITEM = '$item';

/** The result has no such place. The same would happen on every attempt, so the failure is fatal. */
export interface MissingPath {
  readonly code: 'missing_path';
  readonly message: string;
  readonly task: TaskId;
  readonly path: string;
}

export type ResolvedInput =
  | { readonly ok: true; readonly input: Json }
  /** The input cannot be made. */
  | { readonly ok: false; readonly error: MissingPath; readonly skipped: null }
  /** The task's condition does not hold: it is not to run, and `skipped` says why. */
  | { readonly ok: false; readonly error: null; readonly skipped: string };

/** The tasks whose results the stored text needs, each once: those of its conditions first, then in
 * order of appearance. */
export function inputReferences(stored: string | null): readonly TaskId[] {
  if (!mayRefer(stored)) return [];
  const { conditions, input } = storedInput(stored);
  const found = new Set<TaskId>(conditions.map(conditionTask));
  substituted(input, (reference) => {
    found.add(reference.task);
    return null;
  });
  return [...found];
}

/**
 * Looks at the conditions, then puts results in the places of references. `resultOf` gives
 * undefined for a task that has no result (an optional dependency that failed): the whole
 * reference is then null, whatever its path. A null result is a result: a path into it is missing.
 * `endOf` says how each task has ended, and `errorOf` why it failed.
 */
export function resolveInput(
  stored: string | null,
  resultOf: (task: TaskId) => Json | undefined,
  endOf: (task: TaskId) => TaskEnd,
  errorOf: (task: TaskId) => TaskError | null = () => null,
): ResolvedInput {
  const { conditions, input: template } = storedInput(stored);
  if (!mayRefer(stored)) return { ok: true, input: template };
  const skipped = failingCondition(conditions, resultOf, endOf);
  if (skipped !== null) return { ok: false, error: null, skipped };
  let error: MissingPath | undefined;
  const input = substituted(template, (reference) => {
    const { task, path } = reference;
    if (reference.isError) return errorPart(reference, errorOf(task));
    const result = resultOf(task);
    if (result === undefined) {
      if (reference.isList) error ??= missing(task, path);
      return null;
    }
    const tokens = pointerTokens(path) ?? [];
    const part = pointedAt(result, tokens);
    if (part !== undefined && (!reference.isList || Array.isArray(part))) return part;
    if (reference.missing !== null && lacksField(result, tokens))
      return reference.missing === 'omit' ? undefined : null;
    error ??= missing(task, path);
    return null;
  });
  return error === undefined
    ? { ok: true, input: input ?? null }
    : { ok: false, error, skipped: null };
}

/** Null for a task that has not failed, whatever the path. */
function errorPart({ task, path }: Reference, error: TaskError | null): Json {
  if (error === null) return null;
  const { code, message } = error;
  return pointedAt({ code, message, task }, pointerTokens(path) ?? []) ?? null;
}

/** Whether only the last field is missing: what lies above it is there and is an object. */
function lacksField(result: Json, tokens: readonly string[]): boolean {
  const above = tokens.length === 0 ? undefined : pointedAt(result, tokens.slice(0, -1));
  return isObject(above);
}

/** A template in which every reference is there or null: it cannot fail any more. */
export function resolveLeniently(
  template: Json,
  resultOf: (task: TaskId) => Json | undefined,
): Json {
  const value = substituted(template, (reference) => {
    const result = reference.isError ? undefined : resultOf(reference.task);
    if (result === undefined) return null;
    const part = pointedAt(result, pointerTokens(reference.path) ?? []);
    return part ?? (reference.missing === 'omit' ? undefined : null);
  });
  return value ?? null;
}

function missing(task: TaskId, path: string): MissingPath {
  const message = `The result of task '${task}' has nothing at '${printable(path, 200)}'.`;
  return { code: 'missing_path', message, task, path };
}

/** Most inputs contain no reference. JSON.stringify never escapes these. */
function mayRefer(stored: string | null): stored is string {
  return stored !== null && (stored.includes(`"${FROM}"`) || stored.includes(`"${LITERAL}"`));
}

interface Reference {
  readonly task: TaskId;
  readonly path: string;
  readonly missing: (typeof MISSING)[number] | null;
  /** Not its result but why it failed. */
  readonly isError: boolean;
  /** Only a list will do: each of its elements is put into templates. */
  readonly isList: boolean;
}

type Replace = (reference: Reference) => Json | undefined;

/** Results are put in as they are and not searched: data that looks like a reference is data. Undefined for a field
 * that is to be left out. `item` is the element that templates below `each` are filled with. */
function substituted(value: Json, replace: Replace, item?: Json): Json | undefined {
  if (value === null || typeof value !== 'object') return value;
  if (Array.isArray(value)) {
    return (value as readonly Json[]).map((each) => substituted(each, replace, item) ?? null);
  }
  const object = value as JsonObject;
  if (Object.hasOwn(object, FROM)) {
    const each = Object.hasOwn(object, EACH) ? (object[EACH] as readonly Json[]) : null;
    const found = replace(referenceOf(object, each !== null, item));
    return each === null ? found : filled(each, found, replace);
  }
  if (Object.hasOwn(object, LITERAL)) return object[LITERAL];
  if (item !== undefined && Object.hasOwn(object, ITEM)) return item;
  // fromEntries defines fields; assigning them would let a key `__proto__` do harm.
  return Object.fromEntries(
    Object.entries(object).flatMap(([key, each]) => {
      const part = substituted(each, replace, item);
      return part === undefined ? [] : [[key, part]];
    }),
  );
}

/**
 * Beside `$from`, where a list is referred to: templates that are filled with each element in turn. The fillings are one
 * list. `{ "$item": true }` is the element, and so is `*` in a path. An element `{ item, from, to }` is filled into the
 * templates from `from` up to but not including `to` only. The grammar of documents does not have it: it is for templates
 * that are made here.
 */
const EACH = 'each';

function filled(templates: readonly Json[], found: Json | undefined, replace: Replace): Json {
  // Somebody only looks for references, or what is missing was noted.
  const items = Array.isArray(found) ? (found as readonly Json[]) : null;
  const list = (items ?? [0]).flatMap((each) => {
    const { item, from, to } = sliceOf(each) ?? { item: each, from: 0, to: templates.length };
    return templates
      .slice(from, to)
      .map((template) => substituted(template, replace, item) ?? null);
  });
  return items === null ? [] : list;
}

interface Slice {
  readonly item: Json;
  readonly from: number;
  readonly to: number;
}

function sliceOf(each: Json): Slice | null {
  return isObject(each) && 'item' in each ? (each as unknown as Slice) : null;
}

function referenceOf(object: JsonObject, isList: boolean, item: Json | undefined): Reference {
  const path = (Object.hasOwn(object, 'path') ? object['path'] : '') as string;
  const missing = Object.hasOwn(object, 'missing') ? object['missing'] : null;
  return {
    task: object[FROM] as TaskId,
    path: item === undefined ? path : path.replace('*', JSON.stringify(item)),
    missing: missing as Reference['missing'],
    isError: Object.hasOwn(object, 'error'),
    isList,
  };
}
