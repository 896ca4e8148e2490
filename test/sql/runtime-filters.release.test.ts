import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { EngineQueries } from './engine-queries.ts';
import { type MadeTables, madeTables } from './made-tables.ts';
import type { Oracle } from './oracle.ts';

// Room for a busy machine: alone it takes seconds.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

/** Everything is repartitioned, and filtered wherever that is allowed. */
const FORCED = {
  ...{ runtimeFilters: 2, shufflePartitions: 3, broadcastThresholdBytes: 0 },
  ...{ singleFragmentBytes: 0, targetPartitionBytes: 0 },
};

/** The keys of the types that can be filtered, and values at the ends of what they can hold. */
const KEYS: Readonly<Record<string, string>> = {
  BOOLEAN: 'i % 3 = 0',
  TINYINT: 'i - 128',
  INTEGER: 'CASE i WHEN 0 THEN -2147483648 WHEN 1 THEN 2147483647 ELSE i END',
  UBIGINT: "CASE i WHEN 0 THEN '18446744073709551615'::UBIGINT ELSE i END",
  BIGINT:
    "CASE i WHEN 0 THEN '-9223372036854775808'::BIGINT WHEN 1 THEN '9223372036854775807'::BIGINT ELSE i END",
  'DECIMAL(4,2)': 'i / 4 - 10',
  'DECIMAL(38,10)':
    "CASE i WHEN 0 THEN '-9999999999999999999999999999.9999999999' ELSE i || '.0000000001' END",
  VARCHAR:
    "CASE i % 8 WHEN 0 THEN '' WHEN 1 THEN 'it''s ' || i WHEN 2 THEN 'ü€😀' || i WHEN 3 THEN '\\' || chr(10) || i WHEN 4 THEN repeat('long ', 300) || i WHEN 5 THEN 'A' WHEN 6 THEN 'a' ELSE '$from' || i END",
  UUID: "('00000000-0000-0000-0000-0000000000' || lpad(i::VARCHAR, 2, '0'))",
  DATE: "CASE i WHEN 0 THEN 'infinity'::DATE WHEN 1 THEN '-infinity'::DATE WHEN 2 THEN '0044-03-15 (BC)'::DATE WHEN 3 THEN '12024-01-01'::DATE ELSE '2024-02-28'::DATE + i::INTEGER END",
  TIMESTAMP:
    "CASE i WHEN 0 THEN 'infinity'::TIMESTAMP WHEN 1 THEN '0044-03-15 (BC) 01:02:03'::TIMESTAMP ELSE '2024-02-28 23:59:59.999999'::TIMESTAMP + to_microseconds(i) END",
  TIMESTAMP_NS: 'make_timestamp_ns(1700000000123456789 + i)',
};
/** Equal values may have different texts or bytes, or no text that means exactly them. */
const NO_KEYS: Readonly<Record<string, string>> = {
  DOUBLE:
    "CASE i WHEN 0 THEN '-0.0' WHEN 1 THEN '0.0' WHEN 2 THEN 'nan' WHEN 3 THEN 'inf' ELSE i / 3 END",
  FLOAT: "CASE i WHEN 0 THEN '-0.0' WHEN 1 THEN 'nan' ELSE i / 3 END",
  BLOB: "'\\x00' || chr((65 + i % 20)::INTEGER)",
  'TIMESTAMP WITH TIME ZONE': "'2024-10-27 00:30:00+00'::TIMESTAMPTZ + to_minutes(i)",
  HUGEINT: 'i * 100000000000000000000',
  INTERVAL: 'to_days(i::INTEGER % 40)',
};

