import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { quotedText } from '../../plan/index.ts';
import { namedColumns, plannedColumns } from './plan-columns.ts';

type Json = Readonly<Record<string, unknown>>;

let instance: DuckDBInstance;
let connection: DuckDBConnection;

beforeAll(async () => {
  instance = await DuckDBInstance.create(':memory:');
  connection = await instance.connect();
  await connection.run(`
    CREATE TABLE t (Aa INTEGER, b STRUCT(X INTEGER, y INTEGER), c VARCHAR, d DECIMAL(12,2), e DATE, s STRUCT(single INTEGER));
    INSERT INTO t SELECT i, {'x': i, 'y': i}, 'c' || i, i, DATE '2024-01-01', {'single': i} FROM range(9) r(i);
    CREATE TABLE u AS SELECT Aa, c AS name FROM t`);
});

afterAll(() => {
  connection.closeSync();
  instance.closeSync();
});

async function rows(sql: string): Promise<readonly (readonly unknown[])[]> {
  return (await connection.runAndReadAll(sql)).getRows();
}

async function serialised(call: string): Promise<Json> {
  const [[text] = []] = await rows(`SELECT ${call}::VARCHAR`);
  return JSON.parse(String(text)) as Json;
}

/** As the engine asks for them; null if DuckDB has to describe the statement. */
async function columnsOf(sql: string): Promise<ReturnType<typeof plannedColumns>> {
  const text = quotedText(sql);
  const tree = await serialised(
    `json_serialize_sql(${text}, skip_null := true, skip_empty := true)`,
  );
  const named = namedColumns(tree['statements']);
  if (named === null) return null;
  return plannedColumns(await serialised(`json_serialize_plan(${text}, optimize := true)`), named);
}

async function described(sql: string): Promise<readonly unknown[]> {
  const all = await rows(`DESCRIBE SELECT * FROM (\n${sql}\n) AS q`);
  return all.map(([name, type]) => ({ name, type }));
}

describe('the columns are known from the plan', () => {
  test.each([
    ['names after AS', 'SELECT Aa + 1 AS n, c AS "q w", d * 2 AS twice FROM t'],
    ['columns of a table', 'SELECT Aa, c, d, e FROM t'],
    ['columns in another case', 'SELECT AA, t.C FROM t'],
    ['columns of a subquery', 'SELECT N FROM (SELECT count(*) AS n FROM t) AS q'],
    ['columns of a CTE', 'WITH Q AS (SELECT 1 AS Zz) SELECT zZ FROM q'],
    ['one column by a pattern', `SELECT COLUMNS('^c$') AS x, Aa FROM t`],
    [
      'aggregates in order',
      'SELECT c, sum(d) AS total FROM t GROUP BY c ORDER BY total DESC LIMIT 3',
    ],
    [
      'a join',
      'SELECT t.Aa, name, u.c2 FROM t JOIN (SELECT Aa, name, 1 AS c2 FROM u) AS u USING (Aa)',
    ],
    ['no table', "SELECT 1 AS a, 'x' AS b, now() AS c, TRUE AS d, 1.5 AS e"],
  ])('%s', async (_name, sql) => {
    const columns = await columnsOf(sql);
    expect(columns).not.toBeNull();
    expect(columns).toEqual(await described(sql));
  });
});

describe('DuckDB has to be asked for', () => {
  test.each([
    ['a star', 'SELECT * FROM t'],
    ['columns by a pattern', `SELECT COLUMNS('^[cd]$') AS x, Aa FROM t`],
    ['fields', 'SELECT B.X, t.b.Y AS other FROM t'],
    ['an expression without a name', 'SELECT Aa + 1 FROM t'],
    ['a name that is given twice', 'SELECT Aa, c AS aA FROM t'],
    ['rows of fields', 'SELECT unnest(s) AS z FROM t'],
    ['a row', 'SELECT b FROM t'],
    ['a NULL without a type', 'SELECT NULL AS n'],
    ['rows of several queries', 'SELECT Aa AS x FROM t UNION ALL SELECT Aa FROM u'],
  ])('%s', async (_name, sql) => {
    expect(await columnsOf(sql)).toBeNull();
  });

  test('what the plan names in another way', () => {
    const expression = { alias: 'internal', return_type: { id: 'INTEGER', type_info: null } };
    const plan = { plans: [{ type: 'LOGICAL_PROJECTION', expressions: [expression] }] };
    expect(plannedColumns(plan, [{ name: 'internal', isExact: true }])).toHaveLength(1);
    expect(plannedColumns(plan, [{ name: 'mine', isExact: true }])).toBeNull();
    expect(plannedColumns(plan, [{ name: 'mine', isExact: false }])).toBeNull();
    expect(plannedColumns({ plans: [] }, [])).toBeNull();
  });
});
