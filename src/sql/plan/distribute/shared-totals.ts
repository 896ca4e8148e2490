/**
 * Computes totals over the same table in one scan. Subqueries that each count or add up other rows of a table have a scan
 * each in DuckDB's plan; here all of them are one aggregate whose calls have a FILTER, and each subquery reads its columns.
 */
import type { AggregateCall, Expression } from '../logical/expression.ts';
import type { Aggregate, CteRef, Relation, ScanRelation, With } from '../logical/relation.ts';
import { BOOLEAN } from '../logical/type.ts';
import { columnsIn, inputsOf, mapAggregate, mapColumns } from '../logical/walk.ts';
import {
  aggregateParts,
  cannotFail,
  column,
  columnsOf,
  expressionKey,
  moved,
} from './expressions.ts';
import { mappingTo } from './column-mapping.ts';
import { partialAggregate } from './partial-aggregate.ts';
import { eachRelation, project, withInputs } from './relations.ts';

/** Returns the relation itself if no two totals read the same table. */
export function sharedTotals(root: Relation): Relation {
  const groups = new Map<string, Total[]>();
  for (const each of eachRelation(root)) {
    const total = each.kind === 'aggregate' ? asTotal(each) : null;
    if (total === null) continue;
    const key = groupKey(total);
    groups.set(key, [...(groups.get(key) ?? []), total]);
  }
  let cte = nextCte(root);
  let result = root;
  for (const totals of groups.values()) {
    if (new Set(totals.map(({ aggregate }) => aggregate)).size < 2) continue;
    result = shared(result, totals, cte);
    cte += 1;
  }
  return result;
}

/** A total of rows of one table. In its expressions, columns are those of the table. */
interface Total {
  readonly aggregate: Aggregate;
  readonly scan: ScanRelation;
  readonly conditions: readonly Expression[];
  readonly calls: readonly AggregateCall[];
}

/** What a relation returns, as long as it chooses rows and columns of one table. */
interface Rows {
  readonly scan: ScanRelation;
  readonly conditions: readonly Expression[];
  readonly columns: readonly Expression[];
}

function asTotal(aggregate: Aggregate): Total | null {
  const { groups, sets, grouping, input } = aggregate;
  if (groups.length > 0 || sets.length > 1 || grouping.length > 0) return null;
  const rows = rowsOf(input);
  if (rows === null) return null;
  const { scan, columns } = rows;
  const calls = aggregate.calls.map((call) => mapAggregate(call, (each) => over(each, columns)));
  // Arguments are computed for rows that a filter leaves out as well, so they must not fail.
  const areSafe = calls.every(
    (call) => partialAggregate(call) !== null && aggregateParts(call).every(cannotFail),
  );
  if (!areSafe || !rows.conditions.every(cannotFail)) return null;
  const values = new Set(calls.filter(({ distinct }) => distinct).map(distinctKey));
  return values.size > 1 ? null : { aggregate, scan, conditions: rows.conditions, calls };
}

function rowsOf(relation: Relation): Rows | null {
  if (relation.kind === 'scan') return scanned(relation);
  if (relation.kind !== 'filter' && relation.kind !== 'project') return null;
  const input = rowsOf(relation.input);
  if (input === null) return null;
  const { columns, conditions } = input;
  if (relation.kind === 'project')
    return { ...input, columns: relation.expressions.map((each) => over(each, columns)) };
  const own = relation.conditions.map((each) => over(each, columns));
  return { ...input, conditions: [...conditions, ...own] };
}

function scanned(scan: ScanRelation): Rows | null {
  if (scan.hasRowPlaces || scan.columns.includes(null)) return null;
  const places = scan.columns as readonly number[];
  const all = places.map((place) => column(place, scan.types[place] as Expression['type']));
  const conditions = scan.filters.map((each) => over(each, all));
  return { scan, conditions, columns: scan.keep.map((at) => all[at] as Expression) };
}

function over(expression: Expression, columns: readonly Expression[]): Expression {
  return mapColumns(expression, ({ index }) => columns[index] as Expression);
}

function distinctKey({ args }: AggregateCall): string {
  return args.map(expressionKey).join();
}

