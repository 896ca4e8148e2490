/**
 * By which columns the operators above a relation want its rows in the same task. A relation that is repartitioned anyway
 * is then repartitioned by these, and what is above needs no exchange of its own: groups by customer and year that are
 * joined by customer, say, go by customer. Any choice is correct; this only saves exchanges.
 */
import { assertNever } from '../../../scheduler/core/index.ts';
import type { Expression } from '../logical/expression.ts';
import type { Aggregate, Join, Relation, Window, With } from '../logical/relation.ts';
import { groupCount, type ColumnStats } from './column-stats.ts';
import { keyPairs } from './join-partitioning.ts';
import { isHashable } from './types.ts';

/** Indexes of output columns, in the order in which the other side of a join has them; null for no wish. */
export type Wanted = readonly number[] | null;

export class WantedKeys {
  readonly #wanted = new Map<Relation, readonly number[]>();
  readonly #refs = new Map<number, Wanted[]>();
  readonly #grouped = new Set<number>();

  constructor(root: Relation) {
    this.#visit(root, null);
  }

  /** Null if no operator above needs rows together, or if they need them in different ways. */
  of(relation: Relation): Wanted {
    return this.#wanted.get(relation) ?? null;
  }

  #visit(relation: Relation, given: Wanted): void {
    const wanted = given?.length === 0 ? null : given;
    if (wanted !== null) this.#wanted.set(relation, wanted);
    switch (relation.kind) {
      case 'project':
        return this.#visit(relation.input, through(relation.expressions, wanted));
      case 'filter':
      case 'sort':
      case 'topN':
      case 'limit':
        return this.#visit(relation.input, wanted);
      case 'unnest':
        return this.#visit(relation.input, within(wanted, 0, relation.input.output.length));
      case 'aggregate':
        return this.#visit(relation.input, ofGroups(relation, wanted));
      case 'window': {
        const below = within(wanted, 0, relation.input.output.length);
        return this.#visit(relation.input, ofWindow(relation) ?? below);
      }
      case 'distinct':
        return this.#visit(relation.input, wanted);
      case 'join':
        return this.#join(relation, wanted);
      case 'cross':
      case 'asof':
      case 'positional':
        return this.#sides(relation, wanted);
      case 'set':
        for (const input of relation.inputs) this.#visit(input, relation.all ? wanted : null);
        return;
      case 'with':
        return this.#with(relation, wanted);
      case 'ref':
        this.#refs.set(relation.cte, [...(this.#refs.get(relation.cte) ?? []), wanted]);
        return;
      case 'scan':
      case 'input':
      case 'values':
      case 'empty':
        return;
      default:
        assertNever(relation);
    }
  }

  /** Sides that are both grouped are joined where their groups are; beside one that is not, the wish from above stays. */
  #join(join: Join, wanted: Wanted): void {
    if (!this.#isGrouped(join.left) || !this.#isGrouped(join.right))
      return this.#sides(join, wanted);
    const pairs = keyPairs(join.type, join.conditions).filter(
      ({ left, right }) => left.kind === 'column' && right.kind === 'column',
    );
    const places = wanted?.map((at) => pairs.findIndex((pair) => isColumn(pair.left, at)));
    // Some of the keys are enough for the join. Those that are wanted above serve both.
    const shared = places?.every((at) => at >= 0) ? places.map((at) => pairs[at]!) : pairs;
    this.#visit(join.left, columnsOnly(shared.map(({ left }) => left)));
    this.#visit(join.right, columnsOnly(shared.map(({ right }) => right)));
  }

  #sides(
    { left, right }: { readonly left: Relation; readonly right: Relation },
    wanted: Wanted,
  ): void {
    const width = left.output.length;
    this.#visit(left, within(wanted, 0, width));
    this.#visit(right, within(wanted, width, right.output.length));
  }

  /** The body comes first: it says what is wanted of the definition. */
  #with({ cte, definition, body }: With, wanted: Wanted): void {
    if (this.#isGrouped(definition)) this.#grouped.add(cte);
    this.#visit(body, wanted);
    const [first = null, ...others] = (this.#refs.get(cte) ?? []).filter((each) => each !== null);
    const shared = first?.filter((at) => others.every((each) => each.includes(at))) ?? null;
    this.#visit(definition, shared);
  }

  /** Whether its rows are likely to come from an exchange by group. */
  #isGrouped(relation: Relation): boolean {
    switch (relation.kind) {
      case 'aggregate':
        return relation.groups.length > 0;
      case 'distinct':
        return true;
      case 'ref':
        return this.#grouped.has(relation.cte);
      case 'project':
      case 'filter':
      case 'window':
        return this.#isGrouped(relation.input);
      case 'join':
        return this.#isGrouped(relation.left) || this.#isGrouped(relation.right);
      case 'set':
        return relation.inputs.some((input) => this.#isGrouped(input));
      case 'with':
        return this.#isGrouped(relation.body);
      case 'scan':
      case 'input':
      case 'values':
      case 'empty':
      case 'cross':
      case 'asof':
      case 'positional':
      case 'sort':
      case 'topN':
      case 'limit':
      case 'unnest':
        return false;
      default:
        return assertNever(relation);
    }
  }
}

function through(expressions: readonly Expression[], wanted: Wanted): Wanted {
  return wanted === null ? null : columnsOnly(wanted.map((at) => expressions[at] as Expression));
}

/** All of them as columns; null if one is computed. */
function columnsOnly(expressions: readonly Expression[]): Wanted {
  const places = expressions.flatMap((each) => (each.kind === 'column' ? [each.index] : []));
  return places.length === expressions.length && places.length > 0 ? places : null;
}

/** Columns of one side; null if one is of another. */
function within(wanted: Wanted, from: number, width: number): Wanted {
  if (wanted === null || !wanted.every((at) => at >= from && at < from + width)) return null;
  return wanted.map((at) => at - from);
}

/** Rows of a group are in one task if its input is partitioned by some of the groups. */
function ofGroups({ groups, sets }: Aggregate, wanted: Wanted): Wanted {
  const isWanted = wanted?.every((at) => at < groups.length) === true;
  const own = isWanted ? wanted.map((at) => groups[at] as Expression) : groups;
  const inAllSets = own.every((group) => sets.every((set) => set.includes(groups.indexOf(group))));
  return inAllSets ? columnsOnly(own) : null;
}

/** The keys by which all calls partition, if these are the same. */
function ofWindow({ calls: [first, ...others] }: Window): Wanted {
  const keys = columnsOnly(first?.partitionBy ?? []);
  const isShared = others.every((each) => String(columnsOnly(each.partitionBy)) === String(keys));
  return isShared ? keys : null;
}

/** With fewer values than this for each task, some tasks would have far more rows than others. */
const VALUES_PER_TASK = 32;

/** The wanted columns as keys of an exchange; null if they are none, or have too few values to be spread by. */
export function wantedKeys(
  wanted: Wanted,
  among: readonly Expression[],
  columns: readonly ColumnStats[],
  partitions: number,
): readonly Expression[] | null {
  const keys = wanted?.map((at) => among[at]) ?? [];
  const known = keys.filter((key) => key !== undefined && isHashable(key.type)) as Expression[];
  if (known.length === 0 || known.length < keys.length) return null;
  const isSpread = groupCount(known, columns, Infinity) >= VALUES_PER_TASK * partitions;
  return isSpread ? known : null;
}

function isColumn(expression: Expression, index: number): boolean {
  return expression.kind === 'column' && expression.index === index;
}
