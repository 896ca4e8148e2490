/** The small bodies of the API, read field by field. Documents are checked where they are used. */
import { isId, isObject } from '../../scheduler/core/index.ts';
import type { JobId, NodeId, ScheduleId, TaskId } from '../../scheduler/core/index.ts';
import { badInput, notFound } from './refusal.ts';
import type { Call } from './route.ts';

export type Body = Readonly<Record<string, unknown>>;

/** An object with no other fields than these; no body at all is an empty one. */
export function objectOf(value: unknown, fields: readonly string[]): Body {
  if (value === undefined) return {};
  if (!isObject(value)) {
    throw badInput('', 'The body must be an object.');
  }
  for (const name of Object.keys(value)) {
    if (!fields.includes(name)) {
      throw badInput(`/${name.slice(0, 80)}`, `Known fields are ${fields.join(', ')}.`);
    }
  }
  return value;
}

export function textIn(body: Body, name: string): string | undefined {
  const value = body[name];
  if (value === undefined) return undefined;
  if (typeof value !== 'string') throw badInput(`/${name}`, 'It must be text.');
  return value;
}

export function wholeIn(body: Body, name: string): number | undefined {
  const value = body[name];
  if (value === undefined) return undefined;
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0) {
    throw badInput(`/${name}`, 'It must be a whole number.');
  }
  return value;
}

/** What is not an id cannot name anything. */
function idIn(call: Call, name: string, kind: string): string {
  const id = call.path[name] ?? '';
  if (!isId(id)) throw notFound(`Not a valid ${kind} id, so no such ${kind} exists.`);
  return id;
}

export const jobIn = (call: Call): JobId => idIn(call, 'id', 'job') as JobId;
export const taskIn = (call: Call): TaskId => idIn(call, 'task', 'task') as TaskId;
export const nodeIn = (call: Call): NodeId => idIn(call, 'id', 'node') as NodeId;
export const scheduleIn = (call: Call): ScheduleId => idIn(call, 'id', 'schedule') as ScheduleId;

export function checkedId(id: string, path: string): string {
  if (isId(id)) return id;
  throw badInput(path, 'Not a valid id.', 'Use up to 200 letters, digits and _ . : @ + = -');
}
