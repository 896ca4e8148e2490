/** Distributes the operators that compare whole rows: DISTINCT, UNION, INTERSECT, EXCEPT. */
import type { Expression } from '../logical/expression.ts';
import type { Distinct, Relation, SetOperation } from '../logical/relation.ts';
import { sameType } from '../logical/type.ts';
import { Undistributable } from '../logical/undistributable.ts';
import { groupCount, type ColumnStats } from './column-stats.ts';
import type { DistributeContext } from './context.ts';
import { orderNonDeterminism } from './determinism.ts';
import { columnsOf, expressionKey } from './expressions.ts';
import {
  RANDOM,
  areCoPartitioned,
  hashPartitionedBy,
  isPartitioned,
  isPartitionedOn,
  type Partitioning,
} from './partitioning.ts';
import { applied, repartitionBy } from './repartition.ts';
import { over, unpartitioned, type Subplan } from './subplan.ts';
import { isHashable } from './types.ts';
import { wantedKeys, type Wanted } from './wanted-keys.ts';

export function distributeDistinct(
  context: DistributeContext,
  relation: Distinct,
  input: Subplan,
  wanted: Wanted = null,
): Subplan {
  const all = columnsOf(input.relation.output);
  const keys =
    relation.on ?? wantedKeys(wanted, all, input.columns, context.draft.partitions) ?? all;
  const nonDeterministic = orderNonDeterminism(relation);
  const rows = Math.min(
    relation.rows ?? input.rows,
    groupCount(relation.on ?? all, input.columns, input.rows),
  );
  const distinct = (each: Subplan): Subplan =>
    applied({ ...relation, input: each.relation }, each, { rows, nonDeterministic });
  if (!isPartitioned(input.partitioning) || isPartitionedOn(input.partitioning, keys))
    return distinct(input);
  const before = distinct(input);
  const after = distinct(repartitionBy(context, before, keys));
  context.draft.pairPartial(before.relation, after.relation);
  return after;
}

export function distributeSet(
  context: DistributeContext,
  relation: SetOperation,
  inputs: readonly Subplan[],
): Subplan {
  const isUnion = relation.operation === 'union';
  if (!inputs.every(({ relation: { output } }) => haveTypes(output, relation.output)))
    throw new Undistributable('it has a UNION, INTERSECT or EXCEPT of different types');
  if (isUnion && !relation.all) {
    const all = distributeSet(context, { ...relation, all: true }, inputs);
    const { output, rows } = relation;
    const distinct: Distinct = {
      ...{ kind: 'distinct', on: null, order: [], output, rows },
      input: all.relation,
    };
    return distributeDistinct(context, distinct, all);
  }
  if (inputs.every(({ partitioning }) => !isPartitioned(partitioning)))
    return combined(relation, inputs, unpartitioned(inputs));
  if (isUnion) return distributeUnion(context, relation, inputs);
  const keys = columnsOf(relation.output);
  const usable = keys.filter(({ type }) => isHashable(type));
  if (usable.length === 0) {
    const all = inputs.map((input) => context.draft.gather(input));
    return combined(relation, all, unpartitioned(all));
  }
  const reduced: Relation[] = [];
  const exchanged = inputs.map((input) => {
    if (isHashPartitionedBy(input.partitioning, usable)) return input;
    if (relation.all) return context.draft.repartition(input, usable);
    const distinct = withoutDuplicates(input);
    reduced.push(distinct.relation);
    return context.draft.repartition(distinct, usable);
  });
  const result = combined(relation, exchanged, hashPartitionedBy(usable));
  for (const before of reduced) context.draft.pairPartial(before, result.relation);
  return result;
}

/** Drops duplicates before an exchange, so that fewer rows travel. */
export function withoutDuplicates(input: Subplan): Subplan {
  const { output } = input.relation;
  const rows = groupCount(columnsOf(output), input.columns, input.rows);
  const distinct: Distinct = {
    ...{ kind: 'distinct', on: null, order: [], output, rows },
    input: input.relation,
  };
  return applied(distinct, input);
}

function isHashPartitionedBy(partitioning: Partitioning, keys: readonly Expression[]): boolean {
  if (partitioning.kind !== 'keyed' || partitioning.range !== null) return false;
  if (partitioning.keys.length !== keys.length) return false;
  return keys.every((key, at) =>
    partitioning.keys[at]?.some((each) => expressionKey(each) === expressionKey(key)),
  );
}

function haveTypes(output: Relation['output'], wanted: Relation['output']): boolean {
  return wanted.every((type, at) => output[at] !== undefined && sameType(type, output[at]));
}

/** An input that every task has in full would come out N times, so such inputs are partitioned first. */
function distributeUnion(
  context: DistributeContext,
  relation: SetOperation,
  inputs: readonly Subplan[],
): Subplan {
  const partitioned = inputs.map((input) => context.draft.partition(input));
  return combined(
    relation,
    partitioned,
    coPartitioning(partitioned.map(({ partitioning }) => partitioning)),
  );
}

/** The keys by which all inputs are co-partitioned. */
function coPartitioning(partitionings: readonly Partitioning[]): Partitioning {
  const [first, ...others] = partitionings;
  if (first?.kind !== 'keyed') return RANDOM;
  const keys = first.keys.map((key, place) =>
    key.filter((each) =>
      others.every(
        (other) =>
          other.kind === 'keyed' &&
          areCoPartitioned(first, other) &&
          other.keys[place]?.some((one) => expressionKey(one) === expressionKey(each)),
      ),
    ),
  );
  return keys.every((key) => key.length > 0) ? { ...first, keys } : RANDOM;
}

function combined(
  relation: SetOperation,
  inputs: readonly Subplan[],
  partitioning: Partitioning,
): Subplan {
  const sum = inputs.reduce((rows, input) => rows + input.rows, 0);
  const isUnion = relation.operation === 'union';
  return over(inputs, {
    relation: { ...relation, inputs: inputs.map((input) => input.relation) },
    partitioning,
    rows: relation.rows ?? (isUnion ? sum : (inputs[0]?.rows ?? 0)),
    columns: unionColumns(inputs),
    nonDeterministic: null,
    isOneRow: false,
  });
}

function unionColumns(inputs: readonly Subplan[]): readonly ColumnStats[] {
  const [first, ...others] = inputs;
  return (first?.columns ?? []).map(({ width, distinct }, at) => ({
    width: Math.max(width, ...others.map(({ columns }) => columns[at]?.width ?? 0)),
    distinct: others.reduce((sum, { columns }) => sum + (columns[at]?.distinct ?? 0), distinct),
  }));
}
