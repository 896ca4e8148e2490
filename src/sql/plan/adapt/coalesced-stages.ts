/** The stages whose partitions may be grouped, and the numbers of the tasks that decide it. */
import type { QueryPlan, Stage } from '../physical/plan.ts';

/**
 * Each of these reads partitions, and a task of it may read any number of them: its rows are the same however the
 * partitions are grouped. That is not so if a task has rows that are not in a partition (a share of a table, or the
 * output of one other task), if its output is read by the task of the same number, or if code of a user sees the
 * rows of a task. A task without partitions adds nothing then: at most the partial aggregates of no rows, of which the
 * other tasks have their own.
 */
export function coalescedStages({ stages, coalesce }: QueryPlan): readonly Stage[] {
  if (coalesce === undefined) return [];
  const forwarded = new Set(
    stages.flatMap(({ fragment }) =>
      fragment.inputs.filter(({ mode }) => mode === 'forward').map(({ stage }) => stage),
    ),
  );
  return stages.filter(
    (stage) => stage.tasks > 1 && !forwarded.has(stage.id) && readsOnlyPartitions(stage),
  );
}

function readsOnlyPartitions({ fragment, requires }: Stage): boolean {
  const { inputs, scans, tables, custom } = fragment;
  return (
    inputs.some(({ mode }) => mode === 'partition') &&
    inputs.every(({ mode }) => mode !== 'forward') &&
    scans.every(({ rows }) => rows === 'all') &&
    tables.length + requires.length === 0 &&
    custom === undefined
  );
}

/** Of each task that decides: they come behind all fragments, in the order of their stages. */
export function groupingTasks(
  plan: QueryPlan,
): readonly { readonly no: number; readonly stage: number }[] {
  const first = plan.stages.reduce((total, { tasks }) => total + tasks, 1);
  return coalescedStages(plan).map(({ id }, at) => ({ no: first + at, stage: id }));
}