/** Of totals with the same key, one scan reads the rows. Distinct values are exchanged, so only the same ones go together. */
function groupKey({ scan, calls }: Total): string {
  const { reader, files, table, names, types } = scan;
  const [value = null] = calls.filter(({ distinct }) => distinct).map(distinctKey);
  return JSON.stringify([reader, table, files, names, types, value]);
}

function nextCte(root: Relation): number {
  const used = [...eachRelation(root)].map((each) => (each.kind === 'with' ? each.cte : -1));
  return Math.max(-1, ...used) + 1;
}

/** `root` with one common table in place of these totals. */
function shared(root: Relation, totals: readonly Total[], cte: number): With {
  const calls: AggregateCall[] = [];
  const places = new Map<string, number>();
  const became = new Map<Relation, readonly number[]>();
  for (const total of totals) {
    const own = total.calls.map((call) => {
      const filtered = withConditions(call, total.conditions);
      const key = JSON.stringify(filtered);
      const at = places.get(key) ?? calls.push(filtered) - 1;
      places.set(key, at);
      return at;
    });
    became.set(total.aggregate, own);
  }
  const definition = aggregateOf(totals, calls);
  const { output } = definition;
  const ref: CteRef = { kind: 'ref', cte, output, rows: 1 };
  const columns = columnsOf(output);
  const replaced = (relation: Relation): Relation => {
    const own = became.get(relation);
    if (own !== undefined)
      return project(
        { ...ref },
        own.map((at) => columns[at] as Expression),
      );
    const inputs = inputsOf(relation);
    const made = inputs.map(replaced);
    return made.every((each, at) => each === inputs[at]) ? relation : withInputs(relation, made);
  };
  const body = replaced(root);
  return { kind: 'with', cte, definition, body, output: body.output, rows: body.rows };
}

function withConditions(call: AggregateCall, conditions: readonly Expression[]): AggregateCall {
  const all = call.filter === null ? conditions : [...conditions, call.filter];
  return { ...call, filter: joined('and', all) };
}

/** Null if there are none. */
function joined(kind: 'and' | 'or', parts: readonly Expression[]): Expression | null {
  const [first = null, ...others] = parts;
  return first === null || others.length === 0 ? first : { kind, parts, type: BOOLEAN };
}

/**
 * All calls over one scan, which leaves out the rows that none of them counts. Each condition is a column: DuckDB would
 * compute it again for each call.
 */
function aggregateOf(totals: readonly Total[], calls: readonly AggregateCall[]): Aggregate {
  const scan = scanOf(totals, calls);
  const places = mappingTo(scan.columns as readonly number[]);
  const own = columnsOf(scan.output);
  const tests = new Map<string, Expression>();
  for (const { filter } of calls)
    if (filter !== null) tests.set(expressionKey(filter), moved(filter, places));
  const keys = [...tests.keys()];
  const input = project(scan, [...own, ...tests.values()]);
  return {
    ...(totals[0] as Total).aggregate,
    input,
    calls: calls.map((call) => ({
      ...mapAggregate(call, (each) => moved(each, places)),
      filter:
        call.filter === null
          ? null
          : column(own.length + keys.indexOf(expressionKey(call.filter)), BOOLEAN),
    })),
    output: calls.map(({ type }) => type),
    rows: 1,
  };
}

function scanOf(totals: readonly Total[], calls: readonly AggregateCall[]): ScanRelation {
  const { scan } = totals[0] as Total;
  const chosen = totals.flatMap(({ conditions }) => joined('and', conditions) ?? []);
  const found = columnsIn(...calls.flatMap(aggregateParts), ...chosen);
  const used = found.size > 0 ? [...found].toSorted((a, b) => a - b) : [scan.columns[0] as number];
  const filter = chosen.length === totals.length ? joined('or', chosen) : null;
  return {
    ...scan,
    columns: used,
    filters: filter === null ? [] : [moved(filter, mappingTo(used))],
    keep: used.map((_, at) => at),
    output: used.map((place) => scan.types[place] as Expression['type']),
    rows: totals.reduce<number | null>(
      (sum, each) => (sum === null || each.scan.rows === null ? null : sum + each.scan.rows),
      0,
    ),
  };
}
