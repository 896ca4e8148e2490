/**
 * Finds the scans that can be filtered by the keys of a join's other side. The keys are known when the stage that
 * produces them has ended; the stage of the scan then waits for it, so there must be no cycle, and it should pay.
 */
import type { Join, JoinCondition, JoinType, Relation } from '../logical/relation.ts';
import { sameType, type SqlType } from '../logical/type.ts';
import type { RuntimeFilter } from '../physical/plan.ts';
import { scanBytes, scanRows } from './distribute-scan.ts';
import type { Draft, DraftStage, ScanLeaf } from './draft.ts';
import { eachRelation } from './relations.ts';
import type { DistributeSettings } from './settings.ts';
import { filterableBelow, sourceOf, type LeafColumn } from './trace-column.ts';

/** A scan with fewer rows is read as fast as it is filtered. */
const SCAN_ROWS_MIN = 100_000;
/** The stage of the keys must seem to have so many times fewer rows than the scan. */
const ROWS_RATIO = 4;
/** A stage keeps all slots busy by itself, so waiting for another costs little, unless that one reads much more. */
const BYTES_RATIO = 4;
/** For a stage; each costs a condition for every row. */
const PER_STAGE_MAX = 4;

/** Types whose text is exact, whose equality is that of their bytes, and which exchanges keep as they are. */
const KEY_TYPES: ReadonlySet<string> = new Set([
  ...['BOOLEAN', 'TINYINT', 'SMALLINT', 'INTEGER', 'BIGINT'],
  ...['UTINYINT', 'USMALLINT', 'UINTEGER', 'UBIGINT'],
  ...['DECIMAL', 'VARCHAR', 'UUID', 'DATE', 'TIMESTAMP', 'TIMESTAMP_NS'],
]);

function isKeyType({ id, collation }: SqlType): boolean {
  return KEY_TYPES.has(id) && collation === undefined;
}

/** In the order of stages. */
export function runtimeFilters(
  draft: Draft,
  { runtimeFilters: level }: Pick<DistributeSettings, 'runtimeFilters'>,
): readonly RuntimeFilter[] {
  if (level === 0) return [];
  const stages = new Stages(draft);
  const found = draft.stages.flatMap((stage) =>
    [...eachRelation(stage.relation)].flatMap((each) =>
      each.kind === 'join' ? ofJoin(stages, stage, each) : [],
    ),
  );
  const chosen: RuntimeFilter[] = [];
  const byRows = found.toSorted((a, b) => stages.rows(a) - stages.rows(b));
  for (const filter of byRows) {
    const others = chosen.filter(({ stage }) => stage === filter.stage);
    if (others.length >= PER_STAGE_MAX || others.some((each) => isSame(each, filter))) continue;
    // In the order in which they are taken, so that two of them cannot wait for each other.
    if (stages.waits(filter.keys.stage, filter.stage)) continue;
    if (level === 1 && !stages.pays(filter)) continue;
    chosen.push(filter);
    stages.wait(filter.stage, filter.keys.stage);
  }
  return chosen.toSorted((a, b) => a.stage - b.stage);
}

function isSame(one: RuntimeFilter, other: RuntimeFilter): boolean {
  const isScan = one.relation === other.relation && one.column === other.column;
  return isScan && one.keys.stage === other.keys.stage && one.keys.column === other.keys.column;
}

/** The filters of both sides of a join, as far as its type allows. */
function ofJoin(stages: Stages, stage: DraftStage, join: Join): readonly RuntimeFilter[] {
  return join.conditions.flatMap((condition) => {
    const sides = keysOf(condition);
    if (sides === null) return [];
    const [left, right] = sides;
    return [
      ...(dropsLeft(join.type) ? between(stages, stage, join.left, left, join.right, right) : []),
      ...(dropsRight(join.type) ? between(stages, stage, join.right, right, join.left, left) : []),
    ].map((filter) => ({
      ...filter,
      matchesNull: condition.comparison === 'IS NOT DISTINCT FROM',
    }));
  });
}

/** The columns that must be equal; null if they are not plain ones of a type that can be filtered. */
function keysOf({ left, right, comparison }: JoinCondition): readonly [number, number] | null {
  if (comparison !== '=' && comparison !== 'IS NOT DISTINCT FROM') return null;
  if (left.kind !== 'column' || right.kind !== 'column') return null;
  const isKey = isKeyType(left.type) && isKeyType(right.type) && sameType(left.type, right.type);
  return isKey ? [left.index, right.index] : null;
}

/** Whether a left row without a match does not come out. A mark or a NULL for it would. */
export function dropsLeft(type: JoinType): boolean {
  return type === 'inner' || type === 'semi' || type === 'right';
}

/**
 * Whether a right row without a match is not needed. Whether a mark is NULL depends on right rows that match nothing,
 * so a mark join needs all of them.
 */
export function dropsRight(type: JoinType): boolean {
  return (
    type === 'inner' || type === 'semi' || type === 'left' || type === 'anti' || type === 'single'
  );
}

type Found = Omit<RuntimeFilter, 'matchesNull'>;

/** Filters of the scans below `filtered` by the values of a column of `keys`. */
function between(
  stages: Stages,
  { id }: DraftStage,
  filtered: Relation,
  column: number,
  keys: Relation,
  keyColumn: number,
): readonly Found[] {
  const source = sourceOf(keys, keyColumn);
  const from = source === null ? undefined : stages.draft.leaves.get(source.leaf);
  if (source === null || from?.kind !== 'stage') return [];
  const type = keys.output[keyColumn] as SqlType;
  return stages.scansBelow(filterableBelow(filtered, column)).flatMap((scan) => {
    // DuckDB filters a scan of the same fragment by itself.
    if (scan.stage === id) return [];
    const { names, columns, types } = scan.leaf.scan;
    const place = columns[scan.column] ?? null;
    if (place === null || !sameType(types[place] as SqlType, type)) return [];
    return [
      {
        stage: scan.stage,
        relation: scan.relation,
        column: scan.column,
        type: type.sql,
        name: `${scan.leaf.table.name}.${names[place] ?? ''}`,
        keys: { stage: from.stage, column: source.column },
      },
    ];
  });
}

