import { describe, expect, test } from 'vitest';
import {
  CLUSTERED,
  COLUMNS,
  TABLES,
  column,
  scanOf,
} from '../../../../test/sql/plan/random-relation.ts';
import type { Expression } from '../logical/expression.ts';
import type { Relation } from '../logical/relation.ts';
import type { QueryPlan } from '../physical/plan.ts';
import type { PinnedTable } from '../physical/table.ts';
import { planQuery } from './plan-query.ts';

test('does not store the clusters of tables in a single-fragment plan', () => {
  const table: PinnedTable = {
    name: 't',
    format: 'parquet',
    files: [{ path: '/t', bytes: 9, mtimeNs: '1', footer: 'f', rows: 2, groups: [1, 1] }],
    columns: [{ name: 'a', type: 'BIGINT', bytes: 4, distinct: 2 }],
    options: '',
    select: `SELECT * FROM read_parquet(['/t'])`,
    root: null,
  };
  const groups = [1, 2].map((value) => ({ file: 0, rows: 1, min: value, max: value }));
  const plan = planQuery({
    sql: 'FROM t',
    columns: [{ name: 'a', type: 'BIGINT' }],
    logical: null,
    whyNot: 'nobody can',
    tables: [{ ...table, clusters: [{ column: 'a', groups }] }],
    session: { now: '2024-01-01 00:00:00+00', timeZone: 'UTC' },
    duckdb: 'v1',
    settings: { partitions: 2, broadcastThresholdBytes: 0, singleFragmentBytes: 0 },
  });
  expect(plan.stages[0]?.fragment.tables).toStrictEqual([table]);
});

test.each([
  ['SELECT * FROM "Orders" o', ['orders']],
  ['SELECT 1', []],
  ['FROM orders, main.lines', ['orders', 'lines']],
  // A text may become a statement, and an escape a letter.
  [`FROM query('FROM or' || 'ders')`, ['orders', 'lines', 'a"b']],
  ['FROM U&"lin\\0065s"', ['orders', 'lines', 'a"b']],
])('the fragment of the whole of %s has the tables that it may use', (sql, names) => {
  const table = (name: string): PinnedTable => ({
    ...{ name, format: 'parquet', files: [], columns: [], options: '' },
    ...{ select: `SELECT 1`, root: '/data' },
  });
  const plan = planQuery({
    ...{ sql, columns: [], logical: null, whyNot: 'nobody can', duckdb: 'v1' },
    tables: ['orders', 'lines', 'a"b'].map(table),
    session: { now: '2024-01-01 00:00:00+00', timeZone: 'UTC' },
    settings: { partitions: 2, broadcastThresholdBytes: 0, singleFragmentBytes: 0 },
  });
  const tables = plan.stages[0]?.fragment.tables.map(({ name }) => name);
  // A name with a quote is written with two, and is never missed.
  expect(tables).toEqual([...new Set([...names, 'a"b'])]);
  expect(plan.roots).toEqual(['/data']);
});

/** `depth` common tables, each of which reads the one before it twice, and rows of the last one. */
function chained(depth: number): Relation {
  const ref = (cte: number): Relation => ({ kind: 'ref', cte, output: COLUMNS, rows: null });
  const pairPartial = (cte: number): Relation => ({
    kind: 'project',
    expressions: [0, 1, 2, 3].map(column),
    input: {
      kind: 'join',
      type: 'inner',
      left: ref(cte),
      right: ref(cte),
      conditions: [{ left: column(0), right: column(0), comparison: '=' }],
      predicate: null,
      errorOnMany: false,
      output: [...COLUMNS, ...COLUMNS],
      rows: null,
    },
    output: COLUMNS,
    rows: null,
  });
  let body = pairPartial(depth - 1);
  for (let cte = depth - 1; cte >= 0; cte -= 1) {
    const definition = cte === 0 ? scanOf('large') : pairPartial(cte - 1);
    body = { kind: 'with', cte, definition, body, output: COLUMNS, rows: null };
  }
  return body;
}

test('plans CTEs that read each other twice fast', () => {
  const before = performance.now();
  const plan = planQuery({
    sql: 'FROM t',
    columns: COLUMNS.map(({ sql }, at) => ({ name: `c${at}`, type: sql })),
    logical: chained(18),
    whyNot: null,
    tables: CLUSTERED,
    session: { now: '2024-01-01 00:00:00+00', timeZone: 'UTC' },
    duckdb: 'v1',
    settings: { partitions: 2, broadcastThresholdBytes: 0, singleFragmentBytes: 0 },
  });
  // Each in full for each of its readers would be 260,000 of them, and many seconds.
  expect(performance.now() - before).toBeLessThan(2_000);
  expect(plan.stages).toHaveLength(1);
});

/** The plan of an inner join by the first columns, of which DuckDB expects so many rows. */
function joined(
  left: Relation,
  right: Relation,
  rows: number,
  tables: readonly PinnedTable[],
): QueryPlan {
  const output = [...left.output, ...right.output];
  return planQuery({
    sql: 'FROM t',
    columns: output.map(({ sql }, at) => ({ name: `c${at}`, type: sql })),
    logical: {
      ...{ kind: 'join', type: 'inner', left, right, predicate: null, errorOnMany: false },
      ...{ conditions: [{ left: column(0), right: column(0), comparison: '=' }], output, rows },
    },
    ...{ whyNot: null, tables, duckdb: 'v1' },
    session: { now: '2024-01-01 00:00:00+00', timeZone: 'UTC' },
    settings: { partitions: 2, broadcastThresholdBytes: 2 ** 25, singleFragmentBytes: 0 },
  });
}

