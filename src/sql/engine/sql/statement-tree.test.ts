import { quotedText } from '../../plan/index.ts';
import { DuckDBInstance } from '@duckdb/node-api';
import type { DuckDBConnection } from '@duckdb/node-api';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { withPivotLists } from './pivot.ts';
import { isOwnView, statementFault } from './statement-tree.ts';

let instance: DuckDBInstance;
let connection: DuckDBConnection;

beforeAll(async () => {
  instance = await DuckDBInstance.create(':memory:');
  connection = await instance.connect();
});

afterAll(() => {
  connection.closeSync();
  instance.closeSync();
});

interface Tree {
  readonly error: boolean;
  readonly statements?: unknown;
}

async function treeOf(sql: string): Promise<Tree> {
  const found = await connection.runAndReadAll(
    `SELECT json_serialize_sql(${quotedText(sql)}, skip_null := true, skip_empty := true)::VARCHAR`,
  );
  return JSON.parse(String(found.getRows()[0]?.[0])) as Tree;
}

/** What is said of it; null for nothing. */
async function said(sql: string): Promise<string | null> {
  const { error, statements } = await treeOf(sql);
  if (error) throw new Error(`There is no tree of ${sql}`);
  return statementFault(statements, ['t', 'My Table'])?.what ?? null;
}

describe('a statement', () => {
  test.each([
    'WITH RECURSIVE x(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM x WHERE n < 5) FROM x',
    'WITH RECURSIVE x(a, b) USING KEY (a) AS (SELECT 1, 2 UNION FROM recurring.x) FROM x',
    'FROM T, main.t, "my table" AS m',
    'SELECT sum(a) OVER w, row_number() OVER (), lag(a IGNORE NULLS) OVER w FROM t WINDOW w AS (ORDER BY b)',
    'SELECT [x + 1 FOR x IN l IF x > 1], list_transform(l, lambda x: x * 2), l[1:2], s.a.b, m[1] FROM t',
    `SELECT * EXCLUDE (a) REPLACE (b + 1 AS b), COLUMNS('c.*') FROM t QUALIFY rank() OVER () = 1`,
    `SELECT CAST(a AS STRUCT(x INTEGER)), b::ENUM('p'), TRY(a), a COLLATE nocase, #1, a IS DISTINCT FROM b FROM t`,
    'SELECT a, GROUPING(a), sum(b ORDER BY c) FILTER (c > 1) FROM t GROUP BY ROLLUP (a) ORDER BY ALL LIMIT 10%',
    'FROM t PIVOT (sum(a) FOR b IN (1, 2)) UNION ALL BY NAME (UNPIVOT t ON COLUMNS(*))',
    'FROM t ASOF JOIN t AS u ON t.a >= u.a POSITIONAL JOIN t AS v TABLESAMPLE 10%',
    'FROM t, unnest(t.l) AS u(x), range(t.a), json_each(t.j), generate_series(1, 3)',
    'FROM test_all_types(use_large_enum = true), repeat_row(1, -2, num_rows := 3)',
    'FROM histogram(t, a)',
    'DESCRIBE t',
    'SUMMARIZE t',
    'SELECT current_date, user, localtimestamp, a.upper().lower() FROM t',
  ])('may run: %s', async (sql) => {
    expect(await said(sql)).toBeNull();
  });

  test.each([
    [`SELECT current_setting('x')`, 'The function current_setting cannot be used'],
    [`FROM t WHERE a = (SELECT max(a) FROM read_text('x'))`, 'The function read_text cannot'],
    ['SELECT (SELECT 1 FROM system.main.Enable_Logging()) FROM t', 'enable_logging cannot'],
    ['SELECT [getvariable(x) FOR x IN l] FROM t', 'getvariable cannot be used'],
    ['FROM t ORDER BY write_log(a)', 'write_log cannot be used'],
    ['FROM t LIMIT (FROM duckdb_secrets() SELECT count(*))', 'duckdb_secrets cannot be used'],
    ['FROM t JOIN glob(t.a) ON true', 'glob cannot be used'],
    ['WITH x AS MATERIALIZED (FROM pragma_show(1)) SELECT 1', 'pragma_show cannot be used'],
    ['SELECT sum(a) OVER (ORDER BY sleep_ms(a)) FROM t', 'sleep_ms cannot be used'],
    ['SELECT lenght(a) FROM t', "The function lenght cannot be used in a query. Did you mean 'l"],
    ['FROM repeat(version(), 3)', 'The arguments of repeat must be constants.'],
    ['FROM histogram(duckdb_settings, value)', 'must be the name of a table of the query'],
    [`FROM histogram(source := 't', col_name := a)`, 'must be the name of a table of the query'],
    ['FROM duckdb_settings', 'duckdb_settings does not exist'],
    [
      'SELECT (WITH duckdb_settings AS (SELECT 1) SELECT 1), * FROM duckdb_settings',
      'duckdb_settings does not exist',
    ],
    ['WITH PG_settings AS (FROM pg_settings) FROM pg_settings', 'pg_settings does not exist'],
    ['FROM information_schema.tables', 'information_schema.tables does not exist'],
    ['FROM system.main.t', 'system.main.t does not exist'],
    [`FROM 'other.parquet'`, 'may not open other.parquet directly'],
    ['SHOW TABLES', 'not the name of a table'],
    ['SHOW ALL TABLES', 'not the name of a table'],
  ])('may not run: %s', async (sql, words) => {
    expect(await said(sql)).toContain(words);
  });

  test('with an unknown kind of node may not run', () => {
    expect(statementFault({ type: 'INSERT_NODE' }, [])?.what).toContain('INSERT_NODE');
    expect(statementFault({ x: [{ class: 'PARAMETER' }] }, [])?.what).toContain('PARAMETER');
    expect(
      statementFault({ type: 'TABLE_FUNCTION', function: { class: 'CASE' } }, []),
    ).not.toBeNull();
  });

  test('that is not in scope of a common table expression finds no view of DuckDB by its name', async () => {
    const views = await connection.runAndReadAll(
      'SELECT DISTINCT schema_name, view_name FROM duckdb_views() WHERE internal',
    );
    const found: string[] = [];
    for (const [schema, view] of views.getRows() as string[][]) {
      const name = String(view);
      const isFound = await connection.run(`FROM "${name}" LIMIT 0`).then(
        () => true,
        () => false,
      );
      if (isFound && !isOwnView(name)) found.push(`${schema}.${name}`);
    }
    expect(views.getRows().length).toBeGreaterThan(40);
    expect(found).toEqual([]);
  });

  test('is checked however deep it is', async () => {
    const deep = `${'('.repeat(300)}current_query()${' + 1)'.repeat(300)}`;
    expect(await said(`SELECT ${deep}`)).toContain('current_query cannot be used');
    let nested: unknown = { class: 'PARAMETER' };
    for (let n = 0; n < 100_000; n += 1) nested = [nested];
    expect(statementFault(nested, [])?.what).toContain('PARAMETER');
  });
});