let tables: MadeTables;
let oracle: Oracle;
let engine: EngineQueries;
beforeAll(async () => {
  const types = Object.entries({ ...KEYS, ...NO_KEYS });
  const columns = (nulls: string): string =>
    types
      .map(([type, sql], at) => `CASE WHEN ${nulls} THEN NULL ELSE (${sql})::${type} END AS k${at}`)
      .join(', ');
  const made: Readonly<Record<string, string>> = {
    large: `SELECT i AS id, CASE WHEN i % 10 = 9 THEN NULL ELSE i % 50 END::INTEGER AS k, i % 7 AS j FROM range(600) t(i)`,
    small: `SELECT i AS id, CASE WHEN i = 4 THEN NULL ELSE i * 3 + 5 END::INTEGER AS k FROM range(8) t(i)`,
    full: `SELECT i AS id, (i * 3)::INTEGER AS k FROM range(8) t(i)`,
    nobody: `SELECT 1 AS id, 2::INTEGER AS k WHERE false`,
    nulls: `SELECT i AS id, NULL::INTEGER AS k FROM range(5) t(i)`,
    many: `SELECT i AS id, (i * 11)::INTEGER AS k FROM range(4000) t(i)`,
    probes: `SELECT i AS id, ${columns('i % 9 = 8')} FROM range(90) t(i)`,
    builds: `SELECT i AS id, ${columns('i = 7')} FROM range(14) t(i)`,
    nul: `SELECT i AS id, 'a' || chr(0) || i AS k FROM range(9) t(i)`,
  };
  // Some of the values are not found by Bloom filters.
  tables = await madeTables(made, ', WRITE_BLOOM_FILTER true');
  ({ oracle, engine } = tables);
});
afterAll(() => tables.close());

/** The columns that are filtered, by the answer that is the same with and without. */
async function filtered(
  sql: string,
  settings: Readonly<Record<string, number>> = {},
): Promise<readonly string[]> {
  const { plan, answer } = await engine.ask(sql, { ...FORCED, ...settings });
  expect(await oracle.judge(sql, answer)).toBeNull();
  const off = await engine.ask(sql, { ...FORCED, ...settings, runtimeFilters: 0 });
  expect(off.plan.filters).toBeUndefined();
  expect(await oracle.judge(sql, off.answer)).toBeNull();
  expect(engine.faults).toEqual([]);
  expect(plan.single).toBeNull();
  return (plan.filters ?? []).map(({ name }) => name);
}

describe('a join filters the scan of the side whose unmatched rows it drops', () => {
  test.each([
    ['inner', 'SELECT l.id, s.id FROM large l JOIN small s USING (k)', /^(large|small)\.k$/],
    ['semi', 'SELECT l.id FROM large l WHERE k IN (SELECT k FROM small)', /^(large|small)\.k$/],
    ['left', 'SELECT l.id, s.id FROM small s LEFT JOIN large l USING (k)', /^large\.k$/],
    ['right', 'SELECT l.id, s.id FROM large l RIGHT JOIN small s USING (k)', /^large\.k$/],
    [
      'anti',
      'SELECT s.id FROM small s WHERE NOT EXISTS (SELECT 1 FROM large l WHERE l.k = s.k)',
      /^large\.k$/,
    ],
    [
      'a group',
      'SELECT s.id, n FROM small s JOIN (SELECT k, count(*) AS n FROM large GROUP BY k) USING (k)',
      /^(large|small)\.k$/,
    ],
    [
      'NULL with NULL',
      'SELECT l.id, s.id FROM large l JOIN small s ON l.k IS NOT DISTINCT FROM s.k',
      /^(large|small)\.k$/,
    ],
    [
      'NULL with none',
      'SELECT l.id, s.id FROM large l JOIN "full" s ON l.k IS NOT DISTINCT FROM s.k',
      /^(large|full)\.k$/,
    ],
    [
      'two keys',
      'SELECT l.id, s.id FROM large l JOIN small s ON l.k = s.k AND l.j = s.id',
      /^(large|small)\.(k|j|id)$/,
    ],
    ['no keys', 'SELECT l.id, s.id FROM large l JOIN nobody s USING (k)', /^(large|nobody)\.k$/],
    ['only NULL', 'SELECT l.id, s.id FROM large l JOIN nulls s USING (k)', /^(large|nulls)\.k$/],
    [
      'only NULL, equal',
      'SELECT l.id, s.id FROM large l JOIN nulls s ON l.k IS NOT DISTINCT FROM s.k',
      /^(large|nulls)\.k$/,
    ],
    ['many keys', 'SELECT l.id, m.id FROM large l JOIN many m USING (k)', /^(large|many)\.k$/],
    [
      'a union',
      'SELECT u.id, s.id FROM (SELECT id, k FROM large UNION ALL SELECT id, k FROM many) u JOIN small s USING (k)',
      /\.k$/,
    ],
  ])('%s', async (_, sql, allowed) => {
    const names = await filtered(sql);
    expect(names.length).toBeGreaterThan(0);
    expect(names.filter((name) => !allowed.test(name))).toEqual([]);
    expect(await filtered(sql, { shufflePartitions: 16, targetPartitionBytes: 1_000 })).toEqual(
      names,
    );
  });
});

