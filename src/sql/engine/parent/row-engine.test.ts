import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import type { DuckDBConnection } from '@duckdb/node-api';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ResultColumn } from '../../plan/index.ts';
import type { FragmentEngine, ResultPart, RowFormat } from '../engine.ts';
import { startFragmentEngine } from './fragment-engine.ts';

const never = new AbortController().signal;
let root = '';
let engine: FragmentEngine;
let instance: DuckDBInstance;
let duckdb: DuckDBConnection;
let outputs = 0;

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'millrace-rows-'));
  instance = await DuckDBInstance.create(':memory:', { threads: '1' });
  duckdb = await instance.connect();
  engine = startFragmentEngine({
    memoryBytes: 256 * 2 ** 20,
    threads: 1,
    spillFolder: join(root, 'spill'),
    spillBytesMax: 2 ** 30,
  });
});

afterAll(async () => {
  await engine.close();
  duckdb.closeSync();
  instance.closeSync();
  rmSync(root, { recursive: true, force: true });
});

interface Result {
  readonly columns: readonly ResultColumn[];
  readonly parts: readonly ResultPart[];
  readonly rowCount?: number;
}

/** Written by a fragment, as results are. */
async function result(sql: string): Promise<Result> {
  const described = await duckdb.runAndReadAll(`DESCRIBE ${sql}`);
  const columns = (described.getRowsJson() as string[][]).map(([name = '', type = '']) => ({
    name,
    type,
  }));
  outputs += 1;
  const folder = join(root, `out-${outputs}`);
  mkdirSync(folder);
  const { parts } = await engine.run(
    {
      fragment: {
        sql,
        columns: columns.map(({ type }, at) => ({ name: `c${at}`, type })),
        scans: [],
        inputs: [],
        tables: [],
      },
      output: { kind: 'result' },
      session: { timeZone: 'UTC', now: '2026-01-01 00:00:00+00' },
      ranges: {},
      inputs: {},
      folder,
    },
    never,
  );
  return { columns, parts: parts.flatMap(({ files }) => files.map((name) => join(folder, name))) };
}

async function bytesOf(of: Result, format: RowFormat, timeZone?: string): Promise<Buffer> {
  const zone = timeZone === undefined ? {} : { timeZone };
  const pieces: Uint8Array[] = [];
  for await (const piece of engine.rows({ ...of, format, ...zone }, never)) pieces.push(piece);
  return Buffer.concat(pieces);
}

async function jsonOf(
  sql: string,
  timeZone?: string,
): Promise<{ columns: ResultColumn[]; rows: unknown[][] }> {
  const text = (await bytesOf(await result(sql), 'json', timeZone)).toString();
  return JSON.parse(text) as { columns: ResultColumn[]; rows: unknown[][] };
}

const one = async (expression: string): Promise<unknown> =>
  (await jsonOf(`SELECT ${expression} AS x`)).rows[0]?.[0];

test('JSON has the columns and the rows in their order', async () => {
  const sql = `SELECT i AS a, 'x' || i AS "A b" FROM range(3) t(i) ORDER BY i DESC`;
  expect(await jsonOf(sql)).toEqual({
    columns: [
      { name: 'a', type: 'BIGINT' },
      { name: 'A b', type: 'VARCHAR' },
    ],
    rows: [
      ['2', 'x2'],
      ['1', 'x1'],
      ['0', 'x0'],
    ],
  });
  expect((await jsonOf('SELECT 1 AS a WHERE false')).rows).toEqual([]);
});

test('small numbers and truth values are what JSON has for them', async () => {
  const small = `(-128)::TINYINT, 32767::SMALLINT, (-2147483648)::INTEGER, 255::UTINYINT, 65535::USMALLINT`;
  expect((await jsonOf(`SELECT ${small}`)).rows[0]).toEqual([-128, 32767, -2147483648, 255, 65535]);
  expect(await one('4294967295::UINTEGER')).toBe(4294967295);
  expect(await one('[true, false, NULL]')).toEqual([true, false, null]);
  expect(await one(`[0.1, 1e300, -1e-300, 1e16, 0]::DOUBLE[]`)).toEqual([
    0.1, 1e300, -1e-300, 1e16, 0,
  ]);
  expect(await one(`1.5::FLOAT`)).toBe(1.5);
  expect(await one(`['nan', 'inf', '-inf', NULL]::DOUBLE[]`)).toEqual([
    'NaN',
    'Infinity',
    '-Infinity',
    null,
  ]);
});

