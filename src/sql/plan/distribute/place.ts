/**
 * The distribution pass. From the leaves up, each operator gets its inputs divided in a way in which it is right
 * to run it in every task by itself; where they are not, an exchange is put between, and a stage ends there.
 */
import { assertNever, invariant } from '../../../scheduler/core/index.ts';
import type { Expression } from '../logical/expression.ts';
import type { Relation, With } from '../logical/relation.ts';
import { Undistributable } from '../logical/undistributable.ts';
import type { PinnedTable } from '../physical/table.ts';
import type { PlaceContext } from './context.ts';
import type { Draft } from './draft.ts';
import { over, type Part } from './part.ts';
import { placeAggregate } from './place-aggregate.ts';
import { placeAsOf, placeCross, placeJoin } from './place-join.ts';
import { placeScan } from './place-scan.ts';
import {
  placeDistinct,
  placeLimit,
  placeSet,
  placeSort,
  placeTopN,
  placeWindow,
} from './place-rows.ts';
import { columnsOf } from './expressions.ts';
import { eachRelation } from './relations.ts';
import type { DistributeSettings } from './settings.ts';
import { expressionSize } from './sizes.ts';
import { REPLICATED, isDivided, isDividedBy, throughColumns } from './spread.ts';
import { isHashable, widthOf } from './types.ts';

/** What a filter lets through where DuckDB does not say. */
const FILTER_SHARE = 0.2;
/** A list has about so many elements. */
const ELEMENTS = 4;
/** A common table of so few operators over small tables is computed by each reader. */
const REPEATED_OPERATORS = 8;

export class Placing implements PlaceContext {
  readonly draft: Draft;
  readonly settings: DistributeSettings;
  readonly #tables: readonly PinnedTable[];
  /** How a reference to a common table is read. */
  readonly #commons = new Map<number, () => Part>();

  constructor(draft: Draft, settings: DistributeSettings, tables: readonly PinnedTable[]) {
    this.draft = draft;
    this.settings = settings;
    this.#tables = tables;
  }

  place(relation: Relation): Part {
    invariant(relation.kind !== 'input', 'what is placed is divided already');
    switch (relation.kind) {
      case 'scan':
        return placeScan(relation, this.draft, this.#tables, this.settings);
      case 'values':
        return constantRows(relation, relation.lists.length);
      case 'empty':
        return constantRows(relation, 0);
      case 'project':
        return projected(relation, this.place(relation.input));
      case 'filter':
        return filtered(relation, this.place(relation.input));
      case 'unnest':
        return unnested(relation, this.place(relation.input));
      case 'aggregate':
        return placeAggregate(this, relation, this.place(relation.input));
      case 'distinct':
        return placeDistinct(this, relation, this.place(relation.input));
      case 'window':
        return placeWindow(this, relation, this.place(relation.input));
      case 'sort':
        return placeSort(this, relation, this.place(relation.input));
      case 'topN':
        return placeTopN(this, relation, this.place(relation.input));
      case 'limit':
        return placeLimit(this, relation, this.place(relation.input));
      case 'join':
        return placeJoin(this, relation, this.place(relation.left), this.place(relation.right));
      case 'cross':
        return placeCross(this, relation, this.place(relation.left), this.place(relation.right));
      case 'asof':
        return placeAsOf(this, relation, this.place(relation.left), this.place(relation.right));
      case 'positional':
        throw new Undistributable(
          'it has a POSITIONAL JOIN, which goes by the order of rows in their files',
        );
      case 'set':
        return placeSet(
          this,
          relation,
          relation.inputs.map((input) => this.place(input)),
        );
      case 'with':
        return this.#with(relation);
      case 'ref': {
        const read = this.#commons.get(relation.cte);
        invariant(read !== undefined, `common table ${relation.cte} is read but not defined`);
        return read();
      }
      default:
        return assertNever(relation);
    }
  }

  /** A common table is made once and kept, unless only one reads it or it costs next to nothing. */
  #with({ cte, definition, body }: With): Part {
    const readers = [...eachRelation(body)].filter(
      (each) => each.kind === 'ref' && each.cte === cte,
    ).length;
    if (readers <= 1) {
      this.#commons.set(cte, () => this.place(definition));
      return this.place(body);
    }
    const stages = this.draft.stages.length;
    const made = this.place(definition);
    const operators = [...eachRelation(definition)];
    // What has ended a stage must not be placed again: nobody would read the first one.
    const isCheap =
      made.spread.kind === 'replicated' &&
      this.draft.stages.length === stages &&
      operators.length <= REPEATED_OPERATORS &&
      operators.every(({ kind }) => kind !== 'ref' && kind !== 'with');
    const kept = isCheap ? null : this.#kept(made, cte, body);
    this.#commons.set(cte, () => kept ?? this.place(definition));
    return this.place(body);
  }

