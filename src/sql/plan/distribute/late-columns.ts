/**
 * Sends narrower rows. A join with all of a small table that every task reads only adds columns, such as the names of keys. Where its rows
 * are sent to other tasks, these can join them with the table themselves, and the added columns need not be sent.
 */
import type { Expression } from '../logical/expression.ts';
import type { Filter, Join, JoinCondition, Relation } from '../logical/relation.ts';
import { sameType } from '../logical/type.ts';
import { mapColumns, shiftColumns } from '../logical/walk.ts';
import { mappingTo, usedBy } from './column-mapping.ts';
import { rowBytes, unknownStats } from './column-stats.ts';
import type { Draft } from './draft.ts';
import { collectColumns, column, moved } from './expressions.ts';
import { eachRelation, project, select } from './relations.ts';
import type { Subplan } from './subplan.ts';
import { isExact } from './types.ts';

export interface LateColumns {
  /** What is sent. */
  readonly part: Subplan;
  readonly by: readonly Expression[];
  /** The same rows as before, of those that were sent. */
  readonly over: (sent: Relation) => Relation;
}

/** Null if there is nothing that could be added later, or if less than `draft.lateBytes` would be saved. */
export function lateColumns(
  draft: Draft,
  part: Subplan,
  by: readonly Expression[],
): LateColumns | null {
  const given = withoutAdded(part.relation, draft);
  const { core, added, places } = given;
  if (added.length === 0) return null;
  const keys = by.map((key) => inCore(key, given));
  if (!keys.every((key) => key !== null)) return null;
  const own = places.flatMap(({ of, at }) => (of === null ? [at] : []));
  const joined = added.flatMap(({ conditions }) => conditions.map(({ left }) => left));
  const needed = usedBy([...keys, ...joined], own);
  const columns = needed.map((at) => {
    const known = part.columns[places.findIndex((place) => corePlace(place) === at)];
    return known ?? unknownStats(core.output[at] as Expression['type']);
  });
  if (part.rows * (rowBytes(part.columns) - rowBytes(columns)) < draft.lateBytes) return null;
  const sentPlaces = mappingTo(needed);
  return {
    part: { ...part, relation: select(core, needed), columns },
    by: keys.map((key) => moved(key, sentPlaces)),
    over: (sent) => restored(given, sent, sentPlaces, part.rows),
  };
}

/** A table that adds columns. On the left its conditions are over the columns of the core. */
interface Added {
  readonly type: 'inner' | 'left';
  readonly table: Relation;
  readonly conditions: readonly JoinCondition[];
}

/** A column of the core, or one that is added. */
interface Place {
  readonly of: Added | null;
  readonly at: number;
  /** The column of the core that an added one always equals. */
  readonly equals?: number;
}

/** A relation as a core, and tables that only add columns to it. */
interface Stripped {
  readonly core: Relation;
  readonly added: readonly Added[];
  /** Of the columns of the relation. */
  readonly places: readonly Place[];
}

function withoutAdded(relation: Relation, draft: Draft): Stripped {
  return strippedOf(relation, draft) ?? asItIs(relation);
}

function asItIs(relation: Relation): Stripped {
  const places = relation.output.map((_, at) => ({ of: null, at }));
  return { core: relation, added: [], places };
}

/** Null if nothing can be left out. */
function strippedOf(relation: Relation, draft: Draft): Stripped | null {
  if (relation.kind === 'project') {
    const { input, expressions } = relation;
    const chosen = expressions.flatMap((each) => (each.kind === 'column' ? [each.index] : []));
    if (chosen.length < expressions.length) return null;
    const below = strippedOf(input, draft);
    return below && { ...below, places: chosen.map((at) => below.places[at] as Place) };
  }
  if (relation.kind === 'filter') return ofFilter(relation, strippedOf(relation.input, draft));
  if (relation.kind !== 'join') return null;
  if (onlyAdds(relation, 'right', draft))
    return withTable(relation, 'right', withoutAdded(relation.left, draft));
  if (onlyAdds(relation, 'left', draft))
    return withTable(relation, 'left', withoutAdded(relation.right, draft));
  return ofJoin(relation, draft);
}

function ofFilter(filter: Filter, below: Stripped | null): Stripped | null {
  const conditions = filter.conditions.map((each) => below && inCore(each, below));
  if (below === null || !conditions.every((each) => each !== null)) return null;
  const { core } = below;
  return { ...below, core: { ...filter, input: core, conditions, output: core.output } };
}

/** Whether a side of a join is a table without a filter that every task reads: it leaves out few rows of the other side, if any. */
function onlyAdds(join: Join, side: 'left' | 'right', { leaves }: Draft): boolean {
  const { type, conditions, predicate, [side]: table } = join;
  const isPlain = type === 'inner' || (type === 'left' && side === 'right');
  if (!isPlain || predicate !== null || conditions.length === 0) return false;
  if (!conditions.every(({ comparison }) => comparison === '=')) return false;
  return [...eachRelation(table)].every((each) => {
    const leaf = each.kind === 'input' ? leaves.get(each.relation) : undefined;
    return each.kind === 'project' || (leaf?.kind === 'scan' && !leaf.isPartitioned);
  });
}

