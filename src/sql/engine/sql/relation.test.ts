import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DuckDBInstance, type DuckDBConnection } from '@duckdb/node-api';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Scan } from '../../plan/index.ts';
import { scanQuery } from './relation.ts';

const folder = mkdtempSync(join(tmpdir(), 'millrace-relation-'));
const [small, large] = [join(folder, 'small.parquet'), join(folder, 'large.parquet')];
let connection: DuckDBConnection;

beforeAll(async () => {
  connection = await (await DuckDBInstance.create(':memory:', { threads: '1' })).connect();
  for (const [path, rows] of [
    [small, 100_000],
    [large, 300_000],
  ] as const)
    await connection.run(
      `COPY (SELECT i AS id, IF(i % 3 = 0, NULL, i % 7) AS kind FROM range(${rows}) t(i)) TO '${path}'
       (FORMAT parquet, ROW_GROUP_SIZE 10000)`,
    );
});
afterAll(() => {
  connection.closeSync();
  rmSync(folder, { recursive: true });
});

const plain: Scan = {
  ...{ relation: 'scan0', table: 't', files: null, rows: 'own' },
  reader: { format: 'parquet', options: '' },
  columns: [
    { source: 'id', type: 'BIGINT' },
    { source: 'kind', type: 'BIGINT' },
  ],
};
const filtered: Scan = { ...plain, filtered: true };

const fileOf = (path: string) => ({
  ...{ path, bytes: 0, mtimeNs: '0', footer: '' },
  rows: path === small ? 100_000 : 300_000,
});

/** The first 40,000 rows of a file, for a task that has them by their values or by their places. */
function byValue(scan: Scan, path: string): string {
  const range = { ...fileOf(path), from: null, to: null };
  const span = { column: 0, from: null, to: 40_000, mixed: [path], rows: 40_000 };
  return scanQuery(scan, [range], span);
}

function byPlace(scan: Scan, path: string): string {
  const range = { ...fileOf(path), from: 0, to: 40_000 };
  return scanQuery(scan, [range]);
}

/** The physical plan. */
async function explained(sql: string): Promise<string> {
  return String((await connection.runAndReadAll(`EXPLAIN ${sql}`)).getRows()[0]?.[1]);
}

async function count(sql: string): Promise<unknown> {
  return (await connection.runAndReadAll(`SELECT count(*)::INTEGER FROM (${sql})`)).getRows()[0];
}

test.each([
  ['values', byValue],
  ['rows', byPlace],
] as const)(
  'for a range of %s DuckDB expects the rows of the file, a fifth behind a filter',
  async (_, part) => {
    expect(await explained(part(plain, small))).toContain('~100,000 rows');
    expect(await explained(part(plain, large))).toContain('~300,000 rows');
    const behind = `SELECT c0 FROM (${part(filtered, small)}) WHERE c1 < 3`;
    expect(await explained(behind)).toContain('~20,000 rows');
    expect(await count(part(filtered, small))).toEqual([40_000]);
    expect(await count(part(plain, small))).toEqual([40_000]);
  },
);

test('rows are compared with no end of the file', async () => {
  const range = { path: small, bytes: 0, mtimeNs: '0', footer: '', rows: 100_000 };
  const [first, middle, last, all] = [
    [0, 30_000],
    [30_000, 60_000],
    [60_000, 100_000],
    [0, 100_000],
  ].map(([from = null, to = null]) => scanQuery(plain, [{ ...range, from, to }]));
  for (const [sql, has] of [
    [first, ['<']],
    [middle, ['>=', '<']],
    [last, ['>=']],
    [all, []],
  ] as const)
    expect(String(sql).match(/(?<=file_row_number )[<>]=?/g) ?? []).toEqual(has);
  expect(await count(`${first}\nUNION ALL\n${last}`)).toEqual([70_000]);
  expect(await count(String(middle))).toEqual([30_000]);
  expect(await count(String(all))).toEqual([100_000]);
});