  /** Where the body asks for its distinct values, as a correlated subquery does, and then joins by them, it is divided
   * by those from the start: both then find their rows in one place. */
  #kept(made: Part, cte: number, body: Relation): Part {
    const keys = distinctColumns(body, cte)?.filter(({ type }) => isHashable(type)) ?? [];
    const pays = isDivided(made.spread) && keys.length > 0 && !isDividedBy(made.spread, keys);
    return pays ? this.draft.hashed(made, keys) : this.draft.kept(made);
  }
}

/** Columns of a common table of which the distinct values are asked for. */
function distinctColumns(body: Relation, cte: number): readonly Expression[] | null {
  for (const each of eachRelation(body)) {
    if (each.kind !== 'distinct' || each.on !== null) continue;
    const columns = columnsBelow(each.input, columnsOf(each.output), cte);
    if (columns !== null) return columns;
  }
  return null;
}

/** What columns are in the common table, if nothing but a choice of columns stands between. */
function columnsBelow(
  relation: Relation,
  columns: readonly Expression[],
  cte: number,
): readonly Expression[] | null {
  if (relation.kind === 'ref') return relation.cte === cte ? columns : null;
  if (relation.kind !== 'project') return null;
  const below = columns.map((each) =>
    each.kind === 'column' ? relation.expressions[each.index] : undefined,
  );
  const isChoice = below.every((each) => each?.kind === 'column');
  return isChoice ? columnsBelow(relation.input, below, cte) : null;
}

function constantRows(relation: Relation, rows: number): Part {
  const columns = relation.output.map((type) => ({ width: widthOf(type), distinct: rows }));
  return over([], {
    relation,
    spread: REPLICATED,
    rows,
    columns,
    unstable: null,
    isOneRow: rows <= 1,
  });
}

/** Looks at one row at a time, so it runs wherever the rows are. */
function projected(relation: Extract<Relation, { kind: 'project' }>, input: Part): Part {
  return {
    ...input,
    relation: { ...relation, input: input.relation },
    spread: throughColumns(input.spread, relation.expressions),
    columns: relation.expressions.map((each) => expressionSize(each, input.columns)),
    stage: null,
  };
}

function filtered(relation: Extract<Relation, { kind: 'filter' }>, input: Part): Part {
  const rows = relation.rows ?? input.rows * FILTER_SHARE;
  return {
    ...input,
    relation: { ...relation, input: input.relation },
    rows: Math.min(rows, input.rows),
    stage: null,
  };
}

function unnested(relation: Extract<Relation, { kind: 'unnest' }>, input: Part): Part {
  const elements = relation.expressions.map(({ type }) => ({
    width: widthOf(type) / ELEMENTS,
    distinct: Infinity,
  }));
  return {
    ...input,
    relation: { ...relation, input: input.relation },
    rows: relation.rows ?? input.rows * ELEMENTS,
    columns: [...input.columns, ...elements],
    isOneRow: false,
    scan: null,
    stage: null,
  };
}
