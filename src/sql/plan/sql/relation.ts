/**
 * Writes relations as SQL. Columns are `c0`, `c1`, ... of each nested query and always qualified with its alias, so
 * that a name of the output is never taken for a name of the input.
 */
import { quotedName } from '../logical/quote.ts';
import type { Expression } from '../logical/expression.ts';
import type {
  Aggregate,
  AsOfJoin,
  Join,
  Relation,
  ScanRelation,
  SetOperation,
  Values,
  With,
} from '../logical/relation.ts';
import { nullOf } from '../logical/type.ts';
import { inputsOf } from '../logical/walk.ts';
import {
  printAggregate,
  printExpression,
  printNested,
  printOrder,
  printWindow,
  type ColumnText,
} from './expression.ts';
import { printConditions, printMark, printSingle, type JoinText } from './join.ts';
import { columnName, nested, printSelect } from './select.ts';

/** The relation name of a scan in the fragment. It has the scan's `columns` in order, as `c0`, `c1`, ... */
export type ScanName = (scan: ScanRelation) => string;

/** Returns a query whose columns are `c0`, `c1`, ... */
export function printRelation(relation: Relation, scanName: ScanName): string {
  return new Printer(scanName).query(relation);
}

/** The base of a SELECT: text for FROM and WHERE, and the names of the relation's columns there. */
interface Base {
  readonly from: string;
  readonly column: ColumnText;
  readonly where: readonly string[];
}

class Printer {
  readonly #scanName: ScanName;

  constructor(scanName: ScanName) {
    this.#scanName = scanName;
  }

  query(relation: Relation): string {
    switch (relation.kind) {
      case 'scan':
      case 'input':
      case 'ref':
      case 'filter':
      case 'cross':
      case 'asof':
      case 'positional':
        return this.#all(relation);
      case 'join':
        return this.#join(relation);
      case 'values':
        return printValues(relation);
      case 'empty': {
        const columns = relation.output.map(nullOf);
        return printSelect({ columns, where: ['false'] });
      }
      case 'project': {
        const base = this.#base(relation.input);
        const columns = relation.expressions.map((one) => printExpression(one, base.column));
        return printSelect({ ...base, columns });
      }
      case 'aggregate':
        return this.#aggregate(relation);
      case 'window':
      case 'unnest':
        return this.#widened(relation);
      case 'set':
        return this.#set(relation);
      case 'distinct':
      case 'sort':
      case 'topN':
      case 'limit':
        return this.#chosen(relation);
      case 'with':
        return this.#with(relation);
    }
  }

