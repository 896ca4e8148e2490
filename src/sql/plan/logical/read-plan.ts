/**
 * Reads DuckDB's optimised plan (`json_serialize_plan(..., optimize := true)`, with some optimizers disabled) into
 * relations. Anything unknown is refused with `Undistributable`, never guessed.
 */
import type { SessionValues } from '../physical/plan.ts';
import { checkColumns } from './check-columns.ts';
import { zipEstimates } from './estimates.ts';
import type { Expression } from './expression.ts';
import { narrowed } from './narrowed.ts';
import { PlanNode } from './plan-node.ts';
import { distinctGroups, readAggregate } from './read-aggregate.ts';
import type { ReadContext } from './read-context.ts';
import { readExpression, readOrder } from './read-expression.ts';
import { readJoin, type JoinParts } from './read-join.ts';
import { readSample } from './read-sample.ts';
import { oneRow, readChunk, readScan } from './read-scan.ts';
import { readType } from './read-type.ts';
import { readWindow } from './read-window.ts';
import type { Aggregate, Distinct, Limit, Relation, SetOperation, With } from './relation.ts';
import { BIGINT, sameType, type SqlType } from './type.ts';
import { Undistributable, unknownPlan } from './undistributable.ts';
import { isLateralUnnest, readLateralUnnest, readUnnest, unnestedRows } from './unnested-rows.ts';

export function readLogicalPlan(
  planJson: string,
  estimatesJson: string | null,
  session: SessionValues,
): Relation {
  const plan = PlanNode.parse(planJson, 'plan');
  if (plan.at('error').bool()) {
    const [line] = plan.at('error_message').text().split('\n');
    throw new Undistributable(`DuckDB cannot write its plan: ${line}`);
  }
  const [root, ...others] = plan.at('plans').list();
  if (root === undefined || others.length > 0) {
    throw new Undistributable('it is more than one statement');
  }
  const estimates = zipEstimates(root, estimatesJson);
  const relation = new PlanReader(session, estimates).read(root);
  checkColumns(relation);
  return relation;
}

/** Known operators that are not distributed. */
const RARE: Readonly<Record<string, string>> = {
  LOGICAL_RECURSIVE_CTE: 'it is recursive',
  LOGICAL_PIVOT: 'it has a PIVOT',
};

/** A join that removed duplicates from one side, seen from the other side. */
interface DelimScope {
  readonly cte: number;
  readonly columns: readonly Expression[];
  readonly input: readonly SqlType[];
}

class PlanReader {
  readonly #context: ReadContext;
  readonly #estimates: ReadonlyMap<string, number>;
  readonly #ctes = new Map<number, { readonly cte: number; readonly output: readonly SqlType[] }>();
  #delim: DelimScope | null = null;
  /** Calls of `unnest` in FROM that are not joined with their rows yet. */
  #unnests = 0;
  #lastParam = -1;
  #lastCte = -1;

  constructor(session: SessionValues, estimates: ReadonlyMap<string, number>) {
    this.#context = { session, nextParam: () => ++this.#lastParam, places: null };
    this.#estimates = estimates;
  }

