import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DuckDBInstance, type DuckDBConnection } from '@duckdb/node-api';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { decoded, encoded } from './codec.ts';
import { parseType } from './parse-type.ts';

let connection: DuckDBConnection;
let folder: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-codec-'));
  connection = await (await DuckDBInstance.create(':memory:', { threads: '1' })).connect();
  // A zone that would show if a time were moved.
  await connection.run(`SET TimeZone = 'America/New_York'`);
});
afterAll(() => {
  connection.closeSync();
  rmSync(folder, { recursive: true });
});

/** Values, most of them the first and the last of their type, each as an expression. */
const values: Readonly<Record<string, readonly string[]>> = {
  BOOLEAN: ['true', 'false'],
  TINYINT: ['-128', '127'],
  UTINYINT: ['0', '255'],
  SMALLINT: ['-32768', '32767'],
  USMALLINT: ['65535'],
  INTEGER: ["'-2147483648'", '2147483647'],
  UINTEGER: ['4294967295'],
  BIGINT: ["'-9223372036854775808'", '9223372036854775807'],
  UBIGINT: ['18446744073709551615'],
  HUGEINT: [
    "'-170141183460469231731687303715884105728'",
    "'170141183460469231731687303715884105727'",
    '9223372036854775807',
    '9223372036854775808',
    "'-9223372036854775808'",
    "'-9223372036854775809'",
    '0',
  ],
  UHUGEINT: [
    '0',
    "'340282366920938463463374607431768211455'",
    '18446744073709551615',
    '18446744073709551616',
  ],
  FLOAT: ["'nan'", "'inf'", "'-inf'", "'-0.0'", '1.1', "'1e-45'"],
  DOUBLE: ["'nan'", "'inf'", "'-inf'", "'-0.0'", '0.1', "'5e-324'", "'1.7976931348623157e308'"],
  'DECIMAL(4,1)': ['-999.9'],
  'DECIMAL(9,2)': ['9999999.99'],
  'DECIMAL(18,3)': ["'-999999999999999.999'"],
  'DECIMAL(38,0)': ["'99999999999999999999999999999999999999'"],
  'DECIMAL(38,10)': ["'-9999999999999999999999999999.9999999999'"],
  VARCHAR: ["''", "'a' || chr(0) || 'ü'", "'it''s\n'"],
  BLOB: ["''", "'\\x00\\xFF'"],
  BIT: ["'0'", "'1010101010101'"],
  BIGNUM: ["'-123456789012345678901234567890123456789012345678901234567890'", '0'],
  UUID: ["'ffffffff-ffff-ffff-ffff-ffffffffffff'", "'00000000-0000-0000-0000-000000000000'"],
  JSON: [`'{"a": [1, null]}'`],
  DATE: ["'infinity'", "'-infinity'", "'5881580-07-10'", "'5877642-06-25 (BC)'"],
  TIME: ["'24:00:00'", "'00:00:00.000001'"],
  TIME_NS: ["'24:00:00'", "'12:00:00.123456789'"],
  'TIME WITH TIME ZONE': ["'12:00:00.5+05:30'", "'23:59:59-15:59:59'", "'24:00:00+15:59:59'"],
  TIMESTAMP: [
    "'infinity'",
    "'-infinity'",
    "'294247-01-10 04:00:54.775806'",
    "'290309-12-22 (BC) 00:00:00'",
  ],
  TIMESTAMP_S: [
    "'infinity'",
    "'-infinity'",
    "'2020-01-01 00:00:01'",
    "'290309-12-22 (BC) 00:00:00'",
  ],
  TIMESTAMP_MS: [
    "'infinity'",
    "'-infinity'",
    "'2020-01-01 00:00:01.5'",
    "'1969-12-31 23:59:59.999'",
  ],
  TIMESTAMP_NS: [
    "'infinity'",
    "'2262-04-11 23:47:16.854775806'",
    "'1677-09-22 00:00:00.000000001'",
  ],
  'TIMESTAMP WITH TIME ZONE': [
    "'infinity'",
    "'-infinity'",
    "'294247-01-10 04:00:54.775806+00'",
    "'2020-03-08 07:30:00+00'",
  ],
  INTERVAL: [
    "'-1 months -2 days -3 microseconds'",
    "'1 month -5 microseconds'",
    'to_months(2147483647)',
    'to_days(-2147483648)',
    'to_microseconds(9223372036854775807)',
    'to_microseconds(-9223372036854775808)',
    "'1 day 1 millisecond'",
    "'25 hours'",
    "'0 days'",
  ],
  "ENUM('x', 'it''s')": ["'x'", "'it''s'"],
  'INTEGER[]': ['[]', '[1, NULL]'],
  'HUGEINT[]': ['[]', '[1, NULL, 170141183460469231731687303715884105727]'],
  'HUGEINT[][]': ['[[1], NULL, []]'],
  'INTEGER[2]': ['[1, NULL]'],
  'HUGEINT[2][]': ['[[1, 2], NULL]'],
  'STRUCT("a" INTEGER[2], "b" HUGEINT)[]': [
    "[{'a': [1, NULL], 'b': 5}, NULL, {'a': NULL, 'b': NULL}]",
  ],
  'STRUCT("a" INTEGER[2][])': ["{'a': [[1, 2], NULL]}", "{'a': NULL}"],
  'STRUCT("a" INTEGER[])[2]': ["[{'a': [1, 2]}, NULL]"],
  'MAP(INTEGER, HUGEINT[2])': ['MAP {1: [5, 6], 2: NULL}', 'MAP {}'],
  'UNION("a" INTEGER[2], "b" HUGEINT)': [
    'union_value(a := [1, 2]::INTEGER[2])',
    'union_value(b := 7::HUGEINT)',
  ],
  'STRUCT("a" INTEGER, "b" VARCHAR)': ["{'a': 1, 'b': NULL}", "{'a': NULL, 'b': NULL}"],
  'STRUCT("it\'s" HUGEINT, "b" INTERVAL[])': [
    "{'it''s': 1, 'b': ['-1 day']}",
    "{'it''s': NULL, 'b': NULL}",
  ],
  'MAP(VARCHAR, INTEGER)': ["MAP {'a': 1, 'b': NULL}", 'MAP {}'],
  "MAP(ENUM('x', 'y'), HUGEINT)": ["MAP {'y': 1, 'x': NULL}", 'MAP {}'],
  'UNION("a" INTEGER, "b" HUGEINT)': [
    'union_value(b := 5::HUGEINT)',
    'union_value(a := NULL::INTEGER)',
    'union_value(a := 7)',
  ],
  VARIANT: ['1', "'x'", "{'a': [1, 2]}"],
  GEOMETRY: ["'POINT (1 2)'", "'LINESTRING (0 0, 1 1)'"],
  "GEOMETRY('OGC:CRS84')": ["'POINT (1 2)'"],
};

