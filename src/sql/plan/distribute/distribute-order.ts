/** Distributes the operators that depend on the order of rows: sorts and limits. */
import type { Limit, Sort, TopN } from '../logical/relation.ts';
import type { DistributeContext } from './context.ts';
import { orderNonDeterminism } from './determinism.ts';
import { SINGLE, isPartitioned } from './partitioning.ts';
import { applied } from './repartition.ts';
import type { Subplan } from './subplan.ts';

export function distributeSort(
  context: DistributeContext,
  relation: Sort,
  input: Subplan,
): Subplan {
  const all = context.draft.gather(input);
  // An order survives only in a single task.
  return applied({ ...relation, input: all.relation }, all, { partitioning: SINGLE });
}

/** Takes the first rows where the input is. */
function firstRows(relation: TopN | Limit, input: Subplan): Subplan {
  const { limit } = relation;
  return applied(relation, input, {
    rows: Math.min(limit ?? input.rows, input.rows),
    nonDeterministic: orderNonDeterminism(relation),
    isOneRow: input.isOneRow || (limit !== null && limit <= 1),
  });
}

export function distributeTopN(
  context: DistributeContext,
  relation: TopN,
  input: Subplan,
): Subplan {
  const { limit, offset } = relation;
  if (!isPartitioned(input.partitioning))
    return asOrdered(firstRows({ ...relation, input: input.relation }, input));
  // The result can come from any task, but needs no more than this many rows of each.
  return asOrdered(inTwoPhases(context, relation, limit + offset, input));
}

function asOrdered(input: Subplan): Subplan {
  return { ...input, partitioning: SINGLE };
}

/** Partial: each task takes its first `count` rows. Final: one task takes the rows asked for from what was gathered. */
function inTwoPhases(
  context: DistributeContext,
  relation: TopN | Limit,
  count: number,
  input: Subplan,
): Subplan {
  // Without a limit there is nothing to gain from a partial phase.
  if (!Number.isSafeInteger(count)) {
    const all = context.draft.gather(input);
    return firstRows({ ...relation, input: all.relation }, all);
  }
  const partial = { ...relation, limit: count, offset: 0, input: input.relation };
  const rows = Math.min(count * context.draft.partitions, input.rows);
  const before = { ...firstRows(partial, input), rows, isOneRow: false };
  const all = context.draft.gather(before);
  const after = firstRows({ ...relation, input: all.relation }, all);
  context.draft.pairPartial(partial, after.relation);
  return after;
}

export function distributeLimit(
  context: DistributeContext,
  relation: Limit,
  input: Subplan,
): Subplan {
  const { limit, offset } = relation;
  if (!isPartitioned(input.partitioning))
    return firstRows({ ...relation, input: input.relation }, input);
  return inTwoPhases(context, relation, limit === null ? Infinity : limit + offset, input);
}
