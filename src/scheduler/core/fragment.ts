/** The names of a query's tasks. Protocol and shuffle name a task by its stage and its index there. */
import type { TaskId } from './ids.ts';

/** The executor that runs fragments of queries. */
export const FRAGMENT_EXECUTOR = 'sql.fragment';

/** The executor of the tasks that decide how partitions are grouped. No node has it: the leader completes them itself. */
export const GROUPS_EXECUTOR = 'sql.groups';

/** The same for the tasks that decide how the scans of a stage are filtered. */
export const FILTER_EXECUTOR = 'sql.filter';

/** The same for the tasks that decide whether a side of a join is broadcast. */
export const JOIN_EXECUTOR = 'sql.join';

/** Executors whose tasks the leader completes. */
export const DECISION_EXECUTORS: ReadonlySet<string> = new Set([
  GROUPS_EXECUTOR,
  FILTER_EXECUTOR,
  JOIN_EXECUTOR,
]);

export interface FragmentNo {
  readonly stage: number;
  /** Its index in the stage. */
  readonly task: number;
}

export function fragmentTaskId(stage: number, task: number): TaskId {
  return `s${stage}.${task}` as TaskId;
}

/** The task that decides which partitions each task of the stage reads. */
export function groupsTaskId(stage: number): TaskId {
  return `s${stage}.groups` as TaskId;
}

/** The task that decides how the scans of the stage are filtered by the keys of other stages. */
export function filterTaskId(stage: number): TaskId {
  return `s${stage}.filter` as TaskId;
}

/** The task that decides whether a side of the stage's join is broadcast. */
export function joinTaskId(stage: number): TaskId {
  return `s${stage}.join` as TaskId;
}

const FRAGMENT = /^s(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})$/;

/** Null if the id is not that of a fragment. */
export function fragmentNo(taskId: string): FragmentNo | null {
  const [, stage, task] = FRAGMENT.exec(taskId) ?? [];
  return stage === undefined || task === undefined
    ? null
    : { stage: Number(stage), task: Number(task) };
}

/** How the output of a query's job begins, and that of hardly any other job. */
export const QUERY_OUTPUT_START = '{"columns":{"$from":"plan"';