test('writes numbers of wide types as strings, even short ones', async () => {
  expect(await one('1::BIGINT')).toBe('1');
  expect(await one('18446744073709551615::UBIGINT')).toBe('18446744073709551615');
  expect(await one(`'-170141183460469231731687303715884105728'::HUGEINT`)).toBe(
    '-170141183460469231731687303715884105728',
  );
  expect(await one('340282366920938463463374607431768211455::UHUGEINT')).toBe(
    '340282366920938463463374607431768211455',
  );
  expect(await one('1.50::DECIMAL(4,2)')).toBe('1.50');
  expect(await one(`'-0.00000000000000000001'::DECIMAL(38,20)`)).toBe('-0.00000000000000000001');
  expect(await one(`'1234567890123456789012345678901234567890123'::BIGNUM`)).toBe(
    '1234567890123456789012345678901234567890123',
  );
});

test('times are as DuckDB writes them', async () => {
  const row = `DATE '2024-02-29', TIME '01:02:03.5', TIMESTAMP '2024-01-01 00:00:00.000001', TIMESTAMP_S '2024-01-01 00:00:01',
    TIMESTAMP_MS '2024-01-01 00:00:01.5', TIMESTAMP_NS '2024-01-01 00:00:01.123456789', '10:00:00+02'::TIMETZ,
    INTERVAL '1 year 2 days 3 seconds', DATE 'infinity', TIMESTAMP '-infinity', NULL::DATE`;
  expect((await jsonOf(`SELECT ${row}`)).rows[0]).toEqual([
    '2024-02-29',
    '01:02:03.5',
    '2024-01-01 00:00:00.000001',
    '2024-01-01 00:00:01',
    '2024-01-01 00:00:01.5',
    '2024-01-01 00:00:01.123456789',
    '10:00:00+02',
    '1 year 2 days 00:00:03',
    'infinity',
    '-infinity',
    null,
  ]);
  const instant = `SELECT TIMESTAMPTZ '2024-07-01 12:00:00+00' AS x`;
  expect((await jsonOf(instant)).rows).toEqual([['2024-07-01 12:00:00+00']]);
  expect((await jsonOf(instant, 'Asia/Kolkata')).rows).toEqual([['2024-07-01 17:30:00+05:30']]);
});

test('texts are escaped, bytes are base64', async () => {
  expect(await one(`'a"b\\c' || chr(10) || chr(0) || chr(8232) || '🦆'`)).toBe(
    'a"b\\c\n\0\u2028🦆',
  );
  expect(await one(`['', NULL, 'null']`)).toEqual(['', null, 'null']);
  expect(await one(`'\\x00\\xFFa'::BLOB`)).toBe(Buffer.from([0, 255, 97]).toString('base64'));
  expect(await one(`'b'::ENUM('a', 'b')`)).toBe('b');
  expect(await one(`'7d444840-9dc0-11d1-b245-5ffdce74fad2'::UUID`)).toBe(
    '7d444840-9dc0-11d1-b245-5ffdce74fad2',
  );
  expect(await one(`'0101'::BIT`)).toBe('0101');
  expect(await one(`'{"a": [1]}'::JSON`)).toBe('{"a": [1]}');
});

test('nested values are JSON, by the types inside of them', async () => {
  expect(await one(`{'a': 1, 'b "c"': [1::BIGINT, NULL], 'd': {'e': NULL::DATE}}`)).toEqual({
    a: 1,
    'b "c"': ['1', null],
    d: { e: null },
  });
  expect(await one(`[[1, 2], [], NULL, [NULL]]`)).toEqual([[1, 2], [], null, [null]]);
  expect(await one(`[1, 2]::INTEGER[2]`)).toEqual([1, 2]);
  expect(await one(`MAP {'k': [1], 'l': NULL}`)).toEqual([
    { key: 'k', value: [1] },
    { key: 'l', value: null },
  ]);
  expect(await one('MAP {}::MAP(VARCHAR, INTEGER)')).toEqual([]);
  expect(await one(`union_value(num := 2)::UNION(num INTEGER, str VARCHAR)`)).toEqual({
    tag: 'num',
    value: 2,
  });
  expect(await one(`[{'x': MAP {1: ['a']}}]`)).toEqual([{ x: [{ key: 1, value: ['a'] }] }]);
  expect(await one('NULL::STRUCT(a INTEGER)')).toBeNull();
  expect(await one('NULL')).toBeNull();
});

