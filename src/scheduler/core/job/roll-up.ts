/** A tree of tasks seen from above: each parent shows how far everything below it has come. */
import type { TaskId } from '../ids.ts';
import type { TaskState } from '../task/chart.ts';
import { isTerminal } from '../task/chart.ts';

interface TreeTask {
  readonly id: TaskId;
  readonly parent: TaskId | null;
  readonly state: TaskState;
  readonly progress: number;
}

export interface TaskTree {
  /** Tasks in the subtree, the parent itself included. */
  readonly total: number;
  readonly ended: number;
  /** Mean progress of the subtree: ended tasks count as 1. */
  readonly progress: number;
  /** The most telling state in the subtree: failed, then running, then waiting, then ended. */
  readonly state: TaskState;
}

const WORST_FIRST: readonly TaskState[] = [
  'failed',
  'running',
  'ready',
  'delayed',
  'blocked',
  'cancelled',
  'skipped',
  'succeeded',
];

interface Sum {
  readonly parent: Sum | null;
  children: number;
  total: number;
  ended: number;
  progress: number;
  worst: number;
}

/** Of the tasks that have others below them. Leaves first, without recursion: trees may be very deep. */
export function taskTrees(tasks: readonly TreeTask[]): ReadonlyMap<TaskId, TaskTree> {
  if (tasks.every(({ parent }) => parent === null)) return new Map();
  const sums = linked(tasks);
  const parents = new Set([...sums].filter(([, { children }]) => children > 0).map(([id]) => id));
  const done = [...sums.values()].filter(({ children }) => children === 0);
  for (let sum = done.pop(); sum !== undefined; sum = done.pop()) {
    const { parent } = sum;
    if (parent === null) continue;
    parent.total += sum.total;
    parent.ended += sum.ended;
    parent.progress += sum.progress;
    parent.worst = Math.min(parent.worst, sum.worst);
    parent.children -= 1;
    if (parent.children === 0) done.push(parent);
  }
  return new Map([...parents].map((id) => [id, treeOf(sums.get(id) as Sum)]));
}

/** Each task with its parent, which may come later in the list; one that is not in it counts as none. */
function linked(tasks: readonly TreeTask[]): ReadonlyMap<TaskId, Sum> {
  const sums = new Map<TaskId, { parent: Sum | null } & Sum>();
  for (const { id, state, progress } of tasks) {
    const isOver = isTerminal(state);
    const own = { total: 1, ended: isOver ? 1 : 0, progress: isOver ? 1 : progress };
    sums.set(id, { parent: null, children: 0, ...own, worst: WORST_FIRST.indexOf(state) });
  }
  for (const { id, parent: above } of tasks) {
    const [sum, parent] = [sums.get(id), above === null ? undefined : sums.get(above)];
    if (sum === undefined || parent === undefined) continue;
    sum.parent = parent;
    parent.children += 1;
  }
  return sums;
}

function treeOf({ total, ended, progress, worst }: Sum): TaskTree {
  return { total, ended, progress: progress / total, state: WORST_FIRST[worst] as TaskState };
}
