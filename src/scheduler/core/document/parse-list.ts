/**
 * Reads the documents of a list. Lists are mostly the same job with other inputs: a document that differs from the one before
 * in the input of its only task is not read again but for that.
 */
import { isObject } from '../json.ts';
import type { Settings } from '../settings.ts';
import type { JobDocument, TaskDocument } from './document.ts';
import { parseJobDocument, weighDocument } from './parse.ts';
import { readAloneInput } from './task.ts';

interface Read {
  readonly value: Readonly<Record<string, unknown>>;
  readonly document: JobDocument;
}

/** Refuses as `parseJobDocument` does. */
export type ListParser = (value: unknown) => JobDocument;

export function listParser(settings: Settings): ListParser {
  let before: Read | null = null;
  return (value) => {
    if (!isObject(value)) return parseJobDocument(value, settings);
    const document =
      (before === null ? null : likeBefore(value, before, settings)) ??
      parseJobDocument(value, settings);
    before = { value, document };
    return document;
  };
}

function likeBefore(
  value: Readonly<Record<string, unknown>>,
  { value: before, document }: Read,
  settings: Settings,
): JobDocument | null {
  if (!isLike(value, before, 'tasks')) return null;
  const [task, taskBefore] = [onlyOne(value['tasks']), onlyOne(before['tasks'])];
  if (task === null || taskBefore === null || !isLike(task, taskBefore, 'input')) return null;
  const read = document.tasks[0] as TaskDocument;
  try {
    weighDocument(value, settings);
    const input = readAloneInput(task['input'] ?? null, '/tasks/0/input', settings);
    return { ...document, tasks: [{ ...read, input }] };
  } catch {
    // What is wrong with it is said by whoever reads all of it.
    return null;
  }
}

function onlyOne(list: unknown): Readonly<Record<string, unknown>> | null {
  if (!Array.isArray(list) || list.length !== 1) return null;
  const only: unknown = list[0];
  return isObject(only) ? only : null;
}

/** The same fields with the same plain values, but for one. */
function isLike(
  value: Readonly<Record<string, unknown>>,
  before: Readonly<Record<string, unknown>>,
  but: string,
): boolean {
  const names = Object.keys(value);
  if (names.length !== Object.keys(before).length) return false;
  for (const name of names) {
    if (name === but) continue;
    const each = value[name];
    // Two lists or objects are never the same one.
    if (each === undefined || each !== before[name]) return false;
  }
  return but in value === but in before;
}
