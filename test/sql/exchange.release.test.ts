import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { DuckDBInstance } from '@duckdb/node-api';
import { EngineQueries } from './engine-queries.ts';
import { Oracle } from './oracle.ts';

// Processes on a machine that may be busy with others.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

/** Each value in a run of rows, so that a task has one value where the table has several. Not sorted: that would make
 * 0 of -0. */
const inRuns = (values: readonly string[], type: string): string =>
  values
    .map((value) => `SELECT CAST(${value} AS ${type}) AS k, n FROM range(100) r(n)`)
    .join(' UNION ALL ');

/** With values on both sides of zero in its file, a filter on zero cannot be decided by the least and the greatest. */
const AROUND = Array.from({ length: 20 }, (_, at) => `'${at - (at < 10 ? 10 : 9)}.5'`);

const tables: Readonly<Record<string, string>> = {
  blobs: inRuns(["'\\x00a'", "'a\\x00'", "'\\xFF'", "'plain'"], 'BLOB'),
  zeros: inRuns(["'-0.0'", ...AROUND], 'DOUBLE'),
  nans: inRuns(["'nan'", "'inf'", ...AROUND], 'DOUBLE'),
  zero: inRuns(["'0.0'"], 'DOUBLE'),
  nan: inRuns(["'-nan'"], 'DOUBLE'),
  small_zeros: inRuns(["'-0.0'", ...AROUND], 'FLOAT'),
  small_zero: inRuns(["'0.0'"], 'FLOAT'),
  uuids: `SELECT ('00000000-0000-4000-8000-' || lpad((i // 100)::VARCHAR, 12, '0'))::UUID AS k, i AS n
    FROM range(400) t(i)`,
};

let folder: string;
let queries: EngineQueries;
let oracle: Oracle;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-exchange-'));
  const instance = await DuckDBInstance.create(':memory:', { threads: '1' });
  const connection = await instance.connect();
  const path = (name: string): string => join(folder, `${name}.parquet`);
  for (const [name, select] of Object.entries(tables))
    await connection.run(
      `COPY (${select}) TO '${path(name)}' (FORMAT parquet, ROW_GROUP_SIZE 2048)`,
    );
  writeFileSync(path('fixed'), withoutUuidType(readFileSync(path('uuids'))));
  // The oracle has the rows in memory: DuckDB's own scan may lose some to a Bloom filter.
  const names = [...Object.keys(tables), 'fixed'];
  const rows = names.map((name) => [
    name,
    `(SELECT unnest((SELECT list({'k': k, 'n': n}) FROM read_parquet('${path(name)}')), recursive := true))`,
  ]);
  oracle = await Oracle.open(Object.fromEntries(rows) as Record<string, string>);
  connection.closeSync();
  instance.closeSync();
  queries = new EngineQueries(folder, Object.fromEntries(names.map((name) => [name, path(name)])));
});

afterAll(async () => {
  await queries.close();
  oracle.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Other writers have keys of fixed length without a logical type. Of the footer one byte is changed: the type's number
 * in the union of logical types, from UUID (14) to one that DuckDB does not know for such columns (12). */
function withoutUuidType(file: Buffer): Buffer {
  const at = file.lastIndexOf(Buffer.from([0xec, 0x00, 0x00]));
  const changed = Buffer.from(file);
  changed[at] = 0xcc;
  return changed;
}

const settings = {
  'in parts by hash': { broadcastThresholdBytes: 0 },
  'in coalesced parts': { broadcastThresholdBytes: 0, targetPartitionBytes: 15_000 },
  'in pieces of parts': {
    ...{ broadcastThresholdBytes: 0, targetPartitionBytes: 15_000 },
    ...{ skewFactor: 1, skewThresholdBytes: 1 },
  },
  'with one side in every task': { broadcastThresholdBytes: 1e9 },
};

describe.each(Object.entries(settings))('%s', (_name, way) => {
  const shapes = (left: string, right: string): readonly string[] => [
    `SELECT l.n, count(*) FROM ${left} l JOIN ${right} r ON l.k = r.k AND r.n = 1 GROUP BY l.n`,
    `SELECT count(*) FROM ${left} l JOIN (SELECT DISTINCT k FROM ${right}) r ON l.k = r.k`,
    `SELECT l.n FROM ${left} l LEFT JOIN ${right} r ON l.k = r.k AND r.n = 2 WHERE r.n IS NOT NULL`,
    `SELECT l.n FROM ${left} l WHERE l.k IN (SELECT k FROM ${right} WHERE n < 9)`,
    `SELECT count(*) FROM (SELECT k FROM ${left} INTERSECT SELECT k FROM ${right})`,
  ];
  const pairs = [
    ['blobs', 'blobs'],
    ['zeros', 'zero'],
    ['nans', 'nan'],
    ['small_zeros', 'small_zero'],
    ['fixed', 'fixed'],
  ] as const;

  test.each(pairs)('rows of %s and %s meet by equal keys', async (left, right) => {
    for (const sql of shapes(left, right)) {
      const run = { ...way, shufflePartitions: 4, singleFragmentBytes: 0 };
      const { answer, plan } = await queries.ask(sql, run);
      expect(plan.single).toBeNull();
      expect([sql, await oracle.judge(sql, answer)]).toEqual([sql, null]);
    }
  });
});
