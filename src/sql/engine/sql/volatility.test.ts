import { DuckDBInstance } from '@duckdb/node-api';
import { expect, test } from 'vitest';
import { readsClock, isCacheable } from './volatility.ts';

/** `error` only ever ends the query, the user is always the same, and the others have names of types in them. */
const HARMLESS = ['error', 'user', 'map_to_pg_oid', 'format_pg_type'];

test('treats every function that DuckDB does not call consistent as volatile', async () => {
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  const functions = await connection.runAndReadAll(`
    SELECT DISTINCT function_name FROM duckdb_functions()
    WHERE function_type = 'scalar' AND stability <> 'CONSISTENT'`);
  const macros = await connection.runAndReadAll(`
    SELECT DISTINCT function_name, macro_definition FROM duckdb_functions()
    WHERE function_type IN ('macro', 'table_macro')`);
  connection.closeSync();
  instance.closeSync();
  const names = functions.getRows().map(([name]) => String(name));
  expect(names).toContain('now');
  expect(names).toContain('random');
  for (const [name, definition] of macros.getRows()) {
    if (!isCacheable(String(definition))) names.push(String(name));
  }
  expect(names).toContain('ago');
  const taken = names.filter((name) => isCacheable(`SELECT ${name}()`));
  expect(taken.filter((name) => !HARMLESS.includes(name))).toEqual([]);
});

test('recognises reading the clock in any form', () => {
  for (const sql of [
    'SELECT NOW()',
    'SELECT "now"()',
    'SELECT now /* then */ ()',
    'SELECT Current_Timestamp',
    'SELECT localtime',
    'SELECT age(d) FROM t',
    'SELECT Ago(INTERVAL 1 DAY)',
    'SELECT pg_conf_load_time()',
    `FROM query('SELECT n' || 'ow()')`,
  ])
    expect([sql, isCacheable(sql), readsClock(sql)]).toEqual([sql, false, true]);
});

test('treats types that depend on the current day as volatile', () => {
  for (const sql of [
    `SELECT '12:00+00'::TIMETZ AT TIME ZONE 'Europe/Berlin'`,
    `SELECT TIME\nWITH TIME ZONE '12:00+00'`,
  ])
    expect([sql, isCacheable(sql), readsClock(sql)]).toEqual([sql, false, false]);
});

test('treats other statements as cacheable', () => {
  for (const sql of [
    'SELECT known, "nowhere", average, pages FROM t WHERE d < DATE \'2024-01-01\'',
    `SELECT count(*) FROM t WHERE ts > TIMESTAMP '2024-01-01' AT TIME ZONE 'UTC' GROUP BY storage`,
  ])
    expect([sql, isCacheable(sql)]).toEqual([sql, true]);
});