function withTable(join: Join, side: 'left' | 'right', rest: Stripped): Stripped | null {
  const { type, [side]: table } = join;
  const other = side === 'left' ? 'right' : 'left';
  const conditions: JoinCondition[] = [];
  for (const { [other]: key, [side]: own, comparison } of join.conditions) {
    const left = inCore(key, rest);
    // Its key is a column of another table.
    if (left === null) return null;
    conditions.push({ left, right: own, comparison });
  }
  const added = { type: type === 'inner' ? type : 'left', table, conditions } as const;
  const columns = table.output.map((_, at) => ({ of: added, at, ...equalTo(added, at) }));
  const places = side === 'left' ? [...columns, ...rest.places] : [...rest.places, ...columns];
  return { core: rest.core, added: [...rest.added, added], places };
}

function equalTo({ type, conditions }: Added, at: number): Pick<Place, 'equals'> {
  const by = conditions.find(({ right }) => right.kind === 'column' && right.index === at);
  if (type !== 'inner' || by?.left.kind !== 'column') return {};
  const isSame = sameType(by.left.type, by.right.type) && isExact(by.left.type);
  return isSame ? { equals: by.left.index } : {};
}

/** A join commutes with those that add columns to a side whose rows come out only where they did, and is not about these columns. */
function ofJoin(join: Join, draft: Draft): Stripped | null {
  const { type, conditions, predicate } = join;
  const isInner = type === 'inner';
  const mayStrip = isInner || type === 'left' || type === 'semi' || type === 'anti';
  // What completes a partial operator stays as it is.
  if (!mayStrip || [...draft.partials.values()].includes(join)) return null;
  const left = withoutAdded(join.left, draft);
  const right = isInner ? withoutAdded(join.right, draft) : asItIs(join.right);
  if (left.added.length + right.added.length === 0) return null;
  const keys = conditions.map((each) => ({
    ...{ left: inCore(each.left, left), right: inCore(each.right, right) },
    comparison: each.comparison,
  }));
  if (!keys.every((each): each is JoinCondition => each.left !== null && each.right !== null))
    return null;
  const both = beside(left, right);
  const only = predicate === null ? null : inCore(predicate, both);
  if (predicate !== null && only === null) return null;
  const hasRight = isInner || type === 'left';
  const output = [...left.core.output, ...(hasRight ? right.core.output : [])];
  const operands = { left: left.core, right: right.core, conditions: keys, predicate: only };
  const { added, places } = hasRight ? both : left;
  return { core: { ...join, ...operands, output }, added, places };
}

/** The columns of both, as those of a join. */
function beside(left: Stripped, right: Stripped): Pick<Stripped, 'added' | 'places'> {
  const width = left.core.output.length;
  const became = new Map(
    right.added.map((each) => [
      each,
      {
        ...each,
        conditions: each.conditions.map((condition) => ({
          ...condition,
          left: shiftColumns(condition.left, width),
        })),
      },
    ]),
  );
  const places = right.places.map(({ of, at, equals }): Place => {
    if (of === null) return { of, at: at + width };
    return {
      ...{ of: became.get(of) ?? of, at },
      ...(equals === undefined ? {} : { equals: equals + width }),
    };
  });
  return { added: [...left.added, ...became.values()], places: [...left.places, ...places] };
}

function corePlace({ of, at, equals }: Place): number | null {
  return of === null ? at : (equals ?? null);
}

/** An expression over the columns of the core; null if it needs added ones. */
function inCore(expression: Expression, { places }: Pick<Stripped, 'places'>): Expression | null {
  const used = new Set<number>();
  collectColumns(expression, used);
  const known = new Map([...used].map((at) => [at, corePlace(places[at] as Place)]));
  if ([...known.values()].includes(null)) return null;
  return mapColumns(expression, ({ index, type }) => column(known.get(index) as number, type));
}

function restored(
  { added, places }: Stripped,
  sent: Relation,
  sentPlaces: (at: number) => number,
  rows: number,
): Relation {
  const starts = new Map<Added, number>();
  let made = sent;
  for (const each of added) {
    starts.set(each, made.output.length);
    made = {
      kind: 'join',
      ...{ type: each.type, left: made, right: each.table, predicate: null, errorOnMany: false },
      conditions: each.conditions.map((condition) => ({
        ...condition,
        left: moved(condition.left, sentPlaces),
      })),
      output: [...made.output, ...each.table.output],
      rows: Math.round(rows),
    };
  }
  const chosen = places.map(({ of, at }) => {
    const place = of === null ? sentPlaces(at) : (starts.get(of) as number) + at;
    return column(place, made.output[place] as Expression['type']);
  });
  return project(made, chosen);
}