test('every task reads a table rather than rows that may be many more than estimated', () => {
  const tables = TABLES.map((each) => (each.name === 'other' ? withRows(each, 300_000) : each));
  const filtered = (rows: number): Relation => ({
    ...{ kind: 'filter', input: scanOf('large', 3_000_000), conditions: [column(3)] },
    ...{ output: COLUMNS, rows },
  });
  const stages = (rows: number): number =>
    joined(filtered(rows), scanOf('other', 300_000), 60_000, tables).stages.length;
  expect(stages(60_000)).toBe(1);
  // So few are sooner sent.
  expect(stages(40)).toBe(2);
});

function withRows(table: PinnedTable, rows: number): PinnedTable {
  return {
    ...table,
    files: table.files.map((file) => ({ ...file, rows })),
    columns: table.columns.map((each) => ({ ...each, bytes: rows * 8 })),
  };
}

test('a join has at most as many rows as there are pairs', () => {
  const tables = TABLES.map((table) => ({
    ...table,
    columns: table.columns.map((each) => ({ ...each, distinct: 10 })),
  }));
  const groups = (name: string): Relation => ({
    ...{ kind: 'aggregate', input: scanOf(name), groups: [column(0)], sets: [[0]] },
    ...{ calls: [], grouping: [], output: COLUMNS.slice(0, 1), rows: 500_000 },
  });
  const { stages } = joined(groups('large'), groups('other'), 2_000_000, tables);
  expect(stages.at(-1)?.estimate.rows).toBeLessThanOrEqual(100);
});

test('a join by several columns has as many rows as there are pairs with a combination of values', () => {
  const tables = TABLES.map((table) => ({
    ...table,
    columns: table.columns.map((each) => ({ ...each, distinct: 100_000 })),
  }));
  const by = (keys: readonly number[], rows: number): number => {
    const [left, right] = [scanOf('large', 60_000), scanOf('other', 800_000)];
    const output = [...left.output, ...right.output];
    const { stages } = planQuery({
      sql: 'FROM t',
      columns: output.map(({ sql }, at) => ({ name: `c${at}`, type: sql })),
      logical: {
        ...{ kind: 'join', type: 'inner', left, right, predicate: null, errorOnMany: false },
        conditions: keys.map((at) => ({ left: column(at), right: column(at), comparison: '=' })),
        ...{ output, rows },
      },
      ...{ whyNot: null, tables, duckdb: 'v1' },
      session: { now: '2024-01-01 00:00:00+00', timeZone: 'UTC' },
      settings: { partitions: 2, broadcastThresholdBytes: 2 ** 25, singleFragmentBytes: 0 },
    });
    return stages.at(-1)?.estimate.rows ?? NaN;
  };
  // Of the three million rows of the larger table, each has a combination of its own.
  expect(by([0, 1], 800_000)).toBe((60_000 * 800_000) / 3_000_000);
  // DuckDB expects fewer, or knows as much.
  expect(by([0, 1], 9_000)).toBe(9_000);
  expect(by([0], 800_000)).toBe(800_000);
});

describe('a partial phase', () => {
  /** By two columns of a large table with so many values. */
  function isPlanned(
    distinct: readonly [number?, number?],
    { filters = [], ...more }: Partial<PinnedTable> & { filters?: readonly Expression[] } = {},
  ): boolean {
    const tables = TABLES.map((table) => ({
      ...{ ...table, ...more },
      columns: table.columns.map((each, at) => {
        const { [at]: known } = distinct;
        return known === undefined ? each : { ...each, distinct: known };
      }),
    }));
    const input = { ...scanOf('large', 3_000_000), filters };
    const groups = [column(0), column(1)];
    const output = groups.map(({ type }) => type);
    const { stages } = planQuery({
      sql: 'FROM t',
      columns: output.map(({ sql }, at) => ({ name: `c${at}`, type: sql })),
      logical: {
        ...{ kind: 'aggregate', input, groups, sets: [[0, 1]], calls: [], grouping: [] },
        ...{ output, rows: null },
      },
      ...{ whyNot: null, tables, duckdb: 'v1' },
      session: { now: '2024-01-01 00:00:00+00', timeZone: 'UTC' },
      settings: { partitions: 2, broadcastThresholdBytes: 2 ** 25, singleFragmentBytes: 0 },
    });
    return stages[0]?.operators.some((each) => each.includes('(partial)')) === true;
  }

  test('is left out if most rows seem to be groups of their own', () => {
    expect(isPlanned([2_000, 3_000])).toBe(false);
    expect(isPlanned([2_000, 300])).toBe(true);
  });

  test('is planned if it is not known how many values there are', () => {
    expect(isPlanned([2_000_000])).toBe(true);
    expect(isPlanned([2_000, 3_000], { filters: [column(3)] })).toBe(true);
  });

  test('is planned if rows beside each other are likely to be of one group', () => {
    const ascending = [{ column: 'id', groups: [] }];
    expect(isPlanned([2_000, 3_000], { ascending })).toBe(true);
  });
});
