/**
 * From an input template to the input that a handler sees. The stored template is never touched:
 * each attempt resolves it anew, and a result is only ever read.
 */
import type { TaskId } from '../ids.ts';
import type { Json, JsonObject } from '../json.ts';
import { pointedAt, pointerTokens } from './pointer.ts';
import { FROM } from './template.ts';
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
  | { readonly ok: false; readonly error: MissingPath };

/** The tasks whose results the template needs, each once, in order of appearance. */
export function inputReferences(template: string | null): readonly TaskId[] {
  if (!mayRefer(template)) return [];
  const found = new Set<TaskId>();
  substituted(JSON.parse(template) as Json, (reference) => {
    found.add(reference.task);
    return null;
  });
  return [...found];
}

/**
 * Puts results in the places of references. `resultOf` gives undefined for a task that has no
 * result (an optional dependency that failed): the whole reference is then null, whatever its
 * path. A null result is a result: a path into it is missing.
 */
export function resolveInput(
  template: string | null,
  resultOf: (task: TaskId) => Json | undefined,
): ResolvedInput {
  if (template === null) return { ok: true, input: null };
  const value = JSON.parse(template) as Json;
  if (!mayRefer(template)) return { ok: true, input: value };
  let error: MissingPath | undefined;
  const input = substituted(value, ({ task, path }) => {
    const result = resultOf(task);
    if (result === undefined) return null;
    const part = pointedAt(result, pointerTokens(path) ?? []);
    if (part !== undefined) return part;
    error ??= missing(task, path);
    return null;
  });
  return error === undefined ? { ok: true, input } : { ok: false, error };
}

function missing(task: TaskId, path: string): MissingPath {
  const message = `The result of task '${task}' has nothing at '${printable(path, 200)}'.`;
  return { code: 'missing_path', message, task, path };
}

/** Most inputs hold no reference; one look at the text tells. JSON.stringify never escapes these. */
function mayRefer(template: string | null): template is string {
  return template !== null && template.includes(`"${FROM}"`);
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
  // fromEntries defines fields; assigning them would let a key `__proto__` do harm.
  return Object.fromEntries(
    Object.entries(object).map(([key, each]) => [key, substituted(each, replace)]),
  );
}
