/** A tree of tasks seen from above: each parent shows how far everything below it has come. */
import type { TaskNo } from '../ids.ts';
import type { TaskState } from '../task/chart.ts';
import { isTerminal } from '../task/chart.ts';

export interface TreeTask {
  readonly taskNo: TaskNo;
  readonly parentNo: TaskNo | null;
  readonly state: TaskState;
  readonly progress: number;
}

export interface RollUp {
  /** Tasks in the subtree, the task itself included. */
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
  total: number;
  ended: number;
  progress: number;
  worst: number;
}

/** By task number. Leaves first, without recursion: trees may be very deep. */
export function rollUp(tasks: readonly TreeTask[]): readonly RollUp[] {
  const children = new Uint32Array(tasks.length);
  for (const { parentNo } of tasks) {
    if (parentNo !== null) children[parentNo] = (children[parentNo] as number) + 1;
  }
  const sums: Sum[] = tasks.map(({ state, progress }) => ({
    total: 1,
    ended: isTerminal(state) ? 1 : 0,
    progress: isTerminal(state) ? 1 : progress,
    worst: WORST_FIRST.indexOf(state),
  }));
  const leaves = tasks.filter(({ taskNo }) => children[taskNo] === 0);
  for (let task = leaves.pop(); task !== undefined; task = leaves.pop()) {
    const { parentNo } = task;
    if (parentNo === null) continue;
    merge(sums[parentNo] as Sum, sums[task.taskNo] as Sum);
    children[parentNo] = (children[parentNo] as number) - 1;
    if (children[parentNo] === 0) leaves.push(tasks[parentNo] as TreeTask);
  }
  return sums.map(({ total, ended, progress, worst }) => ({
    total,
    ended,
    progress: progress / total,
    state: WORST_FIRST[worst] as TaskState,
  }));
}

function merge(into: Sum, from: Sum): void {
  into.total += from.total;
  into.ended += from.ended;
  into.progress += from.progress;
  into.worst = Math.min(into.worst, from.worst);
}
