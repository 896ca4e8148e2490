/** The two ways to run an operator: where its input is, or after an exchange by its keys. */
import type { Expression } from '../logical/expression.ts';
import type { Relation } from '../logical/relation.ts';
import type { DistributeContext } from './context.ts';
import { isPartitioned, isPartitionedOn } from './partitioning.ts';
import { over, type Subplan } from './subplan.ts';
import { isHashable } from './types.ts';

/** Brings rows with equal keys into the same task; gathers all rows if no key can be hashed. */
export function repartitionBy(
  context: DistributeContext,
  input: Subplan,
  keys: readonly Expression[],
): Subplan {
  if (!isPartitioned(input.partitioning) || isPartitionedOn(input.partitioning, keys)) return input;
  const usable = keys.filter(({ type }) => isHashable(type));
  return usable.length === 0
    ? context.draft.gather(input)
    : context.draft.repartition(input, usable);
}

/** Runs an operator in the tasks where its input is. */
export function applied(relation: Relation, input: Subplan, more: Partial<Subplan> = {}): Subplan {
  return over([input], { ...input, relation, ...more });
}
