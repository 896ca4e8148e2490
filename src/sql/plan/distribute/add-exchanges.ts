/**
 * The distribution pass. It works from the leaves up: an operator runs in every task on its own if its inputs are
 * partitioned in a way that makes this correct; otherwise an exchange is added, which ends a stage.
 */
import { assertNever, invariant } from '../../../scheduler/core/index.ts';
import type { Expression } from '../logical/expression.ts';
import type {
  Aggregate,
  AsOfJoin,
  Cross,
  Distinct,
  Filter,
  Join,
  Relation,
  With,
} from '../logical/relation.ts';
import { Undistributable } from '../logical/undistributable.ts';
import type { PinnedTable } from '../physical/table.ts';
import type { DistributeContext } from './context.ts';
import type { Draft } from './draft.ts';
import { over, type Subplan } from './subplan.ts';
import { distributeAggregate } from './distribute-aggregate.ts';
import { distributeAsOf, distributeCross, distributeJoin } from './distribute-join.ts';
import { distributeScan, scannedRows } from './distribute-scan.ts';
import { distributeLimit, distributeSort, distributeTopN } from './distribute-order.ts';
import { belowChoice, distributeRanked } from './distribute-ranked.ts';
import { distributeResultSort, sampleNonDeterminism } from './distribute-sort.ts';
import { distributeDistinct, distributeSet } from './distribute-set.ts';
import { distributeWindow } from './distribute-window.ts';
import { columnsOf } from './expressions.ts';
import { eachRelation } from './relations.ts';
import type { DistributeSettings } from './settings.ts';
import { expressionStats, ofSome } from './column-stats.ts';
import { REPLICATED, isPartitioned, isPartitionedOn, throughProjection } from './partitioning.ts';
import { isHashable, widthOf } from './types.ts';
import { WantedKeys, type Wanted } from './wanted-keys.ts';

/** The selectivity of a filter for which DuckDB gives no estimate. */
const FILTER_SHARE = 0.2;
/** The estimated number of elements in a list. */
const ELEMENTS = 4;
/** A CTE of at most this many operators over small tables is computed by each reader. */
const REPEATED_OPERATORS = 8;

/** What writing a row costs, where reading and filtering one costs 1. */
const WRITING = 2;

export class AddExchanges implements DistributeContext {
  readonly draft: Draft;
  readonly settings: DistributeSettings;
  readonly #tables: readonly PinnedTable[];
  #wanted: WantedKeys | null = null;
  /** How a reference to a CTE is read. */
  readonly #commons = new Map<number, () => Subplan>();

  constructor(draft: Draft, settings: DistributeSettings, tables: readonly PinnedTable[]) {
    this.draft = draft;
    this.settings = settings;
    this.#tables = tables;
  }

  /** The same, where the order of the rows is that of the result. */
  placeResult(relation: Relation): Subplan {
    this.#wanted ??= new WantedKeys(relation);
    if (relation.kind === 'sort')
      return distributeResultSort(this, relation, this.place(relation.input));
    if (relation.kind === 'project') return projected(relation, this.placeResult(relation.input));
    if (relation.kind !== 'with') return this.place(relation);
    return this.#with(relation, (body) => this.placeResult(body));
  }

