import { quotedText } from '../../plan/index.ts';
import { DuckDBInstance } from '@duckdb/node-api';
import type { DuckDBConnection } from '@duckdb/node-api';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { bytesRead } from './bytes-read.ts';

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

/** `lines` is a text file: no column of it can be read alone. */
const tables = [
  {
    name: 't',
    bytes: 1_111,
    columns: [
      ['a', 1],
      ['B', 10],
      ['c d', 100],
    ],
  },
  {
    name: 'U',
    bytes: 22_000,
    columns: [
      ['a', 2_000],
      ['e', 20_000],
    ],
  },
  { name: 'lines', bytes: 300_000, columns: null },
] as const;

async function read(sql: string): Promise<number | null> {
  const found = await connection.runAndReadAll(
    `SELECT json_serialize_sql(${quotedText(sql)}, skip_null := true, skip_empty := true)::VARCHAR`,
  );
  const { statements } = JSON.parse(String(found.getRows()[0]?.[0])) as { statements: unknown };
  return bytesRead(statements, tables);
}

test.each([
  ['SELECT 1', 0],
  ['SELECT count(*) FROM t', 0],
  ['SELECT b FROM T', 10],
  ['SELECT sum("c d") FROM t WHERE x.A > 1 ORDER BY b', 111],
  ['SELECT t.b, x.e FROM t, u AS x WHERE t.a = x.a', 11 + 22_000],
  ['SELECT b FROM t JOIN u USING (a)', 11 + 2_000],
  ['SELECT b FROM t UNION ALL SELECT b FROM t', 20],
  ['SELECT 1 FROM lines', 300_000],
])('a statement reads the columns that it names: %s', async (sql, bytes) => {
  expect(await read(sql)).toBe(bytes);
});

test.each([
  ['SELECT * FROM t', 1_111],
  ['FROM t', 1_111],
  ['SELECT t FROM t', 1_111],
  ['SELECT main.t FROM t', 1_111],
  ['SELECT to_json(x) FROM t AS x', 1_111],
  [`SELECT COLUMNS('a.*') FROM t`, 1_111],
  ['SELECT * FROM (SELECT b FROM t)', 10],
  ['SELECT t.* FROM t, u WHERE u.a = 1', 1_111 + 22_000],
  ['WITH w AS (SELECT b FROM t) SELECT * FROM w, u', 10 + 22_000],
  ['SELECT b FROM t WHERE EXISTS (SELECT * FROM u WHERE u.a = t.a)', 11 + 2_000],
  ['SELECT b FROM t WHERE a IN (SELECT * FROM u)', 11 + 22_000],
])('a star reads all columns of its own tables: %s', async (sql, bytes) => {
  expect(await read(sql)).toBe(bytes);
});

test.each([
  'SELECT b FROM t NATURAL JOIN u',
  'SELECT b FROM t POSITIONAL JOIN u',
  'SELECT x.m FROM t AS x(m)',
  'SELECT sum(#2) FROM t',
  'SELECT b FROM t, range(3)',
  'FROM t PIVOT (sum(a) FOR b IN (1, 2))',
  'SELECT * FROM (SUMMARIZE t)',
])('the text does not tell what is read: %s', async (sql) => {
  expect(await read(sql)).toBeNull();
});