interface FilteredScan {
  readonly stage: number;
  readonly relation: string;
  readonly column: number;
  readonly leaf: ScanLeaf;
}

/** The stages of a draft: which reads which, which waits for which, and what they read. */
export class Stages {
  readonly draft: Draft;
  /** The stages in which a leaf occurs, once for each time. */
  readonly #places = new Map<string, number[]>();
  /** For each stage, those that it waits for. */
  readonly #before: Set<number>[];

  constructor(draft: Draft) {
    this.draft = draft;
    this.#before = draft.stages.map(() => new Set());
    for (const { id, relation } of draft.stages) {
      for (const each of eachRelation(relation)) {
        if (each.kind !== 'input') continue;
        const places = this.#places.get(each.relation) ?? [];
        this.#places.set(each.relation, [...places, id]);
        const leaf = draft.leaves.get(each.relation);
        if (leaf?.kind === 'stage') this.#before[id]?.add(leaf.stage);
      }
    }
  }

  /** The scans that these leaves are, perhaps through exchanges. What has several readers is needed by each of them. */
  scansBelow(columns: readonly LeafColumn[]): readonly FilteredScan[] {
    return columns.flatMap(({ leaf: name, column }) => {
      const leaf = this.draft.leaves.get(name);
      const [stage, ...others] = this.#places.get(name) ?? [];
      if (leaf === undefined || stage === undefined || others.length > 0) return [];
      if (leaf.kind === 'scan')
        return leaf.isPartitioned ? [{ stage, relation: name, column, leaf }] : [];
      const made = this.draft.stages[leaf.stage];
      if (made === undefined || this.readers(leaf.stage) !== 1) return [];
      return this.scansBelow(filterableBelow(made.relation, column));
    });
  }

  /** How many times a stage is read, in whatever way. */
  readers(stage: number): number {
    let count = 0;
    for (const [name, places] of this.#places) {
      const leaf = this.draft.leaves.get(name);
      if (leaf?.kind === 'stage' && leaf.stage === stage) count += places.length;
    }
    return count;
  }

  /** Whether `stage` waits for `other`, or is it. */
  waits(stage: number, other: number): boolean {
    return this.#upTo(stage).has(other);
  }

  wait(stage: number, forOther: number): void {
    this.#before[stage]?.add(forOther);
  }

  /** The stage, and all that it waits for. */
  #upTo(stage: number): ReadonlySet<number> {
    const all = new Set([stage]);
    for (const each of all) for (const before of this.#before[each] ?? []) all.add(before);
    return all;
  }

  /** Estimated rows of the stage that has the keys. */
  rows({ keys }: RuntimeFilter): number {
    return this.draft.stages[keys.stage]?.estimate.rows ?? Infinity;
  }

  /** The keys seem to be few, compared with a large scan, and soon known. */
  pays(filter: RuntimeFilter): boolean {
    const leaf = this.draft.leaves.get(filter.relation);
    if (leaf?.kind !== 'scan') return false;
    const scanned = scanRows(leaf);
    const rows = this.rows(filter);
    if (scanned < SCAN_ROWS_MIN || rows * ROWS_RATIO > scanned) return false;
    const already = this.#upTo(filter.stage);
    // It joins its rows with the same keys itself, as correlated subqueries do, and DuckDB filters by these.
    if (already.has(this.#madeBy(filter.keys.stage))) return false;
    const bytes = scanBytes(leaf.scan, [leaf.table]);
    return this.#moreBytes(filter.stage, filter.keys.stage) <= BYTES_RATIO * bytes;
  }

  /** What `other` and all that it waits for read, beside what `stage` waits for anyway. */
  #moreBytes(stage: number, other: number): number {
    const already = this.#upTo(stage);
    const more = [...this.#upTo(other)].filter((each) => !already.has(each));
    return more.reduce((sum, each) => sum + this.#readBytes(each), 0);
  }

  /** Whether `stage` reads much, compared with what it would have to wait for. */
  waitsLittle(stage: number, other: number): boolean {
    return this.#moreBytes(stage, other) <= BYTES_RATIO * this.#readBytes(stage);
  }

  /** Whether its size is estimated: it is known of a table whose rows are only passed on. */
  isGuess(stage: number): boolean {
    const { relation } = this.draft.stages[stage] as DraftStage;
    return [...eachRelation(relation)].some((each) => {
      if (each.kind !== 'input') return each.kind !== 'project';
      const leaf = this.draft.leaves.get(each.relation);
      return leaf?.kind !== 'scan' || leaf.scan.filters.length > 0;
    });
  }

  /** The stage that has made these rows: one that only passes them on has the same keys. */
  #madeBy(stage: number): number {
    const { relation } = this.draft.stages[stage] as DraftStage;
    const leaf = relation.kind === 'input' ? this.draft.leaves.get(relation.relation) : undefined;
    return leaf?.kind === 'stage' ? this.#madeBy(leaf.stage) : stage;
  }

  #readBytes(stage: number): number {
    let bytes = 0;
    for (const [name, places] of this.#places) {
      const leaf = this.draft.leaves.get(name);
      if (leaf?.kind === 'scan' && places.includes(stage))
        bytes += scanBytes(leaf.scan, [leaf.table]);
    }
    return bytes;
  }
}
