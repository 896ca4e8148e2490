/**
 * Drops unused columns everywhere, so that exchanges are as narrow as possible. Every relation keeps at least one
 * column, because SQL has no rows without columns.
 */
import { assertNever } from '../../../scheduler/core/index.ts';
import type { AggregateCall, Expression, OrderBy } from '../logical/expression.ts';
import type {
  Aggregate,
  AsOfJoin,
  Cross,
  CteRef,
  Distinct,
  Join,
  PositionalJoin,
  Relation,
  SetOperation,
  Unnest,
  Window,
  With,
} from '../logical/relation.ts';
import { inputsOf } from '../logical/walk.ts';
import {
  aggregateParts,
  collectColumns,
  moved,
  movedAggregate,
  movedOrder,
  movedWindow,
  windowParts,
  type ColumnMapping,
} from './expressions.ts';
import { narrowestOf, mappingTo, usedBy } from './column-mapping.ts';
import { keepScan } from './prune-scan.ts';
import { project, select, withInputs } from './relations.ts';

/** Returns the same rows with the same columns; inside, only the columns that are needed. */
export function pruneColumns(relation: Relation): Relation {
  return new Pruning().keep(
    relation,
    relation.output.map((_, at) => at),
  );
}

class Pruning {
  /** The columns that each reference to a CTE needs, until all references are known. */
  readonly #needs = new Map<CteRef, readonly number[]>();

