/**
 * Reads the documents of a list. Lists are mostly the same job with other inputs: a document that differs from the one before
 * in the input of its only task is not read again but for that.
 */
import { isObject } from '../json.ts';
import type { Settings } from '../settings.ts';
import type { JobDocument, TaskDocument } from './document.ts';
import { parseJobDocument, weighDocument } from './parse.ts';
import { readAloneInput } from './task.ts';
import { weigh } from './weigh.ts';

/** One that was read as a whole. */
interface Read {
  readonly value: Readonly<Record<string, unknown>>;
  readonly document: JobDocument;
  /** Its weight; null until another one is like it. */
  bytes: number | null;
}

/** Refuses as `parseJobDocument` does. */
export type ListParser = (value: unknown) => JobDocument;

export function listParser(settings: Settings): ListParser {
  let before: Read | null = null;
  return (value) => {
    if (!isObject(value)) return parseJobDocument(value, settings);
    const like = before === null ? null : likeBefore(value, before, settings);
    if (like !== null) return like;
    const document = parseJobDocument(value, settings);
    before = { value, document, bytes: null };
    return document;
  };
}

const INPUT = '/tasks/0/input';
/** What stands before an input, and not where it is left out. */
const FIELD = ',"input":';

function likeBefore(
  value: Readonly<Record<string, unknown>>,
  before: Read,
  settings: Settings,
): JobDocument | null {
  if (!isLike(value, before.value, 'tasks')) return null;
  const [task, taskBefore] = [onlyOne(value['tasks']), onlyOne(before.value['tasks'])];
  if (task === null || taskBefore === null || !isLike(task, taskBefore, 'input')) return null;
  const { document } = before;
  const read = document.tasks[0] as TaskDocument;
  try {
    const given = task['input'] ?? null;
    // All but the input weighs what it weighed before. Where there is no room for both inputs, the whole is weighed.
    before.bytes ??= weighDocument(before.value, settings) + FIELD.length;
    weigh(given, INPUT, 'The input', 0, settings.documentBytesMax - before.bytes);
    const input = readAloneInput(given, INPUT, settings);
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

/** The same fields with the same plain values, but for one. What both inherit is the same. */
function isLike(
  value: Readonly<Record<string, unknown>>,
  before: Readonly<Record<string, unknown>>,
  but: string,
): boolean {
  if (Object.getPrototypeOf(value) !== Object.getPrototypeOf(before)) return false;
  for (const name in value) {
    if (name === but) continue;
    const each = value[name];
    // Two lists or objects are never the same one.
    if (each === undefined || each !== before[name]) return false;
  }
  for (const name in before)
    if (Object.hasOwn(before, name) !== Object.hasOwn(value, name)) return false;
  return but in value === but in before;
}
