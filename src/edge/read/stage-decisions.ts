/** What the leader has decided of the stages of a query while it ran. */
import type { StageFilter, StageGrouping, StageJoin } from '../../scheduler/contract/index.ts';
import { filterTasks, groupingTasks, joinTasks } from '../../sql/plan/index.ts';
import type {
  FilterDecision,
  JoinDecision,
  PartitionGroups,
  QueryPlan,
} from '../../sql/plan/index.ts';

/** Of one stage, from the result of a task that the leader has completed. */
export type StageDecision =
  | { readonly kind: 'grouping'; readonly stage: number; readonly grouping: StageGrouping | null }
  | { readonly kind: 'filters'; readonly stage: number; readonly filters: readonly StageFilter[] }
  | { readonly kind: 'join'; readonly stage: number; readonly join: StageJoin };

export interface DecisionTask {
  readonly no: number;
  readonly stage: number;
  readonly kind: StageDecision['kind'];
}

export function decisionTasks(plan: QueryPlan): readonly DecisionTask[] {
  return [
    ...groupingTasks(plan).map((task) => ({ ...task, kind: 'grouping' as const })),
    ...filterTasks(plan).map((task) => ({ ...task, kind: 'filters' as const })),
    ...joinTasks(plan).map(({ no, stage }) => ({ no, stage, kind: 'join' as const })),
  ];
}

/** `result` is that of the task. */
export function readDecision({ stage, kind }: DecisionTask, result: string): StageDecision {
  switch (kind) {
    case 'grouping':
      return { kind, stage, grouping: stageGrouping(JSON.parse(result) as PartitionGroups) };
    case 'filters':
      return { kind, stage, filters: (JSON.parse(result) as FilterDecision).made };
    case 'join':
      return { kind, stage, join: stageJoin(JSON.parse(result) as JoinDecision) };
    default:
      return kind satisfies never;
  }
}

/** Null before it is decided, or if it never is. */
export function groupingOf(
  decisions: readonly StageDecision[],
  stage: number,
): StageGrouping | null {
  const own = decisions.find((each) => each.stage === stage && each.kind === 'grouping');
  return own?.kind === 'grouping' ? own.grouping : null;
}

export function filtersOf(
  decisions: readonly StageDecision[],
  stage: number,
): readonly StageFilter[] {
  const own = decisions.find((each) => each.stage === stage && each.kind === 'filters');
  return own?.kind === 'filters' ? own.filters : [];
}

/** Null before it is decided, or if it never is. */
export function joinOf(decisions: readonly StageDecision[], stage: number): StageJoin | null {
  const own = decisions.find((each) => each.stage === stage && each.kind === 'join');
  return own?.kind === 'join' ? own.join : null;
}

function stageJoin(decided: JoinDecision): StageJoin {
  const { build, rows, bytes, thresholdBytes, probed: probe, broadcast: isBroadcast } = decided;
  return { build, rows, bytes, thresholdBytes, probe, isBroadcast };
}

/** Null if there was nothing to group. */
function stageGrouping(decided: PartitionGroups): StageGrouping | null {
  if (decided.isBroadcast === true) return null;
  const { groups, rows, bytes, targetBytes, slots, skewed = [] } = decided;
  const sum = (list: readonly number[]): number => list.reduce((total, each) => total + each, 0);
  return {
    partitions: bytes.length,
    tasks: groups.filter(({ length }) => length > 0).length,
    rows: sum(rows),
    bytes: sum(bytes),
    targetBytes,
    slots,
    skewed,
  };
}