test('NDJSON is one object a line, and no two names are the same', async () => {
  const sql = `SELECT 1 AS a, 'x' || chr(10) AS a, NULL AS "A" UNION ALL SELECT 2, 'y', NULL`;
  const text = (await bytesOf(await result(sql), 'ndjson')).toString();
  expect(text).toBe('{"a":1,"a_1":"x\\n","A_2":null}\n{"a":2,"a_1":"y","A_2":null}\n');
  expect((await bytesOf(await result('SELECT 1 WHERE false'), 'ndjson')).toString()).toBe('');
});

test('CSV has a header, quotes what needs it, and tells NULL from an empty text', async () => {
  const sql = `SELECT * FROM (VALUES (1::BIGINT, 'a,b', [1, 2], 1.5), (NULL, '', NULL, NULL), (3, 'say "x"' || chr(13), [], 2)) t("n", "te,xt", l, d)`;
  const text = (await bytesOf(await result(sql), 'csv')).toString();
  expect(text).toBe('n,"te,xt",l,d\n1,"a,b","[1, 2]",1.5\n,"",,\n3,"say ""x""\r",[],2.0\n');
  const path = join(root, 'back.csv');
  writeFileSync(path, text);
  const back = await duckdb.runAndReadAll(
    `SELECT n, "te,xt" FROM read_csv('${path}', header = true, nullstr = '')`,
  );
  expect(back.getRowsJson().map(([n]) => n)).toEqual(['1', null, '3']);
});

test('Parquet has the names and types of the query, and the file is gone afterwards', async () => {
  const sql = `SELECT 5::HUGEINT AS h, [7::HUGEINT] AS l, 6::UHUGEINT AS u, 'b'::ENUM('a', 'b') AS e, 1 AS e, DATE '2024-01-01' AS d`;
  const path = join(root, 'back.parquet');
  writeFileSync(path, await bytesOf(await result(sql), 'parquet'));
  const described = await duckdb.runAndReadAll(`DESCRIBE FROM '${path}'`);
  expect((described.getRowsJson() as string[][]).map(([name, type]) => `${name} ${type}`)).toEqual([
    'h DECIMAL(38,0)',
    'l DECIMAL(38,0)[]',
    'u VARCHAR',
    'e VARCHAR',
    'e_1 INTEGER',
    'd DATE',
  ]);
  const rows = await duckdb.runAndReadAll(`FROM '${path}'`);
  expect(rows.getRowsJson()).toEqual([['5', ['7'], '6', 'b', 1, '2024-01-01']]);
  const spilled = readdirSync(join(root, 'spill'), { recursive: true }).filter((name) =>
    String(name).endsWith('.parquet'),
  );
  expect(spilled).toEqual([]);
});

test('Parquet has infinities and years before Christ as they are', async () => {
  const moments = ['infinity', '-infinity', '0044-03-15 (BC) 12:00:00'];
  const types = ['TIMESTAMP', 'TIMESTAMP_S', 'TIMESTAMP_MS', 'TIMESTAMPTZ', 'DATE'];
  const columns = types.map((type, at) => `CAST(t AS ${type}) AS c${at}`);
  const sql = `SELECT ${columns.join(', ')} FROM (SELECT unnest(${JSON.stringify(moments).replaceAll('"', "'")}) AS t)`;
  const path = join(root, 'moments.parquet');
  writeFileSync(path, await bytesOf(await result(sql), 'parquet'));
  const texts = (from: string): string => `SELECT CAST(COLUMNS(*) AS VARCHAR) FROM ${from}`;
  const given = await duckdb.runAndReadAll(texts(`'${path}'`));
  const own = await duckdb.runAndReadAll(texts(`(${sql})`));
  expect(given.getRowsJson()).toEqual(own.getRowsJson());
});