describe('a PIVOT whose columns depend on the data', () => {
  test.each([
    ['PIVOT t ON a % 2 USING sum(b) GROUP BY c', 'PIVOT t ON a % 2 IN (1) USING sum(b) GROUP BY c'],
    ['pivot t on a, b', 'pivot t on a IN (1), b IN (1)'],
    ['FROM (PIVOT t ON a) JOIN t ON x', 'FROM (PIVOT t ON a IN (1)) JOIN t ON x'],
    ['PIVOT t ON a IN (3), b', 'PIVOT t ON a IN (3), b IN (1)'],
    [
      `PIVOT (PIVOT t ON f('on b, c', [1, 2]) USING max(b)) ON c -- on d\nUSING min(d)`,
      `PIVOT (PIVOT t ON f('on b, c', [1, 2]) IN (1) USING max(b)) ON c IN (1) -- on d\nUSING min(d)`,
    ],
    ['SELECT 1', 'SELECT 1'],
  ])('has a tree with a list of values: %s', (sql, listed) => {
    expect(withPivotLists(sql)).toBe(listed);
  });

  test('shows what it calls', async () => {
    for (const sql of [
      'PIVOT (FROM t, enable_logging()) ON a',
      'PIVOT t ON current_setting(a) USING sum(b)',
      'PIVOT t ON a USING sum(sleep_ms(b))',
      'SELECT 1 FROM (PIVOT t ON a GROUP BY b), enable_logging/**/()',
    ]) {
      expect((await treeOf(sql)).error).toBe(true);
      expect(await said(withPivotLists(sql))).toContain('cannot be used in a query');
    }
  });
});