  place(relation: Relation): Subplan {
    invariant(relation.kind !== 'input', 'a relation is distributed twice');
    this.#wanted ??= new WantedKeys(relation);
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
        return this.#filter(relation);
      case 'unnest':
        return unnested(relation, this.place(relation.input));
      case 'aggregate':
      case 'distinct':
        return this.#grouped(relation, this.place(relation.input), this.#wanted.of(relation));
      case 'window':
        return distributeWindow(this, relation, this.place(relation.input));
      case 'sort':
        return distributeSort(this, relation, this.place(relation.input));
      case 'topN':
        return distributeTopN(this, relation, this.place(relation.input));
      case 'limit':
        return distributeLimit(this, relation, this.place(relation.input));
      case 'join':
      case 'cross':
      case 'asof':
        return this.#sides(relation, this.place(relation.left), this.place(relation.right));
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
        return this.#with(relation, (body) => this.place(body));
      case 'ref': {
        const read = this.#commons.get(relation.cte);
        invariant(read !== undefined, `common table ${relation.cte} is read but not defined`);
        return read();
      }
      default:
        return assertNever(relation);
    }
  }

  #grouped(relation: Aggregate | Distinct, input: Subplan, wanted: Wanted): Subplan {
    return relation.kind === 'aggregate'
      ? distributeAggregate(this, relation, input, wanted)
      : distributeDistinct(this, relation, input, wanted);
  }

  #sides(relation: Join | Cross | AsOfJoin, left: Subplan, right: Subplan): Subplan {
    if (relation.kind === 'join') return distributeJoin(this, relation, left, right);
    if (relation.kind === 'cross') return distributeCross(this, relation, left, right);
    return distributeAsOf(this, relation, left, right);
  }

  #filter(relation: Filter): Subplan {
    const pushed = belowChoice(relation);
    if (pushed !== null) return this.place(pushed);
    const { input: window } = relation;
    if (window.kind !== 'window') return filtered(relation, this.place(window));
    const input = this.place(window.input);
    const ranked = distributeRanked(this, relation, input);
    if (ranked === null) return filtered(relation, distributeWindow(this, window, input));
    const final = filtered(relation, ranked.window);
    this.draft.pairPartial(ranked.partial, final.relation);
    return final;
  }

  /** A CTE with several readers is computed once and materialized, unless it costs next to nothing. */
  #with({ cte, definition, body }: With, place: (body: Relation) => Subplan): Subplan {
    const readers = [...eachRelation(body)].filter(
      (each) => each.kind === 'ref' && each.cte === cte,
    ).length;
    if (readers <= 1) {
      this.#commons.set(cte, () => this.place(definition));
      return place(body);
    }
    const stages = this.draft.stages.length;
    const made = this.place(definition);
    const operators = [...eachRelation(definition)];
    // A definition that has ended a stage must not be distributed again: nothing would read the first stage.
    const isCheap =
      this.draft.stages.length === stages &&
      made.nonDeterministic === null &&
      operators.every(({ kind }) => kind !== 'ref' && kind !== 'with') &&
      (made.partitioning.kind === 'replicated'
        ? operators.reduce((sum, each) => sum + workOf(each), 0) <= REPEATED_OPERATORS
        : this.#isSoonerRead(made, definition, readers));
    const materialized = isCheap ? null : this.#materialized(made, cte, body);
    this.#commons.set(cte, () => materialized ?? this.place(definition));
    return place(body);
  }

  /** Whether reading the files for each reader is less work than writing its rows once and reading them. */
  #isSoonerRead({ rows }: Subplan, definition: Relation, readers: number): boolean {
    const operators = [...eachRelation(definition)];
    if (!operators.every((each) => isByRow(each))) return false;
    const scanned = operators.reduce(
      (sum, each) => sum + (each.kind === 'scan' ? scannedRows(each, this.#tables) : 0),
      0,
    );
    return (readers - 1) * scanned <= WRITING * rows;
  }

  /**
   * Where the body asks for distinct values of the CTE and then joins by them, as a correlated subquery does, the CTE
   * is repartitioned by these columns from the start: both operations then find their rows in the same task.
   */
  #materialized(made: Subplan, cte: number, body: Relation): Subplan {
    const keys = distinctColumns(body, cte)?.filter(({ type }) => isHashable(type)) ?? [];
    const pays =
      isPartitioned(made.partitioning) &&
      keys.length > 0 &&
      !isPartitionedOn(made.partitioning, keys);
    return pays ? this.draft.repartition(made, keys) : this.draft.materialize(made);
  }
}

/** In operators: each call of an aggregate is as much as a filter. */
function workOf(relation: Relation): number {
  return relation.kind === 'aggregate' ? Math.max(1, relation.calls.length) : 1;
}

/** Whether it makes each row of one row of a table. */
function isByRow(relation: Relation): boolean {
  if (relation.kind === 'set') return relation.operation === 'union' && relation.all;
  const { kind } = relation;
  return kind === 'scan' || kind === 'project' || kind === 'filter';
}

/** The columns of a CTE whose distinct values the body asks for. */
function distinctColumns(body: Relation, cte: number): readonly Expression[] | null {
  for (const each of eachRelation(body)) {
    if (each.kind !== 'distinct' || each.on !== null) continue;
    const columns = columnsBelow(each.input, columnsOf(each.output), cte);
    if (columns !== null) return columns;
  }
  return null;
}

/** The columns of the CTE that these columns are, if only projections of plain columns lie between. */
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

/** Works on one row at a time, so it runs wherever the rows are. */
function projected(relation: Extract<Relation, { kind: 'project' }>, input: Subplan): Subplan {
  const made = {
    relation: { ...relation, input: input.relation },
    partitioning: throughProjection(input.partitioning, relation.expressions),
    columns: relation.expressions.map((each) => expressionStats(each, input.columns)),
  };
  const nonDeterministic = sampleNonDeterminism(relation.expressions);
  return nonDeterministic === null
    ? { ...input, ...made, stage: null }
    : over([input], { ...input, ...made, nonDeterministic });
}

function filtered(relation: Filter, input: Subplan): Subplan {
  const rows = relation.rows ?? input.rows * FILTER_SHARE;
  return {
    ...input,
    relation: { ...relation, input: input.relation },
    rows: Math.min(rows, input.rows),
    columns: ofSome(input.columns),
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
