/** A plan as a tree of stages, whether it was only made or has run too. */
import type {
  PlannedStage,
  QueryShape,
  StageShape,
} from '../../../src/scheduler/contract/index.ts';

export interface PlanStage {
  readonly id: number;
  readonly title: string;
  readonly tasks: number;
  readonly inputs: readonly { readonly stage: number; readonly mode: string }[];
  readonly output: string;
  readonly estimatedRows: number | null;
  readonly operators: readonly PlanOperator[];
  readonly notes: readonly string[];
  /** Null if it did not run. */
  readonly measured: StageShape | null;
}

export interface PlanOperator {
  readonly depth: number;
  /** `scan`, `inner join`, ... and what it is done with. */
  readonly name: string;
  readonly detail: string;
}

/** What `queries/explain` answers, as far as it is shown. A newer version may have more. */
export interface PlainPlan {
  readonly single?: string | null;
  readonly partitions?: number;
  readonly stages?: readonly {
    readonly id: number;
    readonly title: string;
    readonly tasks: number;
    readonly operators: readonly string[];
    readonly nonDeterministic: string | null;
    readonly requires: readonly string[];
    readonly estimate: { readonly rows: number | null };
    readonly output: { readonly kind: string; readonly partitions?: number };
    readonly fragment: {
      readonly inputs: readonly { readonly stage: number; readonly mode: string }[];
    };
  }[];
}

const NAME = /^(project|filter|limit|scan \S+?(?=:|$)|top \d+|[a-z]+ \([a-z]+\))(?=[\s:]|$)/;

/** Words that tell what a line is about come before the first `:`, ` by ` or ` on `. */
export function operatorOf(line: string): PlanOperator {
  const depth = Math.floor((line.length - line.trimStart().length) / 2);
  const text = line.trim();
  const at = NAME.exec(text)?.[0].length ?? text.search(/:| by | on | of | as /);
  return at < 0 || at === text.length
    ? { depth, name: text, detail: '' }
    : { depth, name: text.slice(0, at), detail: text.slice(at).replace(/^: ?/, ' ') };
}

function notesOf({
  nonDeterministic,
  requires,
}: Pick<PlannedStage, 'nonDeterministic' | 'requires'>): readonly string[] {
  return [
    ...(requires.length === 0 ? [] : [`needs ${requires.join(', ')}`]),
    ...(nonDeterministic === null ? [] : [`non-deterministic: ${nonDeterministic}`]),
  ];
}

export const stagesOfPlan = (plan: PlainPlan): readonly PlanStage[] =>
  (plan.stages ?? []).map((stage) => ({
    id: stage.id,
    title: stage.title,
    tasks: stage.tasks,
    inputs: stage.fragment.inputs.map(({ stage: from, mode }) => ({ stage: from, mode })),
    output:
      stage.output.partitions === undefined
        ? stage.output.kind
        : `${stage.output.kind}(${stage.output.partitions})`,
    estimatedRows: stage.estimate.rows,
    operators: stage.operators.map(operatorOf),
    notes: notesOf(stage),
    measured: null,
  }));

export const stagesOfQuery = (
  query: QueryShape,
  planned: readonly PlannedStage[],
): readonly PlanStage[] =>
  query.stages.map((stage) => {
    const plan = planned.find(({ id }) => id === stage.id);
    return {
      id: stage.id,
      title: stage.title,
      tasks: stage.tasks.total,
      inputs: stage.inputs,
      output: stage.output,
      estimatedRows: stage.estimate.rows,
      operators: (plan?.operators ?? []).map(operatorOf),
      notes: plan === undefined ? [] : notesOf(plan),
      measured: stage,
    };
  });

/** How far an estimate was off: `12 times more`; null if it was about right, or nothing is known. */
export function estimateFault(estimated: number | null, rows: number): string | null {
  if (estimated === null || estimated < 1 || rows < 1) return null;
  const ratio = rows / estimated;
  if (ratio >= 10) return `${Math.round(ratio)} times more than estimated`;
  return ratio <= 0.1 ? `${Math.round(1 / ratio)} times fewer than estimated` : null;
}