  /** `SELECT` of all columns. */
  #all(relation: Relation): string {
    const base = this.#base(relation);
    return printSelect({ ...base, columns: allColumns(relation, base.column) });
  }

  #with(relation: With): string {
    const definitions: string[] = [];
    let body: Relation = relation;
    for (; body.kind === 'with'; body = body.body) {
      const definition = nested(this.query(body.definition));
      definitions.push(`${cteName(body.cte)} AS MATERIALIZED ${definition}`);
    }
    const query = this.query(body);
    const head = `WITH ${definitions.join(', ')}`;
    if (!query.startsWith('WITH ')) return `${head}\n${query}`;
    // A query has one WITH; the inner one goes one level down.
    const columns = allColumns(body, of('t'));
    return `${head}\n${printSelect({ columns, from: `${nested(query)} AS t` })}`;
  }

  #base(relation: Relation): Base {
    switch (relation.kind) {
      case 'scan':
        return this.#scan(relation);
      case 'input':
        return { from: `${identifier(relation.relation)} AS t`, column: of('t'), where: [] };
      case 'ref':
        return { from: `${cteName(relation.cte)} AS t`, column: of('t'), where: [] };
      case 'filter': {
        const base = this.#base(relation.input);
        const more = relation.conditions.map((one) => printNested(one, base.column));
        return { ...base, where: [...base.where, ...more] };
      }
      case 'project': {
        const places = relation.expressions.map((one) => (one.kind === 'column' ? one.index : -1));
        if (places.includes(-1)) return this.#nested(relation);
        const base = this.#base(relation.input);
        return { ...base, column: (index) => base.column(places[index] ?? -1) };
      }
      case 'join':
        if (relation.type === 'mark' || relation.type === 'single') return this.#nested(relation);
        if (isBetterCorrelated(relation)) return this.#exists(relation);
        return this.#sides(relation, joinWords(relation));
      case 'asof':
        return this.#sides(relation, joinWords(relation));
      case 'cross':
        return this.#sides(relation, 'CROSS JOIN');
      case 'positional':
        return this.#sides(relation, 'POSITIONAL JOIN');
      case 'values':
      case 'empty':
      case 'aggregate':
      case 'set':
      case 'distinct':
      case 'window':
      case 'sort':
      case 'topN':
      case 'limit':
      case 'unnest':
      case 'with':
        return this.#nested(relation);
    }
  }

  #nested(relation: Relation): Base {
    return { from: `${nested(this.query(relation))} AS t`, column: of('t'), where: [] };
  }

  #scan(scan: ScanRelation): Base {
    const place: ColumnText = (index) =>
      scan.columns[index] === null ? 'CAST(NULL AS BOOLEAN)' : `t.${columnName(index)}`;
    return {
      from: `${identifier(this.#scanName(scan))} AS t`,
      column: (index) => place(scan.keep[index] ?? -1),
      where: scan.filters.map((filter) => printNested(filter, place)),
    };
  }

  /** A side of a join, under its own alias. */
  #side(relation: Relation, alias: string): string {
    const isName = relation.kind === 'input' || relation.kind === 'ref' || isPlainScan(relation);
    if (!isName) return `${nested(this.query(relation))} AS ${alias}`;
    return this.#base(relation).from.replace(/ AS t$/, ` AS ${alias}`);
  }

  #sides(join: Extract<Relation, { left: Relation }>, words: string): Base {
    const width = join.left.output.length;
    const column: ColumnText = (index) => (index < width ? of('l')(index) : of('r')(index - width));
    const from = `${this.#side(join.left, 'l')}\n${words} ${this.#side(join.right, 'r')}`;
    if (join.kind !== 'join' && join.kind !== 'asof') return { from, column, where: [] };
    const on = printConditions(join.conditions, of('l'), of('r'));
    if (join.kind === 'join' && join.predicate !== null) {
      on.push(printNested(join.predicate, column));
    }
    return {
      from: `${from}\nON ${on.length === 0 ? 'true' : on.join(' AND ')}`,
      column,
      where: [],
    };
  }

  /** The same as the semi join. */
  #exists({ left, right, conditions }: Join): Base {
    const on = printConditions(conditions, of('l'), of('r')).join(' AND ');
    const matches = `SELECT 1\nFROM ${this.#side(right, 'r')}\nWHERE ${on}`;
    return { from: this.#side(left, 'l'), column: of('l'), where: [`EXISTS ${nested(matches)}`] };
  }

  #join(join: Join): string {
    if (join.type !== 'mark' && join.type !== 'single') return this.#all(join);
    const text: JoinText = {
      left: this.#side(join.left, 'l'),
      right: this.#side(join.right, 'r'),
      leftColumn: of('l'),
      rightColumn: of('r'),
    };
    return join.type === 'mark' ? printMark(join, text) : printSingle(join, text);
  }

  #aggregate(relation: Aggregate): string {
    // GROUP BY takes a number for the position of a column, so it is given columns only.
    if (relation.groups.every((group) => group.kind === 'column')) return this.#grouped(relation);
    const { input } = relation;
    const columns = input.output.map((type, index): Expression => ({
      kind: 'column',
      index,
      type,
    }));
    const expressions = [...columns, ...relation.groups];
    const output = expressions.map(({ type }) => type);
    return this.#grouped({
      ...relation,
      input: { kind: 'project', input, expressions, output, rows: input.rows },
      groups: relation.groups.map(({ type }, i) => ({
        kind: 'column',
        index: columns.length + i,
        type,
      })),
    });
  }

  #grouped(relation: Aggregate): string {
    const texts = (of: Base): string[] =>
      relation.groups.map((group) => printExpression(group, of.column));
    let base = this.#base(relation.input);
    // The same column cannot be in a grouping set and out of it, so it must be two columns.
    const isRepeated = new Set(texts(base)).size < relation.groups.length;
    if (isRepeated && relation.sets.length > 1) base = this.#nested(relation.input);
    const groups = texts(base);
    const list = (places: readonly number[]): string =>
      places.map((place) => groups[place] ?? '').join(', ');
    const columns = [
      ...groups,
      ...relation.calls.map((call) => printAggregate(call, base.column)),
      ...relation.grouping.map((places) => `grouping(${list(places)})`),
    ];
    return printSelect({ ...base, columns, groupBy: groupBy(relation, list) });
  }

  #widened(relation: Extract<Relation, { kind: 'window' | 'unnest' }>): string {
    const base = this.#base(relation.input);
    const added =
      relation.kind === 'window'
        ? relation.calls.map((call) => printWindow(call, base.column))
        : relation.expressions.map((list) => `unnest(${printExpression(list, base.column)})`);
    const columns = [...allColumns(relation.input, base.column), ...added];
    return printSelect({ ...base, columns });
  }

  #set(relation: SetOperation): string {
    const word = `${relation.operation.toUpperCase()}${relation.all ? ' ALL' : ''}`;
    return relation.inputs.map((input) => nested(this.query(input))).join(`\n${word}\n`);
  }

  #chosen(relation: Extract<Relation, { kind: 'distinct' | 'sort' | 'topN' | 'limit' }>): string {
    const base = this.#base(relation.input);
    const columns = allColumns(relation.input, base.column);
    switch (relation.kind) {
      case 'distinct': {
        const on = relation.on?.map((one) => printNested(one, base.column)).join(', ');
        const distinct = on === undefined ? 'DISTINCT' : `DISTINCT ON (${on})`;
        const orderBy = printOrder(relation.order, base.column);
        return printSelect({ ...base, columns, distinct, orderBy });
      }
      case 'sort':
        return printSelect({ ...base, columns, orderBy: printOrder(relation.order, base.column) });
      case 'topN': {
        const orderBy = printOrder(relation.order, base.column);
        return printSelect({ ...base, columns, orderBy, limit: limitText(relation) });
      }
      case 'limit':
        return printSelect({ ...base, columns, limit: limitText(relation) });
    }
  }
}

