/** The rules that hold for every plan, whether made here or submitted: the stages fit together. */
import { invariant } from '../../../scheduler/core/index.ts';
import type { ExchangeInput, QueryPlan, Scan, Stage } from '../physical/plan.ts';

/** What is wrong, and the path to it in the plan. */
export interface PlanFault {
  readonly path: string;
  readonly what: string;
}

/** Throws `invariant`: a plan that was made here must be valid. */
export function checkPlan(plan: QueryPlan): void {
  const fault = planFault(plan);
  if (fault !== null) invariant(false, `plan, ${fault.path}: ${fault.what}`);
}

/** Returns the first fault of a plan, or null if it is valid. */
export function planFault(plan: QueryPlan): PlanFault | null {
  const read = new Set<number>();
  for (const [at, stage] of plan.stages.entries()) {
    const fault = stageFault(plan, stage, at, read);
    if (fault !== null) return { path: `/stages/${at}${fault.path}`, what: fault.what };
  }
  const idle = plan.stages.slice(0, -1).findIndex(({ id }) => !read.has(id));
  if (idle >= 0) return { path: `/stages/${idle}`, what: 'no stage reads its output' };
  return null;
}

function stageFault(
  plan: QueryPlan,
  stage: Stage,
  at: number,
  read: Set<number>,
): PlanFault | null {
  const isLast = at === plan.stages.length - 1;
  if (stage.id !== at) return { path: '/id', what: `must be its index, ${at}` };
  if (stage.tasks !== 1 && stage.tasks !== plan.partitions)
    return { path: '/tasks', what: `must be 1 or the number of partitions, ${plan.partitions}` };
  if (isLast && plan.ordered && stage.tasks !== 1 && !isInRanges(plan, stage))
    return {
      path: '/tasks',
      what: 'must be 1: the result has an order, and the rows of the tasks are not range-partitioned',
    };
  const { output, fragment } = stage;
  if ((output.kind === 'result') !== isLast)
    return { path: '/output/kind', what: "must be 'result' for the last stage and no other" };
  const isSplit = output.kind === 'hash' || output.kind === 'range';
  if (isSplit && output.partitions !== plan.partitions)
    return {
      path: '/output/partitions',
      what: `must be ${plan.partitions}, the number of partitions of the plan`,
    };
  const names = new Set<string>();
  const relations = [...fragment.scans, ...fragment.inputs].map(({ relation }) => relation);
  for (const name of relations) {
    if (names.has(name)) return { path: '/fragment', what: `has two relations named '${name}'` };
    names.add(name);
  }
  for (const [place, scan] of fragment.scans.entries()) {
    const what = splitFault(stage, scan);
    if (what !== null) return { path: `/fragment/scans/${place}/split`, what };
    const cut = cutFault(stage, scan);
    if (cut !== null) return { path: `/fragment/scans/${place}/cuts`, what: cut };
  }
  for (const [place, input] of fragment.inputs.entries()) {
    const what = inputFault(plan, stage, input);
    if (what !== null) return { path: `/fragment/inputs/${place}`, what };
    read.add(input.stage);
  }
  return null;
}

/** Whether the rows that each task has to itself come from ranges, so that they can follow those of the task before. */
function isInRanges({ stages }: QueryPlan, { fragment: { scans, inputs } }: Stage): boolean {
  const own = scans.filter(({ rows }) => rows === 'own').map(({ split }) => split !== undefined);
  const given = inputs
    .filter(({ mode }) => mode !== 'all')
    .map(({ mode, stage }) => mode === 'partition' && stages[stage]?.output.kind === 'range');
  const all = [...own, ...given];
  return all.length > 0 && all.every(Boolean);
}

/** Every value must belong to one task, and every task must have a range. */
function splitFault({ tasks }: Stage, { rows, split, columns }: Scan): string | null {
  if (split === undefined) return null;
  const { column, bounds } = split;
  if (rows !== 'own') return "is only allowed with 'own' rows";
  if (columns[column] === undefined) return `refers to column ${column}, which does not exist`;
  if (bounds.length !== tasks - 1)
    return `must have one bound fewer than there are tasks, ${tasks}`;
  return isGrowing(bounds) ? null : 'has bounds that are not in ascending order';
}

/** Every row must belong to one task. */
function cutFault({ tasks }: Stage, { rows, split, cuts }: Scan): string | null {
  if (cuts === undefined) return null;
  if (rows !== 'own' || split !== undefined)
    return "is only allowed with 'own' rows that are not split by their values";
  if (cuts.length !== tasks - 1) return `must have one number fewer than there are tasks, ${tasks}`;
  return isGrowing(cuts) ? null : 'must be in ascending order';
}

function isGrowing(values: readonly number[]): boolean {
  return values.every((value, at) => at === 0 || value >= (values[at - 1] as number));
}

function inputFault(plan: QueryPlan, stage: Stage, input: ExchangeInput): string | null {
  const made = plan.stages[input.stage];
  if (made === undefined || input.stage >= stage.id) return 'must read an earlier stage';
  const types = (columns: readonly { readonly type: string }[]): string =>
    columns.map(({ type }) => type).join();
  if (types(made.fragment.columns) !== types(input.columns))
    return `must have the columns of stage ${made.id}`;
  switch (input.mode) {
    case 'partition':
      if (made.output.kind !== 'hash' && made.output.kind !== 'range')
        return `stage ${made.id} has no hash or range output`;
      return stage.tasks === plan.partitions
        ? null
        : 'must be in a stage with as many tasks as there are partitions';
    case 'all':
      return made.output.kind === 'whole' ? null : `stage ${made.id} has no whole output`;
    case 'forward':
      if (made.output.kind !== 'whole') return `stage ${made.id} has no whole output`;
      return made.tasks === stage.tasks ? null : 'both stages must have the same number of tasks';
    default:
      return input.mode satisfies never;
  }
}
