/**
 * Finds the scans of which a join with a small table leaves some ranges of rows only. Sales stand in the order of days, and a query
 * about one year joins them with the days of that year: of tasks with as many rows each, one would have most of what is needed.
 * The keys of the small table can be looked up while the query is planned, and DuckDB skips the row groups without any.
 *
 * What is found decides how balanced tasks are, never which rows come out: each row is read by one task all the same.
 */
import type { Expression } from '../logical/expression.ts';
import type { Join, Relation } from '../logical/relation.ts';
import type { LookedUp } from '../physical/plan.ts';
import type { PinnedTable } from '../physical/table.ts';
import { scanBytes, scanRows } from './distribute-scan.ts';
import type { Draft, DraftStage, ScanLeaf } from './draft.ts';
import { cannotFail, column } from './expressions.ts';
import { eachRelation, project } from './relations.ts';
import { dropsLeft, dropsRight } from './runtime-filters.ts';
import { filterableBelow, sourceBelow } from './trace-column.ts';

/** More of a table is not read while a query is planned. */
const LOOKED_UP_ROWS_MAX = 100_000;
const LOOKED_UP_BYTES_MAX = 4 * 1024 * 1024;

export interface DraftLookup {
  readonly scans: readonly LookedUp[];
  /** One column: the keys. It reads `KEYS_TABLE`. */
  readonly keys: Relation;
  readonly leaf: ScanLeaf;
}

/** The same name in all of them: what several joins look up is then the same text. */
export const KEYS_TABLE = 'small';

export function keyLookups(draft: Draft): readonly DraftLookup[] {
  return draft.stages.flatMap((stage) =>
    [...eachRelation(stage.relation)].flatMap((each) =>
      each.kind === 'join' ? ofJoin(draft, stage, each) : [],
    ),
  );
}

function ofJoin(draft: Draft, stage: DraftStage, join: Join): readonly DraftLookup[] {
  const { type, left, right } = join;
  return join.conditions.flatMap((pair) => {
    if (pair.comparison !== '=') return [];
    return [
      ...(dropsLeft(type) ? between(draft, stage, left, pair.left, right, pair.right) : []),
      ...(dropsRight(type) ? between(draft, stage, right, pair.right, left, pair.left) : []),
    ];
  });
}

function between(
  draft: Draft,
  { id, relation: all }: DraftStage,
  filtered: Relation,
  key: Expression,
  other: Relation,
  otherKey: Expression,
): readonly DraftLookup[] {
  if (key.kind !== 'column' || otherKey.kind !== 'column') return [];
  const places = filterableBelow(filtered, key.index).flatMap((place) => {
    const leaf = draft.leaves.get(place.leaf);
    if (leaf?.kind !== 'scan' || !leaf.isPartitioned || readers(all, place.leaf) > 1) return [];
    const name = leaf.scan.names[leaf.scan.columns[place.column] ?? -1];
    return name !== undefined && ascends(leaf.table, name)
      ? [{ stage: id, relation: place.leaf, column: name }]
      : [];
  });
  const chosen = places.length === 0 ? null : chosenKeys(draft, other, otherKey.index);
  return chosen === null ? [] : [{ scans: places, ...chosen }];
}

function readers(relation: Relation, leaf: string): number {
  return [...eachRelation(relation)].filter(
    (each) => each.kind === 'input' && each.relation === leaf,
  ).length;
}

function ascends({ clusters = [], ascending = [] }: PinnedTable, name: string): boolean {
  return [...clusters, ...ascending].some((each) => each.column === name);
}

type Chosen = Pick<DraftLookup, 'keys' | 'leaf'>;

/** The values of a column, as filters of a small table choose them that every task reads; null if nothing like that is below. */
function chosenKeys(draft: Draft, relation: Relation, at: number): Chosen | null {
  const rows = rowsOf(draft, relation);
  if (rows !== null) {
    const keys = project(rows.relation, [column(at, relation.output[at] as Expression['type'])]);
    return rows.isFiltered ? { keys, leaf: rows.leaf } : null;
  }
  const below = sourceBelow(relation, at);
  return below === null ? null : chosenKeys(draft, below.input, below.column);
}

interface Rows extends Pick<Chosen, 'leaf'> {
  readonly relation: Relation;
  readonly isFiltered: boolean;
}

/**
 * What chooses rows and columns of such a table. Conditions that might fail, or take long, are left out: then there are keys of more
 * rows.
 */
function rowsOf(draft: Draft, relation: Relation): Rows | null {
  if (relation.kind === 'input') {
    const leaf = draft.leaves.get(relation.relation);
    if (leaf?.kind !== 'scan' || leaf.isPartitioned || leaf.table.format !== 'parquet') return null;
    if (scanRows(leaf) > LOOKED_UP_ROWS_MAX) return null;
    if (scanBytes(leaf.scan, [leaf.table]) > LOOKED_UP_BYTES_MAX) return null;
    return { relation: { ...relation, relation: KEYS_TABLE }, isFiltered: false, leaf };
  }
  if (relation.kind !== 'filter' && relation.kind !== 'project') return null;
  const input = rowsOf(draft, relation.input);
  if (input === null) return null;
  if (relation.kind === 'project')
    return relation.expressions.every(cannotFail)
      ? { ...input, relation: { ...relation, input: input.relation } }
      : null;
  const conditions = relation.conditions.filter(cannotFail);
  if (conditions.length === 0) return input;
  const filter = { ...relation, input: input.relation, conditions };
  return { ...input, relation: filter, isFiltered: true };
}