function of(alias: string): ColumnText {
  return (index) => `${alias}.${columnName(index)}`;
}

function allColumns(relation: Relation, column: ColumnText): string[] {
  return relation.output.map((_, index) => column(index));
}

function identifier(name: string): string {
  return /^[a-z_][a-z0-9_]*$/.test(name) ? name : quotedName(name);
}

function cteName(cte: number): string {
  return `cte${cte}`;
}

/** Its name alone refers to it. */
function isPlainScan(relation: Relation): boolean {
  if (relation.kind !== 'scan' || relation.filters.length > 0) return false;
  if (relation.columns.includes(null)) return false;
  return relation.keep.every((place, i) => place === i);
}

/** How many times the rows of the right side must exceed those of the left one. */
const FEW = 2;

/**
 * Few rows are looked for in a table. DuckDB builds its hash table of them, and leaves out what it can of the table while
 * it scans, but not for a join that keeps rows of the build side. For a correlated EXISTS it joins the table with their
 * distinct keys first, and this join filters the scan. Only with a single key it has a Bloom filter for that.
 */
function isBetterCorrelated(join: Join): boolean {
  const { type, isCorrelated, left, right, conditions, predicate } = join;
  if (type !== 'semi' || isCorrelated !== true || predicate !== null) return false;
  const [first, ...others] = conditions;
  if (others.length > 0) return false;
  if (first?.comparison !== '=' || !isScanned(right)) return false;
  return left.rows !== null && right.rows !== null && left.rows * FEW <= right.rows;
}

/** Only the rows of files, and filters. */
function isScanned(relation: Relation): boolean {
  if (relation.kind === 'scan' || relation.kind === 'input') return true;
  const isNarrowed = relation.kind === 'project' || relation.kind === 'filter';
  return isNarrowed && inputsOf(relation).every(isScanned);
}

function joinWords(join: Join | AsOfJoin): string {
  return `${join.kind === 'asof' ? 'ASOF ' : ''}${join.type.toUpperCase()} JOIN`;
}

function groupBy(relation: Aggregate, list: (places: readonly number[]) => string): string {
  const [set, ...others] = relation.sets;
  const isTotal = set === undefined || (others.length === 0 && set.length === 0);
  if (isTotal && relation.groups.length === 0) return '';
  if (others.length === 0 && set?.length === relation.groups.length) return list(set);
  return `GROUPING SETS (${relation.sets.map((places) => `(${list(places)})`).join(', ')})`;
}

function limitText(relation: { readonly limit: number | null; readonly offset: number }): string {
  const limit = relation.limit === null ? '' : `LIMIT ${relation.limit}`;
  const offset = relation.offset === 0 ? '' : `OFFSET ${relation.offset}`;
  return [limit, offset].filter((part) => part !== '').join(' ');
}

function printValues(values: Values): string {
  // Constants stand alone: there is no column below.
  const column: ColumnText = columnName;
  const rows = values.lists.map((list) => list.map((one) => printExpression(one, column)));
  const [only, ...others] = rows;
  if (only !== undefined && others.length === 0) return printSelect({ columns: only });
  const names = values.output.map((_, i) => columnName(i));
  const list = rows.map((row) => `  (${row.join(', ')})`).join(',\n');
  const from = `(\n  VALUES\n${list.replace(/^/gm, '  ')}\n) AS t(${names.join(', ')})`;
  return printSelect({ columns: names.map((name) => `t.${name}`), from });
}
