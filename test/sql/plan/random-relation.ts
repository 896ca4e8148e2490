/** Random relations over a few tables: every operator, with columns that fit. Typed only as far as keys need it. */
import fc from 'fast-check';
import type {
  AggregateCall,
  Expression,
  WindowCall,
} from '../../../src/sql/plan/logical/expression.ts';
import type {
  Aggregate,
  Join,
  JoinCondition,
  JoinType,
  Relation,
  ScanRelation,
  SetOperation,
} from '../../../src/sql/plan/logical/relation.ts';
import {
  BIGINT,
  BOOLEAN,
  DOUBLE,
  HUGEINT,
  VARCHAR,
  decimalType,
  type SqlType,
} from '../../../src/sql/plan/logical/type.ts';
import type { PinnedTable } from '../../../src/sql/plan/index.ts';

const PRICE = decimalType(12, 2);
/** Every relation has these columns in this order, so that any two go together. */
export const COLUMNS: readonly SqlType[] = [BIGINT, VARCHAR, PRICE, DOUBLE];
const NAMES = ['id', 'name', 'price', 'weight'];

/** Two large tables, one small, one that is read whole. */
export const TABLES: readonly PinnedTable[] = [
  table('large', 'parquet', 3_000_000),
  table('other', 'parquet', 800_000),
  table('small', 'parquet', 400),
  table('text', 'csv', 9_000_000),
];

/** The same tables, the large ones in the order of their ids. */
export const CLUSTERED: readonly PinnedTable[] = TABLES.map((each) => {
  const [{ groups } = { groups: [] }] = each.files;
  const step = 4_000_000 / groups.length;
  const clustered = groups.map((rows, at) => {
    const min = Math.round(at * step);
    return { file: 0, rows, min, max: Math.round((at + 1) * step) };
  });
  return groups.length < 2 ? each : { ...each, clusters: [{ column: 'id', groups: clustered }] };
});

function table(name: string, format: PinnedTable['format'], rows: number): PinnedTable {
  const path = `/data/${name}`;
  const groups = Array.from({ length: Math.ceil(rows / 122_880) }, () => 122_880);
  const pin = { path, bytes: rows * 30, mtimeNs: '1', footer: 'f', groups };
  return {
    name,
    format,
    files: [format === 'parquet' ? { ...pin, rows } : { ...pin, rows: null, groups: [] }],
    columns: NAMES.map((column, at) => ({
      name: column,
      type: (COLUMNS[at] as SqlType).sql,
      bytes: format === 'parquet' ? rows * 8 : null,
    })),
    options: '',
    select: `SELECT * FROM read_${format}('${path}')`,
    root: null,
  };
}

export function column(index: number): Expression {
  return { kind: 'column', index, type: COLUMNS[index % COLUMNS.length] as SqlType };
}

export function scanOf(name: string, rows: number | null = null): ScanRelation {
  const found = TABLES.find((each) => each.name === name) as PinnedTable;
  const isParquet = found.format === 'parquet';
  return {
    kind: 'scan',
    reader: isParquet ? 'read_parquet' : 'seq_scan',
    files: isParquet ? found.files.map(({ path }) => path) : [],
    table: isParquet ? null : name,
    names: NAMES,
    types: COLUMNS,
    columns: [0, 1, 2, 3],
    filters: [],
    keep: [0, 1, 2, 3],
    hasRowPlaces: false,
    output: COLUMNS,
    rows,
  };
}

/** Back to the columns that all have. */
function asUsual(input: Relation, places: readonly number[]): Relation {
  const expressions = places.map((index, at): Expression => {
    const type = input.output[index] as SqlType;
    const wanted = COLUMNS[at] as SqlType;
    const own: Expression = { kind: 'column', index, type };
    return type.sql === wanted.sql ? own : { kind: 'cast', input: own, isTry: true, type: wanted };
  });
  return { kind: 'project', input, expressions, output: COLUMNS, rows: input.rows };
}

const LEFT = [0, 1, 2, 3];
const JOIN_TYPES: readonly JoinType[] = [
  ...(['inner', 'left', 'right', 'full', 'semi', 'anti', 'mark', 'single'] as const),
];

function join(
  left: Relation,
  right: Relation,
  type: JoinType,
  keys: readonly number[],
  comparison: JoinCondition['comparison'],
): Relation {
  const conditions = keys.map((key) => ({ left: column(key), right: column(key), comparison }));
  const isHalf = type === 'semi' || type === 'anti';
  const added = isHalf ? [] : type === 'mark' ? [BOOLEAN] : right.output;
  const made: Join = {
    kind: 'join',
    type,
    left,
    right,
    conditions,
    predicate: null,
    errorOnMany: true,
    output: [...left.output, ...added],
    rows: null,
  };
  return isHalf || type === 'mark' ? asUsual(made, LEFT) : asUsual(made, [0, 5, 2, 7]);
}

const CALLS: readonly AggregateCall[] = [
  call('count', [], BIGINT),
  call('sum', [column(0)], HUGEINT),
  call('sum', [column(2)], decimalType(38, 2)),
  call('avg', [column(2)], DOUBLE),
  call('min', [column(1)], VARCHAR),
  call('median', [column(3)], DOUBLE),
  call('string_agg', [column(1)], VARCHAR),
  { ...call('count', [column(1)], BIGINT), distinct: true },
];

function call(name: string, args: readonly Expression[], type: SqlType): AggregateCall {
  return { name, args, distinct: false, filter: null, order: [], type };
}

