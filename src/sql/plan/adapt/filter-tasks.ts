/** The tasks that decide how scans are filtered, and the columns whose values the tasks of a stage report for them. */
import type { QueryPlan } from '../physical/plan.ts';
import { groupingTasks } from './coalesced-stages.ts';

/** Of each task that decides: they come behind those that group partitions, in the order of their stages. */
export function filterTasks(
  plan: QueryPlan,
): readonly { readonly no: number; readonly stage: number }[] {
  const fragments = plan.stages.reduce((total, { tasks }) => total + tasks, 1);
  const first = fragments + groupingTasks(plan).length;
  const stages = new Set((plan.filters ?? []).map(({ stage }) => stage));
  return [...stages].toSorted((a, b) => a - b).map((stage, at) => ({ no: first + at, stage }));
}

/** In ascending order. */
export function keyColumns({ filters = [] }: QueryPlan, stage: number): readonly number[] {
  const own = filters.filter(({ keys }) => keys.stage === stage).map(({ keys }) => keys.column);
  return [...new Set(own)].toSorted((a, b) => a - b);
}
