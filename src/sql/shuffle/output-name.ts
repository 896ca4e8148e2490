/** What outputs are called, and where that puts them on disk. Nothing unchecked becomes part of a path. */
import { join } from 'node:path';
import { MillraceError, isId } from '../../scheduler/core/index.ts';
import type { JobId } from '../../scheduler/core/index.ts';
import type { MapOutputKey } from '../../scheduler/contract/index.ts';

/** One attempt at a task of a query. */
export interface OutputName {
  readonly query: JobId;
  /** The task's id in the job: `s2.5`. */
  readonly task: string;
  readonly fence: number;
}

const TASK = /^s(\d{1,9})\.(\d{1,9})$/;
/** On the wire it has 32 bits. */
const FENCE_MAX = 0xff_ff_ff_ff;

export function checkedName({ query, task, fence }: OutputName): OutputName {
  if (!isId(query)) refuse('query', query);
  if (!TASK.test(task)) refuse('task', task);
  if (!Number.isInteger(fence) || fence < 0 || fence > FENCE_MAX) refuse('fence', `${fence}`);
  return { query, task, fence };
}

/** One for each, side by side: folders between them would have to be made and removed. */
export function folderOf(root: string, name: OutputName): string {
  const { query, task, fence } = checkedName(name);
  return join(root, `${query}.${task}.${fence}`);
}

/** As the shuffle service names it. */
export function keyOf(name: OutputName): MapOutputKey {
  const { query, task, fence } = checkedName(name);
  const [, stage, mapTask] = TASK.exec(task) ?? [];
  return { query, stage: Number(stage), mapTask: Number(mapTask), attempt: fence };
}

export function nameOf({ query, stage, mapTask, attempt }: MapOutputKey): OutputName {
  return checkedName({ query, task: `s${stage}.${mapTask}`, fence: attempt });
}

export function textOf({ query, task, fence }: OutputName): string {
  return `${query}/${task}/${fence}`;
}

function refuse(what: string, value: string): never {
  throw new MillraceError({
    code: 'bad_input',
    what: `${JSON.stringify(value.slice(0, 80))} is no ${what} of an output.`,
  });
}