function aggregate(
  input: Relation,
  groups: readonly number[],
  calls: readonly AggregateCall[],
  withTotal: boolean,
): Relation {
  const all = groups.map((_, at) => at);
  const made: Aggregate = {
    kind: 'aggregate',
    input,
    groups: groups.map(column),
    sets: withTotal && groups.length > 0 ? [all, []] : [all],
    calls,
    grouping: [],
    output: [...groups.map((group) => COLUMNS[group] as SqlType), ...calls.map(({ type }) => type)],
    rows: null,
  };
  return asUsual(made, [0, 0, 0, Math.min(1, made.output.length - 1)]);
}

function windowCall(name: string, keys: readonly number[]): WindowCall {
  return {
    name,
    args: [],
    partitionBy: keys.map(column),
    orderBy: [{ expression: column(2), descending: true, nullsFirst: false }],
    frame: '',
    frameValues: [],
    ignoreNulls: false,
    distinct: false,
    filter: null,
    argOrder: [],
    type: BIGINT,
  };
}

const ORDER = [{ expression: column(2), descending: false, nullsFirst: true }];

/** Relations of a bounded depth; a common table is only read where it is defined. */
export const randomRelation: fc.Arbitrary<Relation> = fc.letrec<{ tree: Relation }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 5, withCrossShrink: true },
    fc.constantFrom('large', 'other', 'small', 'text').map((name): Relation => scanOf(name)),
    unary(tie('tree')),
    binary(tie('tree')),
  ),
})).tree;

function unary(tree: fc.Arbitrary<Relation>): fc.Arbitrary<Relation> {
  const keys = fc.uniqueArray(fc.constantFrom(0, 1, 2), { minLength: 0, maxLength: 2 });
  return fc.oneof(
    fc
      .tuple(tree, keys, fc.subarray([...CALLS], { minLength: 1 }), fc.boolean())
      .map(([input, groups, calls, withTotal]) => aggregate(input, groups, calls, withTotal)),
    tree.map((input): Relation => ({
      kind: 'filter',
      input,
      conditions: [{ kind: 'isNotNull', input: column(0), type: BOOLEAN }],
      output: input.output,
      rows: null,
    })),
    fc.tuple(tree, fc.option(keys)).map(([input, on]): Relation => ({
      kind: 'distinct',
      input,
      on: on === null || on.length === 0 ? null : on.map(column),
      order: on === null || on.length === 0 ? [] : ORDER,
      output: input.output,
      rows: null,
    })),
    fc.tuple(tree, keys, keys).map(([input, one, two]) => {
      const calls = [windowCall('rank', one), windowCall('row_number', two)];
      const output = [...input.output, BIGINT, BIGINT];
      return asUsual({ kind: 'window', input, calls, output, rows: null }, [4, 1, 2, 3]);
    }),
    fc.tuple(tree, fc.nat(20), fc.nat(3)).map(([input, limit, offset]): Relation => {
      const { output } = input;
      return { kind: 'topN', input, order: ORDER, limit, offset, output, rows: null };
    }),
    fc.tuple(tree, fc.option(fc.nat(20)), fc.nat(3)).map(([input, limit, offset]): Relation => ({
      ...{ kind: 'limit', input, limit, offset, output: input.output, rows: null },
    })),
    tree.map((input): Relation => ({
      ...{ kind: 'sort', input, order: ORDER, output: input.output, rows: null },
    })),
    tree.map((input) => asUsual(input, [0, 1, 2, 3])),
  );
}

let tablesDefined = 0;

function binary(tree: fc.Arbitrary<Relation>): fc.Arbitrary<Relation> {
  const keys = fc.uniqueArray(fc.constantFrom(0, 1, 2), { minLength: 0, maxLength: 2 });
  const comparison = fc.constantFrom<JoinCondition['comparison']>('=', 'IS NOT DISTINCT FROM', '<');
  return fc.oneof(
    fc
      .tuple(tree, tree, fc.constantFrom(...JOIN_TYPES), keys, comparison)
      .map(([left, right, type, on, how]) => join(left, right, type, on, how)),
    fc
      .tuple(tree, tree)
      .map(([left, right]) =>
        asUsual(
          { kind: 'cross', left, right, output: [...left.output, ...right.output], rows: null },
          [0, 1, 6, 7],
        ),
      ),
    fc
      .tuple(
        fc.array(tree, { minLength: 2, maxLength: 3 }),
        fc.constantFrom('union' as const, 'intersect' as const, 'except' as const),
        fc.boolean(),
      )
      .map(([inputs, operation, all]): SetOperation => {
        const used = operation === 'union' ? inputs : inputs.slice(0, 2);
        return { kind: 'set', operation, all, inputs: used, output: COLUMNS, rows: null };
      }),
    fc
      .tuple(tree, fc.constantFrom(...JOIN_TYPES), fc.boolean())
      .map(([definition, type, asks]): Relation => {
        tablesDefined += 1;
        const cte = tablesDefined;
        const ref: Relation = { kind: 'ref', cte, output: definition.output, rows: null };
        const output = [BIGINT];
        const ids: Relation = {
          ...{ kind: 'project', input: ref, expressions: [column(0)], output, rows: null },
        };
        const distinct: Relation = {
          kind: 'distinct',
          input: ids,
          on: null,
          order: [],
          output,
          rows: null,
        };
        const values: Relation = {
          ...{ kind: 'project', input: distinct, output: COLUMNS, rows: null },
          expressions: [0, 0, 0, 0].map((at) => ({
            kind: 'cast',
            input: column(at),
            isTry: true,
            type: COLUMNS[at] as SqlType,
          })),
        };
        const body = join(
          ref,
          asks ? asUsual(values, LEFT) : ref,
          type,
          [0],
          'IS NOT DISTINCT FROM',
        );
        return { kind: 'with', cte, definition, body, output: body.output, rows: null };
      }),
  );
}