async function rowsOf(sql: string): Promise<unknown[][]> {
  return (await connection.runAndReadAll(sql)).getRowsJson();
}

/** Type, text and order of values, which show more than equality does: -0.0, the zone of a time. */
const SHOWN = `typeof(x) AS of, CAST(x AS VARCHAR) AS shown, row_number() OVER () AS place`;

async function expectSame(type: string, table: string): Promise<void> {
  const file = join(folder, 'values.parquet');
  const expected = await rowsOf(`SELECT ${SHOWN} FROM ${table}`);
  const columns = `SELECT ${encoded(type, 'x')} AS c0 FROM ${table}`;
  await connection.run(`COPY (${columns}) TO '${file}' (FORMAT parquet)`);
  const back = `SELECT ${decoded(parseType(type), 'c0')} AS x FROM read_parquet('${file}')`;
  expect(await rowsOf(`SELECT ${SHOWN} FROM (${back})`)).toEqual(expected);
  const other = `SELECT count(*) FROM (SELECT x FROM ${table} EXCEPT ALL ${back})`;
  if (type !== 'VARIANT' && !type.startsWith('GEOMETRY'))
    expect(await rowsOf(other)).toEqual([['0']]);
}

describe('survives a round trip through Parquet:', () => {
  test.each(Object.keys(values))('%s', async (type) => {
    const rows = [...(values[type] ?? []), 'NULL'].map((value) => `(CAST(${value} AS ${type}))`);
    await connection.run(`CREATE OR REPLACE TEMP TABLE v AS FROM (VALUES ${rows.join(', ')}) t(x)`);
    await expectSame(type, 'v');
    await expectSame(type, '(SELECT x FROM v WHERE false)');
  });

  test('rows without field names', async () => {
    const rows = `(SELECT unnest([row(1, 5::HUGEINT), NULL, row(NULL, NULL)]) AS x)`;
    await expectSame('STRUCT(INTEGER, HUGEINT)', rows);
  });

  test('NULL without a type', async () => {
    const file = join(folder, 'nothing.parquet');
    const nothing = `SELECT ${encoded('"NULL"', 'x')} AS c0 FROM (SELECT NULL AS x)`;
    await connection.run(`COPY (${nothing}) TO '${file}' (FORMAT parquet)`);
    const back = `SELECT ${decoded('"NULL"', 'c0')} AS x FROM read_parquet('${file}')`;
    expect(await rowsOf(`SELECT typeof(x), x FROM (${back})`)).toEqual([['"NULL"', null]]);
  });
});

test('a column is written with the declared type, whatever the query gives', async () => {
  const sql = encoded('DECIMAL(13,2)', 'x');
  expect(await rowsOf(`SELECT typeof(${sql}) FROM (SELECT 1.5::DECIMAL(14,3) AS x)`)).toEqual([
    ['DECIMAL(13,2)'],
  ]);
});

describe('a type is read from the text that DuckDB gives it', () => {
  const types = [
    ...Object.keys(values),
    '"NULL"',
    'STRUCT("A b" INTEGER, "q""x" TIMESTAMP WITH TIME ZONE[])',
    'STRUCT(TIMESTAMP WITH TIME ZONE, INTEGER[])',
    'MAP(VARCHAR, STRUCT("a" INTEGER)[][3])',
  ];
  test.each(types)('%s', (type) => {
    expect(parseType(type).sql).toBe(type);
  });

  test('a coordinate system stays, also one that DuckDB does not know', () => {
    expect(parseType("GEOMETRY('it''s')[]").sql).toBe("GEOMETRY('it''s')[]");
    expect(decoded(parseType("GEOMETRY('it''s')"), 'c0')).toBe(
      "st_setcrs(st_geomfromwkb(c0), 'it''s')",
    );
  });

  test('field names need no quotes', () => {
    expect(parseType('STRUCT(a INTEGER, map MAP(INTEGER, DATE))').sql).toBe(
      'STRUCT("a" INTEGER, "map" MAP(INTEGER, DATE))',
    );
  });

  test.each([
    '',
    'MOOD',
    'INTEGER[',
    'STRUCT()',
    'ENUM(x)',
    'DECIMAL(1',
    'INTEGER x',
    'MAP(INTEGER)',
  ])('refuses the unknown type %s', (type) => {
    expect(() => parseType(type)).toThrow('it uses the type');
  });
});
