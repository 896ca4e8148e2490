/** What the rows of a query's job and of its tasks say. */
import type { JobRow, TaskId, TaskRow } from '../../scheduler/core/index.ts';
import type { QuerySummary } from '../../scheduler/contract/index.ts';
import { PLAN_TASK, fragmentTaskId } from '../../sql/plan/index.ts';
import type { QueryPlan } from '../../sql/plan/index.ts';
import { firstTasks } from './query-shape.ts';
import { jobSummary } from './row-shapes.ts';

/** Of the plan and of all stages. */
export function taskCount({ stages }: QueryPlan): number {
  return stages.reduce((total, { tasks }) => total + tasks, 1);
}

/**
 * The task that the query waits for: the plan until it is admitted, then the first ready one while no other
 * runs.
 */
export function heldTask(plan: QueryPlan, tasks: readonly TaskRow[]): TaskId | null {
  if (tasks[0]?.state === 'blocked') return PLAN_TASK as TaskId;
  if (tasks.some(({ state }) => state === 'running')) return null;
  const ready = tasks.find(({ state }) => state === 'ready');
  if (ready === undefined) return null;
  const firsts = firstTasks(plan.stages);
  const stage = firsts.findLastIndex((first) => first <= ready.taskNo);
  return fragmentTaskId(stage, ready.taskNo - (firsts[stage] ?? 0));
}

export function nameOf({ run, fence }: TaskRow): string {
  return `${run}/${fence}`;
}

/** Its result is made from its plan; the tasks are needed only for queries that pass. */
export function isQuery({ output }: JobRow): boolean {
  return output !== null && output.includes(`"${PLAN_TASK}"`) && output.includes('"columns"');
}

export function querySummary(row: JobRow): QuerySummary<Date> {
  const { id, name, state, error, createdAt, startedAt, finishedAt } = jobSummary(row);
  return { id, name, state, error, submittedAt: createdAt, startedAt, finishedAt };
}
