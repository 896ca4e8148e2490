/**
 * The distribution pass. From the leaves up, each operator gets its inputs divided in a way in which it is right
 * to run it in every task by itself; where they are not, an exchange is put between, and a stage ends there.
 */
import { assertNever, invariant } from '../../../scheduler/core/index.ts';
import type { Expression } from '../logical/expression.ts';
import type { Relation, With } from '../logical/relation.ts';
import { Undistributable } from '../logical/undistributable.ts';
import type { PinnedTable } from '../physical/table.ts';
import type { DistributeContext } from './context.ts';
import type { Draft } from './draft.ts';
import { over, type Subplan } from './subplan.ts';
import { distributeAggregate } from './distribute-aggregate.ts';
import { distributeAsOf, distributeCross, distributeJoin } from './distribute-join.ts';
import { distributeScan } from './distribute-scan.ts';
import {
  distributeLimit,
  distributeSort,
  distributeTopN,
  distributeWindow,
} from './distribute-order.ts';
import { distributeDistinct, distributeSet } from './distribute-set.ts';
import { columnsOf } from './expressions.ts';
import { eachRelation } from './relations.ts';
import type { DistributeSettings } from './settings.ts';
import { expressionStats } from './column-stats.ts';
import { REPLICATED, isPartitioned, isPartitionedOn, throughProjection } from './partitioning.ts';
import { isHashable, widthOf } from './types.ts';

/** What a filter lets through where DuckDB does not say. */
const FILTER_SHARE = 0.2;
/** A list has about so many elements. */
const ELEMENTS = 4;
/** A common table of so few operators over small tables is computed by each reader. */
const REPEATED_OPERATORS = 8;

export class AddExchanges implements DistributeContext {
  readonly draft: Draft;
  readonly settings: DistributeSettings;
  readonly #tables: readonly PinnedTable[];
  /** How a reference to a common table is read. */
  readonly #commons = new Map<number, () => Subplan>();

  constructor(draft: Draft, settings: DistributeSettings, tables: readonly PinnedTable[]) {
    this.draft = draft;
    this.settings = settings;
    this.#tables = tables;
  }

  place(relation: Relation): Subplan {
    invariant(relation.kind !== 'input', 'what is placed is divided already');
    switch (relation.kind) {
      case 'scan':
        return distributeScan(relation, this.draft, this.#tables, this.settings);
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
        return distributeAggregate(this, relation, this.place(relation.input));
      case 'distinct':
        return distributeDistinct(this, relation, this.place(relation.input));
      case 'window':
        return distributeWindow(this, relation, this.place(relation.input));
      case 'sort':
        return distributeSort(this, relation, this.place(relation.input));
      case 'topN':
        return distributeTopN(this, relation, this.place(relation.input));
      case 'limit':
        return distributeLimit(this, relation, this.place(relation.input));
      case 'join':
        return distributeJoin(
          this,
          relation,
          this.place(relation.left),
          this.place(relation.right),
        );
      case 'cross':
        return distributeCross(
          this,
          relation,
          this.place(relation.left),
          this.place(relation.right),
        );
      case 'asof':
        return distributeAsOf(
          this,
          relation,
          this.place(relation.left),
          this.place(relation.right),
        );
      case 'positional':
        throw new Undistributable(
          'it has a POSITIONAL JOIN, which depends on the order of rows in their files',
        );
      case 'set':
        return distributeSet(
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
  #with({ cte, definition, body }: With): Subplan {
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
      made.partitioning.kind === 'replicated' &&
      this.draft.stages.length === stages &&
      operators.length <= REPEATED_OPERATORS &&
      operators.every(({ kind }) => kind !== 'ref' && kind !== 'with');
    const materialized = isCheap ? null : this.#materialized(made, cte, body);
    this.#commons.set(cte, () => materialized ?? this.place(definition));
    return this.place(body);
  }

  /** Where the body asks for its distinct values, as a correlated subquery does, and then joins by them, it is divided
   * by those from the start: both then find their rows in one place. */
  #materialized(made: Subplan, cte: number, body: Relation): Subplan {
    const keys = distinctColumns(body, cte)?.filter(({ type }) => isHashable(type)) ?? [];
    const pays =
      isPartitioned(made.partitioning) &&
      keys.length > 0 &&
      !isPartitionedOn(made.partitioning, keys);
    return pays ? this.draft.repartition(made, keys) : this.draft.materialize(made);
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

function constantRows(relation: Relation, rows: number): Subplan {
  const columns = relation.output.map((type) => ({ width: widthOf(type), distinct: rows }));
  return over([], {
    relation,
    partitioning: REPLICATED,
    rows,
    columns,
    nonDeterministic: null,
    isOneRow: rows <= 1,
  });
}

/** Looks at one row at a time, so it runs wherever the rows are. */
function projected(relation: Extract<Relation, { kind: 'project' }>, input: Subplan): Subplan {
  return {
    ...input,
    relation: { ...relation, input: input.relation },
    partitioning: throughProjection(input.partitioning, relation.expressions),
    columns: relation.expressions.map((each) => expressionStats(each, input.columns)),
    stage: null,
  };
}

function filtered(relation: Extract<Relation, { kind: 'filter' }>, input: Subplan): Subplan {
  const rows = relation.rows ?? input.rows * FILTER_SHARE;
  return {
    ...input,
    relation: { ...relation, input: input.relation },
    rows: Math.min(rows, input.rows),
    stage: null,
  };
}

function unnested(relation: Extract<Relation, { kind: 'unnest' }>, input: Subplan): Subplan {
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
