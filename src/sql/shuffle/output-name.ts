/** Names of outputs and their folders on disk. Every part of a path is checked first. */
import { join } from 'node:path';
import { MillraceError, fragmentNo, fragmentTaskId, isId } from '../../scheduler/core/index.ts';
import type { JobId } from '../../scheduler/core/index.ts';
import type { MapOutputKey } from '../../scheduler/contract/index.ts';

/** One attempt at a task of a query. */
export interface OutputName {
  readonly query: JobId;
  /** The task's id in the job: `s2.5`. */
  readonly task: string;
  readonly fence: number;
  /** The number of the retry; for readers that do not know the fence. */
  readonly attempt?: number;
}

/** The epoch of an output is its fence, and has 32 bits on the wire. */
const FENCE_MAX = 0xff_ff_ff_ff;

export function checkedName({ query, task, fence, attempt = 0 }: OutputName): OutputName {
  if (!isId(query)) refuse('query', query);
  if (fragmentNo(task) === null) refuse('task', task);
  if (!Number.isInteger(fence) || fence < 0 || fence > FENCE_MAX) refuse('fence', `${fence}`);
  return { query, task, fence, attempt };
}

/** Flat, without folders per query, which would have to be created and removed. */
export function folderOf(root: string, name: OutputName): string {
  const { query, task, fence } = checkedName(name);
  return join(root, `${query}.${task}.${fence}`);
}

/** The name that the shuffle service uses. */
export function keyOf(name: OutputName): MapOutputKey {
  const { query, task, fence, attempt = 0 } = checkedName(name);
  const { stage, task: mapTask } = fragmentNo(task) ?? refuse('task', task);
  return { query, stage, mapTask, fence, attempt };
}

export function nameOf({ query, stage, mapTask, fence, attempt }: MapOutputKey): OutputName {
  return checkedName({ query, task: fragmentTaskId(stage, mapTask), fence, attempt });
}

export function textOf({ query, task, fence }: OutputName): string {
  return `${query}/${task}/${fence}`;
}

function refuse(what: string, value: string): never {
  throw new MillraceError({
    code: 'bad_input',
    what: `${JSON.stringify(value.slice(0, 80))} is not a valid ${what} of an output.`,
  });
}