  /** Returns the relation with exactly these columns, or with one placeholder column if there are none. */
  keep(relation: Relation, wanted: readonly number[]): Relation {
    const needed = wanted.length > 0 ? wanted : narrowest(relation);
    switch (relation.kind) {
      case 'scan':
        return keepScan(relation, needed);
      case 'input':
        return select(relation, needed);
      case 'values':
        return {
          ...relation,
          lists: relation.lists.map((list) => needed.map((at) => list[at] as Expression)),
          output: outputOf(relation, needed),
        };
      case 'empty':
        return { ...relation, output: outputOf(relation, needed) };
      case 'project':
        return this.#project(relation, needed);
      case 'filter':
        return this.#over(relation, needed, relation.conditions, (input, places) => ({
          ...relation,
          input,
          conditions: relation.conditions.map((each) => moved(each, places)),
          output: input.output,
        }));
      case 'aggregate':
        return this.#aggregate(relation, needed);
      case 'join':
        return this.#join(relation, needed);
      case 'cross':
      case 'positional':
        return this.#pairPartial(relation, needed);
      case 'asof':
        return this.#asof(relation, needed);
      case 'set':
        return this.#set(relation, needed);
      case 'distinct':
        return this.#distinct(relation, needed);
      case 'window':
        return this.#window(relation, needed);
      case 'sort':
      case 'topN':
        return this.#over(relation, needed, ordering(relation.order), (input, places) => ({
          ...relation,
          input,
          order: movedOrder(relation.order, places),
          output: input.output,
        }));
      case 'limit':
        return this.#over(relation, needed, [], (input) => ({
          ...relation,
          input,
          output: input.output,
        }));
      case 'unnest':
        return this.#unnest(relation, needed);
      case 'with':
        return this.#with(relation, needed);
      case 'ref': {
        const ref = { ...relation, output: outputOf(relation, needed) };
        this.#needs.set(ref, needed);
        return ref;
      }
      default:
        return assertNever(relation);
    }
  }

  /** For operators that pass on the columns of their input and use some themselves. */
  #over(
    relation: Extract<Relation, { readonly input: Relation }>,
    needed: readonly number[],
    own: readonly Expression[],
    build: (input: Relation, places: ColumnMapping) => Relation,
  ): Relation {
    const { input, used } = this.#input(relation.input, needed, own);
    const places = mappingTo(used);
    return select(build(input, places), needed.map(places));
  }

  #input(
    input: Relation,
    needed: readonly number[],
    own: readonly Expression[],
  ): { readonly input: Relation; readonly used: readonly number[] } {
    const used = usedBy(own, needed);
    return { input: this.keep(input, used), used };
  }

  #project(relation: Extract<Relation, { kind: 'project' }>, needed: readonly number[]): Relation {
    const kept = needed.map((at) => relation.expressions[at] as Expression);
    const { input, used } = this.#input(relation.input, [], kept);
    const places = mappingTo(used);
    return {
      ...project(
        input,
        kept.map((each) => moved(each, places)),
      ),
      rows: relation.rows,
    };
  }

  #aggregate(relation: Aggregate, needed: readonly number[]): Relation {
    const { groups, calls, grouping } = relation;
    const wanted = new Set(needed.map((at) => at - groups.length));
    const keptCalls = calls.map((_, at) => at).filter((at) => wanted.has(at));
    // A total needs at least one call.
    if (groups.length === 0 && keptCalls.length === 0 && calls.length > 0) keptCalls.push(0);
    const keptGrouping = grouping.map((_, at) => at).filter((at) => wanted.has(calls.length + at));
    const chosen = keptCalls.map((at) => calls[at] as AggregateCall);
    const { input, used } = this.#input(
      relation.input,
      [],
      [...groups, ...chosen.flatMap(aggregateParts)],
    );
    const places = mappingTo(used);
    const kept = [
      ...groups.map((_, at) => at),
      ...keptCalls.map((at) => groups.length + at),
      ...keptGrouping.map((at) => groups.length + calls.length + at),
    ];
    const result: Aggregate = {
      ...relation,
      input,
      groups: groups.map((each) => moved(each, places)),
      calls: chosen.map((call) => movedAggregate(call, places)),
      grouping: keptGrouping.map((at) => grouping[at] as readonly number[]),
      output: outputOf(relation, kept),
    };
    return select(result, needed.map(mappingTo(kept)));
  }

  #join(relation: Join, needed: readonly number[]): Relation {
    const { left, conditions, predicate } = relation;
    const width = left.output.length;
    const hasRight = relation.type !== 'semi' && relation.type !== 'anti';
    const isMark = relation.type === 'mark';
    const own = new Set<number>(isMark || !hasRight ? needed.filter((at) => at < width) : needed);
    if (predicate !== null) collectColumns(predicate, own);
    const sides = this.#sides(relation, conditions, own);
    const places: ColumnMapping = (at) => sides.places(at);
    const rightOutput = isMark ? relation.output.slice(width) : sides.right.output;
    const result: Join = {
      ...relation,
      ...sides.operands,
      predicate: predicate === null ? null : moved(predicate, places),
      output: hasRight ? [...sides.left.output, ...rightOutput] : sides.left.output,
    };
    const markAt = sides.left.output.length;
    return select(
      result,
      needed.map((at) => (isMark && at === width ? markAt : places(at))),
    );
  }

  #asof(relation: AsOfJoin, needed: readonly number[]): Relation {
    const sides = this.#sides(relation, relation.conditions, new Set(needed));
    const hasRight = relation.type !== 'semi' && relation.type !== 'anti';
    const result: AsOfJoin = {
      ...relation,
      ...sides.operands,
      output: hasRight ? [...sides.left.output, ...sides.right.output] : sides.left.output,
    };
    return select(result, needed.map(sides.places));
  }

  #pairPartial(relation: Cross | PositionalJoin, needed: readonly number[]): Relation {
    const { left, right, places } = this.#sides(relation, [], new Set(needed));
    const result = { ...relation, left, right, output: [...left.output, ...right.output] };
    return select(result, needed.map(places));
  }

  #sides(
    relation: { readonly left: Relation; readonly right: Relation },
    conditions: Join['conditions'],
    used: ReadonlySet<number>,
  ) {
    const width = relation.left.output.length;
    const inLeft = [...used].filter((at) => at < width);
    const inRight = [...used].filter((at) => at >= width).map((at) => at - width);
    const left = this.#input(
      relation.left,
      inLeft,
      conditions.map((each) => each.left),
    );
    const right = this.#input(
      relation.right,
      inRight,
      conditions.map((each) => each.right),
    );
    const leftPlaces = mappingTo(left.used);
    const rightPlaces = mappingTo(right.used);
    return {
      left: left.input,
      right: right.input,
      operands: {
        left: left.input,
        right: right.input,
        conditions: conditions.map((each) => ({
          ...each,
          left: moved(each.left, leftPlaces),
          right: moved(each.right, rightPlaces),
        })),
      },
      places: (at: number): number =>
        at < width ? leftPlaces(at) : left.input.output.length + rightPlaces(at - width),
    };
  }

  #set(relation: SetOperation, needed: readonly number[]): Relation {
    // Where nothing is compared, rows that differ only in a dropped column remain two rows.
    const isFree = relation.operation === 'union' && relation.all;
    const kept = isFree ? needed : relation.output.map((_, at) => at);
    const inputs = relation.inputs.map((input) => this.keep(input, kept));
    const result: SetOperation = { ...relation, inputs, output: outputOf(relation, kept) };
    return isFree ? result : select(result, needed);
  }

  #distinct(relation: Distinct, needed: readonly number[]): Relation {
    const { on, order } = relation;
    const compared = on === null ? relation.output.map((_, at) => at) : needed;
    const own = [...(on ?? []), ...ordering(order)];
    const { input, used } = this.#input(relation.input, compared, own);
    const places = mappingTo(used);
    const result: Distinct = {
      ...relation,
      input,
      on: on === null ? null : on.map((each) => moved(each, places)),
      order: movedOrder(order, places),
      output: input.output,
    };
    return select(result, needed.map(places));
  }

  #window(relation: Window, needed: readonly number[]): Relation {
    const width = relation.input.output.length;
    const calls = relation.calls.map((_, at) => at).filter((at) => needed.includes(width + at));
    const handedOn = needed.filter((at) => at < width);
    if (calls.length === 0) return this.keep(relation.input, handedOn);
    const chosen = calls.map((at) => relation.calls[at] as Window['calls'][number]);
    const { input, used } = this.#input(relation.input, handedOn, chosen.flatMap(windowParts));
    const places = mappingTo(used);
    const moves = chosen.map((call) => movedWindow(call, places));
    const result: Window = {
      ...relation,
      input,
      calls: moves,
      output: [...input.output, ...moves.map(({ type }) => type)],
    };
    const callPlace = (at: number): number => input.output.length + calls.indexOf(at - width);
    return select(
      result,
      needed.map((at) => (at < width ? places(at) : callPlace(at))),
    );
  }

  /** The number of rows depends on all lists, so none is dropped. */
  #unnest(relation: Unnest, needed: readonly number[]): Relation {
    const width = relation.input.output.length;
    const handedOn = needed.filter((at) => at < width);
    const { input, used } = this.#input(relation.input, handedOn, relation.expressions);
    const places = mappingTo(used);
    const result: Unnest = {
      ...relation,
      input,
      expressions: relation.expressions.map((each) => moved(each, places)),
      output: [...input.output, ...relation.output.slice(width)],
    };
    return select(
      result,
      needed.map((at) => (at < width ? places(at) : input.output.length + at - width)),
    );
  }

  /** The definition keeps what any reference needs; each reference then selects its own columns. */
  #with(relation: With, needed: readonly number[]): Relation {
    const body = this.keep(relation.body, needed);
    const refs = new Map([...this.#needs].filter(([ref]) => ref.cte === relation.cte));
    if (refs.size === 0) return body;
    const union = [...new Set([...refs.values()].flat())].toSorted((a, b) => a - b);
    const definition = this.keep(relation.definition, union);
    const places = mappingTo(union);
    const replaced = replaceRefs(body, (ref) => {
      const own = refs.get(ref);
      return own === undefined
        ? ref
        : select({ ...ref, output: definition.output }, own.map(places));
    });
    return { ...relation, definition, body: replaced, output: replaced.output };
  }
}

function replaceRefs(relation: Relation, replace: (ref: CteRef) => Relation): Relation {
  if (relation.kind === 'ref') return replace(relation);
  const inputs = inputsOf(relation);
  const replaced = inputs.map((input) => replaceRefs(input, replace));
  const isSame = replaced.every((input, at) => input === inputs[at]);
  return isSame ? relation : withInputs(relation, replaced);
}

/** The narrowest column, as a placeholder. */
function narrowest({ output }: Relation): readonly number[] {
  return output.length === 0 ? [] : [narrowestOf(output)];
}

function outputOf(relation: Relation, places: readonly number[]): Relation['output'] {
  return places.map((at) => relation.output[at] as Relation['output'][number]);
}

function ordering(order: readonly OrderBy[]): readonly Expression[] {
  return order.map(({ expression }) => expression);
}
