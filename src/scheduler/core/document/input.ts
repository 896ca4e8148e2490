/** Turns an input template into the input that a handler sees. The stored template is never changed: each attempt
 * resolves it again, and results are only read. */
import type { TaskId } from '../ids.ts';
import type { TaskEnd } from '../job/ending.ts';
import type { Json, JsonObject } from '../json.ts';
import { conditionTask, failingCondition, storedInput } from './condition.ts';
import { pointedAt, pointerTokens } from './pointer.ts';
import { FROM, LITERAL } from './template.ts';
import { printable } from './text.ts';

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
 * `endOf` says how each task has ended.
 */
export function resolveInput(
  stored: string | null,
  resultOf: (task: TaskId) => Json | undefined,
  endOf: (task: TaskId) => TaskEnd,
): ResolvedInput {
  const { conditions, input: template } = storedInput(stored);
  if (!mayRefer(stored)) return { ok: true, input: template };
  const skipped = failingCondition(conditions, resultOf, endOf);
  if (skipped !== null) return { ok: false, error: null, skipped };
  let error: MissingPath | undefined;
  const input = substituted(template, ({ task, path }) => {
    const result = resultOf(task);
    if (result === undefined) return null;
    const part = pointedAt(result, pointerTokens(path) ?? []);
    if (part !== undefined) return part;
    error ??= missing(task, path);
    return null;
  });
  return error === undefined ? { ok: true, input } : { ok: false, error, skipped: null };
}

/** A template in which every reference is there or null: it cannot fail any more. */
export function resolveLeniently(
  template: Json,
  resultOf: (task: TaskId) => Json | undefined,
): Json {
  return substituted(template, ({ task, path }) => {
    const result = resultOf(task);
    if (result === undefined) return null;
    return pointedAt(result, pointerTokens(path) ?? []) ?? null;
  });
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
}

/** Results are put in as they are and not searched: data that looks like a reference is data. */
function substituted(value: Json, replace: (reference: Reference) => Json): Json {
  if (value === null || typeof value !== 'object') return value;
  if (Array.isArray(value)) {
    return (value as readonly Json[]).map((each) => substituted(each, replace));
  }
  const object = value as JsonObject;
  if (Object.hasOwn(object, FROM)) {
    const path = Object.hasOwn(object, 'path') ? object['path'] : '';
    return replace({ task: object[FROM] as TaskId, path: path as string });
  }
  if (Object.hasOwn(object, LITERAL)) return object[LITERAL] as Json;
  // fromEntries defines fields; assigning them would let a key `__proto__` do harm.
  return Object.fromEntries(
    Object.entries(object).map(([key, each]) => [key, substituted(each, replace)]),
  );
}