  read(node: PlanNode): Relation {
    const kind = node.at('type').text();
    switch (kind) {
      case 'LOGICAL_GET':
        return this.#get(node);
      case 'LOGICAL_PROJECTION':
        return this.#project(node);
      case 'LOGICAL_FILTER':
        return this.#filter(node);
      case 'LOGICAL_AGGREGATE_AND_GROUP_BY':
        return this.#aggregate(node);
      case 'LOGICAL_COMPARISON_JOIN':
      case 'LOGICAL_ANY_JOIN':
      case 'LOGICAL_ASOF_JOIN':
      case 'LOGICAL_CROSS_PRODUCT':
      case 'LOGICAL_POSITIONAL_JOIN':
        return readJoin(node, this.#sides(node));
      case 'LOGICAL_DELIM_JOIN':
        return this.#delimJoin(node);
      case 'LOGICAL_DELIM_GET':
        return this.#delimGet(node);
      case 'LOGICAL_UNION':
      case 'LOGICAL_INTERSECT':
      case 'LOGICAL_EXCEPT':
        return this.#setOperation(node, kind);
      case 'LOGICAL_DISTINCT':
        return this.#distinct(node);
      case 'LOGICAL_ORDER_BY':
      case 'LOGICAL_TOP_N':
      case 'LOGICAL_LIMIT':
        return this.#ordered(node, kind);
      default:
        return this.#rare(node, kind);
    }
  }

  #rare(node: PlanNode, kind: string): Relation {
    switch (kind) {
      case 'LOGICAL_WINDOW': {
        const input = this.#input(node);
        const calls = node
          .at('expressions')
          .list()
          .map((call) => readWindow(call, this.#context));
        const output = [...input.output, ...calls.map(({ type }) => type)];
        return { kind: 'window', input, calls, output, rows: this.#rows(node) ?? input.rows };
      }
      case 'LOGICAL_SAMPLE':
        return readSample(node, this.#input(node), this.#rows(node));
      case 'LOGICAL_UNNEST':
        return readUnnest(node, this.#input(node), this.#context, this.#rows(node));
      case 'LOGICAL_MATERIALIZED_CTE':
        return this.#with(node);
      case 'LOGICAL_CTE_REF':
        return this.#reference(node);
      case 'LOGICAL_EMPTY_RESULT': {
        const output = node.at('return_types').list().map(readType);
        return { kind: 'empty', output, rows: 0 };
      }
      case 'LOGICAL_DUMMY_SCAN':
        return oneRow(1);
      case 'LOGICAL_EXPRESSION_GET':
        return this.#values(node);
      case 'LOGICAL_CHUNK_GET':
        return readChunk(node);
      default:
        throw RARE[kind] === undefined
          ? unknownPlan(`it has the operator ${kind}`)
          : new Undistributable(RARE[kind]);
    }
  }

  #rows(node: PlanNode): number | null {
    return this.#estimates.get(node.path) ?? null;
  }

  #expressions(nodes: readonly PlanNode[]): Expression[] {
    return nodes.map((node) => readExpression(node, this.#context));
  }

  #inputs(node: PlanNode): readonly PlanNode[] {
    return node.at('children').list();
  }

  #input(node: PlanNode): Relation {
    const [input, ...others] = this.#inputs(node);
    if (input === undefined || others.length > 0) throw node.odd('single input');
    return this.read(input);
  }

  #pair(node: PlanNode): readonly [PlanNode, PlanNode] {
    const [left, right, ...others] = this.#inputs(node);
    if (left === undefined || right === undefined || others.length > 0)
      throw node.odd('two inputs');
    return [left, right];
  }

  #sides(node: PlanNode): JoinParts {
    const [left, right] = this.#pair(node);
    return {
      left: this.read(left),
      right: this.read(right),
      context: this.#context,
      rows: this.#rows(node),
    };
  }

  #get(node: PlanNode): Relation {
    if (!isLateralUnnest(node)) return readScan(node, this.#context, this.#rows(node));
    this.#unnests += 1;
    return readLateralUnnest(node, this.#context, (below) => this.read(below));
  }

  #project(node: PlanNode): Relation {
    const input = this.#input(node);
    const expressions = this.#expressions(node.at('expressions').list());
    // For example the column list of a view: nothing changes.
    const isSame =
      expressions.length === input.output.length &&
      expressions.every((expression, i) => expression.kind === 'column' && expression.index === i);
    if (isSame) return input;
    const output = expressions.map(({ type }) => type);
    return { kind: 'project', input, expressions, output, rows: this.#rows(node) ?? input.rows };
  }

  #filter(node: PlanNode): Relation {
    const input = this.#input(node);
    const conditions = this.#expressions(node.at('expressions').list());
    const rows = this.#rows(node);
    const filter: Relation = { kind: 'filter', input, conditions, output: input.output, rows };
    return narrowed(filter, node.at('projection_map'));
  }

  #aggregate(node: PlanNode): Aggregate {
    const groups = this.#expressions(node.at('groups').list());
    const places = (list: PlanNode): number[] =>
      list.list().map((place) => {
        const index = place.index();
        if (index >= groups.length) throw place.odd('group');
        return index;
      });
    const sets = node.at('grouping_sets').list().map(places);
    const calls = node
      .at('expressions')
      .list()
      .map((call) => readAggregate(call, this.#context));
    const grouping = node.at('grouping_functions').list().map(places);
    return distinctGroups({
      kind: 'aggregate',
      input: this.#input(node),
      groups,
      sets: sets.length > 0 ? sets : [groups.map((_, i) => i)],
      calls,
      grouping,
      output: [...groups, ...calls].map(({ type }) => type).concat(grouping.map(() => BIGINT)),
      rows: this.#rows(node),
    });
  }

  /** One side is kept; the other side refers to its distinct values, which is written with a CTE reference. */
  #delimJoin(node: PlanNode): Relation {
    const isFlipped = node.at('delim_flipped').bool();
    const [leftNode, rightNode] = this.#pair(node);
    const definition = this.read(isFlipped ? rightNode : leftNode);
    const cte = ++this.#lastCte;
    const columns = this.#expressions(node.at('duplicate_eliminated_columns').list());
    const outer = this.#delim;
    this.#delim = { cte, columns, input: definition.output };
    const unnests = this.#unnests;
    const other = this.read(isFlipped ? leftNode : rightNode);
    this.#delim = outer;
    const rows = this.#rows(node);
    const kept: Relation = { kind: 'ref', cte, output: definition.output, rows: definition.rows };
    const left = isFlipped ? other : kept;
    const right = isFlipped ? kept : other;
    const body = readJoin(node, { left, right, context: this.#context, rows });
    if (this.#unnests > unnests) {
      this.#unnests = unnests;
      return unnestedRows(body, cte, definition, columns);
    }
    return { kind: 'with', cte, definition, body, output: body.output, rows };
  }

  #delimGet(node: PlanNode): Relation {
    const scope = this.#delim;
    if (scope === null) throw node.odd('join around it');
    const types = node.at('chunk_types').list().map(readType);
    const output = scope.columns.map(({ type }) => type);
    const isSame =
      types.length === output.length &&
      types.every((type, i) => output[i] !== undefined && sameType(type, output[i]));
    if (!isSame) throw node.odd('columns of the join around it');
    const rows = this.#rows(node);
    const input: Relation = {
      kind: 'project',
      input: { kind: 'ref', cte: scope.cte, output: scope.input, rows: null },
      expressions: scope.columns,
      output,
      rows: null,
    };
    return { kind: 'distinct', input, on: null, order: [], output, rows };
  }

  #setOperation(node: PlanNode, kind: string): SetOperation {
    const inputs = this.#inputs(node).map((input) => this.read(input));
    const [first, second] = inputs;
    const operation = (['union', 'intersect', 'except'] as const).find(
      (name) => kind === `LOGICAL_${name.toUpperCase()}`,
    );
    if (first === undefined || second === undefined || operation === undefined) {
      throw node.odd('inputs');
    }
    if (inputs.length > 2 && operation !== 'union') throw node.odd('two inputs');
    return {
      kind: 'set',
      operation,
      all: node.at('setop_all').bool(),
      inputs,
      output: first.output,
      rows: this.#rows(node),
    };
  }

  #distinct(node: PlanNode): Distinct {
    const input = this.#input(node);
    const kind = node.at('distinct_type').text();
    if (kind !== 'DISTINCT' && kind !== 'DISTINCT_ON') throw node.odd('kind of DISTINCT');
    const targets = this.#expressions(node.at('distinct_targets').list());
    const order = node.at('order_by');
    const named = new Set(targets.map((target) => (target.kind === 'column' ? target.index : -1)));
    const isWhole = kind === 'DISTINCT' && input.output.every((_, i) => named.has(i));
    return {
      kind: 'distinct',
      input,
      on: isWhole ? null : targets,
      order: order.isThere ? readOrder(order.at('orders').list(), this.#context) : [],
      output: input.output,
      rows: this.#rows(node),
    };
  }

  #ordered(node: PlanNode, kind: string): Relation {
    const input = this.#input(node);
    const same = { input, output: input.output, rows: this.#rows(node) };
    if (kind === 'LOGICAL_LIMIT') return this.#limit(node, same);
    const order = readOrder(node.at('orders').list(), this.#context);
    if (kind === 'LOGICAL_ORDER_BY') {
      const rows = same.rows ?? input.rows;
      return narrowed({ kind: 'sort', ...same, order, rows }, node.at('projections'));
    }
    const limit = node.at('limit').index();
    return { kind: 'topN', ...same, order, limit, offset: node.at('offset').index() };
  }

  #limit(node: PlanNode, same: Pick<Limit, 'input' | 'output' | 'rows'>): Limit {
    const count = (value: PlanNode): number | null => {
      const kind = value.at('type').text();
      if (kind === 'UNSET') return null;
      if (kind === 'CONSTANT_VALUE') return value.at('constant_integer').index();
      throw new Undistributable('it has a LIMIT that is not a plain number');
    };
    const limit = count(node.at('limit_val'));
    return { kind: 'limit', ...same, limit, offset: count(node.at('offset_val')) ?? 0 };
  }

  #with(node: PlanNode): With {
    const [definitionNode, bodyNode] = this.#pair(node);
    const definition = this.read(definitionNode);
    const cte = ++this.#lastCte;
    this.#ctes.set(node.at('table_index').index(), { cte, output: definition.output });
    const body = this.read(bodyNode);
    return {
      kind: 'with',
      cte,
      definition,
      body,
      output: body.output,
      rows: this.#rows(node) ?? body.rows,
    };
  }

  #reference(node: PlanNode): Relation {
    const known = this.#ctes.get(node.at('cte_index').index());
    if (known === undefined || node.at('is_recurring').bool()) {
      throw new Undistributable('it is recursive');
    }
    const types = node.at('chunk_types').list().map(readType);
    if (types.length !== known.output.length) throw node.odd('columns of its CTE');
    return { kind: 'ref', cte: known.cte, output: known.output, rows: this.#rows(node) };
  }

  #values(node: PlanNode): Relation {
    const [input, ...others] = this.#inputs(node);
    if (input === undefined || others.length > 0) throw node.odd('single input');
    const lists = node
      .at('expressions')
      .list()
      .map((list) => this.#expressions(list.list()));
    const output = node.at('expr_types').list().map(readType);
    const rows = this.#rows(node);
    if (input.at('type').text() === 'LOGICAL_DUMMY_SCAN') {
      return { kind: 'values', lists, output, rows };
    }
    const [list] = lists;
    if (list === undefined || lists.length > 1)
      throw new Undistributable('it has VALUES that depend on each row');
    return { kind: 'project', input: this.read(input), expressions: list, output, rows };
  }
}