test('a result without rows has its columns, whatever their type', async () => {
  const types = `row(1, 'a') AS r, [row(2, NULL)] AS l, NULL AS n, MAP {1: 'x'} AS m,
    union_value(u := 1) AS u, 'x'::ENUM('x', 'y''s') AS e, '{}'::JSON AS j`;
  const { columns } = await result(`SELECT ${types}`);
  const parts: string[] = [];
  for (const format of ['json', 'ndjson', 'csv'] as const)
    expect((await bytesOf({ columns, parts }, format)).toString()).not.toContain('null');
  expect(JSON.parse((await bytesOf({ columns, parts }, 'json')).toString())).toEqual({
    columns,
    rows: [],
  });
});

test('several parts are one result, in their order, and none are an empty one', async () => {
  const [first, second] = [await result('SELECT 1 AS a'), await result('SELECT 2 AS a')];
  const both = { columns: first.columns, parts: [...second.parts, ...first.parts] };
  expect((await bytesOf(both, 'csv')).toString()).toBe('a\n2\n1\n');
  const none = { columns: first.columns, parts: [] };
  expect((await bytesOf(none, 'csv')).toString()).toBe('a\n');
  expect(JSON.parse((await bytesOf(none, 'json')).toString())).toMatchObject({ rows: [] });
  expect((await bytesOf(none, 'parquet')).length).toBeGreaterThan(0);
});

test('more than fits in one piece comes whole', async () => {
  const big = await result(`SELECT i, repeat('x', 3000) AS s FROM range(5000) t(i)`);
  const text = (await bytesOf(big, 'ndjson')).toString();
  expect(text.split('\n')).toHaveLength(5001);
  expect(text).toContain('{"i":"4999",');
});

test('reports missing parts and unknown types as typed errors', async () => {
  const columns = [{ name: 'a', type: 'INTEGER' }];
  const gone = bytesOf({ columns, parts: [join(root, 'gone.parquet')] }, 'json');
  await expect(gone).rejects.toMatchObject({ code: 'table_changed' });
  const odd = bytesOf({ columns: [{ name: 'a', type: 'NO SUCH TYPE' }], parts: [] }, 'json');
  await expect(odd).rejects.toMatchObject({ code: 'unimplemented' });
});

const MIXED = `SELECT i, CASE WHEN i % 3 = 0 THEN NULL ELSE 'a"\\,\n\r\t''' || chr(1) || chr(0) || 'ü👩‍👧' || i END AS s, i / 4 AS d, (i / 8)::DECIMAL(9, 3) AS m,
  '2024-02-29'::DATE + i::INTEGER AS t FROM range(20000) r(i)`;

test.each(['json', 'ndjson', 'csv'] as const)(
  'few rows as %s are the same and in the same order as one by one',
  async (format) => {
    const one = await result(MIXED);
    const more = await result(`SELECT * FROM (${MIXED}) ORDER BY i DESC`);
    const of = { columns: one.columns, parts: [...one.parts, ...more.parts] };
    const rows = await bytesOf(of, format);
    expect(await bytesOf({ ...of, rowCount: 40_000 }, format)).toEqual(rows);
    // Of one column, a row may be an empty line.
    const empty = await result(
      `SELECT CASE WHEN i % 3 < 2 THEN repeat(chr(10), i::INTEGER % 3) END AS s FROM range(9) t(i)`,
    );
    expect(await bytesOf({ ...empty, rowCount: 9 }, format)).toEqual(await bytesOf(empty, format));
    const none = await result('SELECT 1 AS a WHERE false');
    expect(await bytesOf({ ...none, rowCount: 0 }, format)).toEqual(await bytesOf(none, format));
  },
);

test.each([
  [
    'a text that is stored once and is in every row',
    "SELECT repeat('x', 20000) AS s FROM range(2000)",
  ],
  ['a value of unknown length', 'SELECT [i, i + 1] AS l FROM range(3000) r(i)'],
])('%s is sent row by row', async (_, sql) => {
  const of = await result(sql);
  expect((await bytesOf({ ...of, rowCount: 2000 }, 'csv')).equals(await bytesOf(of, 'csv'))).toBe(
    true,
  );
});