describe('no scan is filtered', () => {
  test.each([
    ['below a full join', 'SELECT l.id, s.id FROM large l FULL JOIN small s USING (k)'],
    [
      'where NOT IN depends on NULL',
      'SELECT l.id FROM large l WHERE k NOT IN (SELECT k FROM small)',
    ],
    ['where NOT IN has no NULL', 'SELECT l.id FROM large l WHERE k NOT IN (SELECT k FROM "full")'],
    ['where IN is a value', 'SELECT l.id, k IN (SELECT k FROM small) FROM large l'],
    ['by an expression', 'SELECT l.id, s.id FROM large l JOIN small s ON l.k + 1 = s.k'],
    ['by an inequality', 'SELECT l.id, s.id FROM large l JOIN small s ON l.k < s.k AND s.k < 9'],
  ])('%s', async (_, sql) => {
    expect(await filtered(sql)).toEqual([]);
  });

  test('below a limit', async () => {
    const names = await filtered(
      'SELECT l.id, s.id FROM (SELECT * FROM large ORDER BY id LIMIT 40) l JOIN small s USING (k)',
    );
    expect(names).not.toContain('large.k');
  });

  test('whose rows have another reader', async () => {
    const names = await filtered(
      `WITH c AS MATERIALIZED (SELECT k, count(*) AS n FROM large GROUP BY k)
       SELECT c.n, s.id, (SELECT sum(n) FROM c) FROM c JOIN small s USING (k)`,
    );
    expect(names).not.toContain('large.k');
  });
});

describe('keys of type', () => {
  const all = [...Object.keys(KEYS), ...Object.keys(NO_KEYS)];
  test.each(Object.keys(KEYS))('%s are filtered by', async (type) => {
    const key = `k${all.indexOf(type)}`;
    const join = `SELECT p.id, b.id FROM probes p JOIN builds b ON p.${key} = b.${key} AND b.id`;
    for (const some of ['< 99', '= 3', '= 4', '= 0', '= 1', '= 2', '= 7'])
      expect(await filtered(`${join} ${some}`)).not.toEqual([]);
  });

  test.each(Object.keys(NO_KEYS))('%s are not filtered by', async (type) => {
    const key = `k${all.indexOf(type)}`;
    expect(await filtered(`SELECT p.id, b.id FROM probes p JOIN builds b USING (${key})`)).toEqual(
      [],
    );
  });

  test('VARCHAR with a NUL character are not listed', async () => {
    expect(await filtered('SELECT a.id, b.id FROM nul a JOIN nul b USING (k)')).toHaveLength(1);
  });

  test('other types on both sides are compared as the join compares them', async () => {
    expect(await filtered('SELECT l.id, m.id FROM large l JOIN many m ON l.k = m.id')).toEqual([]);
    await filtered(`SELECT l.id, b.id FROM large l JOIN builds b ON l.k::VARCHAR = b.id::VARCHAR`);
  });

  test('VARCHAR with a collation are not filtered by', async () => {
    const key = `k${all.indexOf('VARCHAR')}`;
    const sql = `SELECT p.id, b.id FROM probes p JOIN builds b ON p.${key} COLLATE NOCASE = b.${key} COLLATE NOCASE`;
    expect(await filtered(sql)).toEqual([]);
  });
});
