import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import type { DuckDBConnection } from '@duckdb/node-api';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { EngineQueries } from './engine-queries.ts';
import { textDifference, textsOf } from './generated/texts.ts';

// Processes on a machine that may be busy with others.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

const tables: Readonly<Record<string, string>> = {
  pairs: `SELECT i, i % 4 AS g, [i, i + 1, NULL] AS list, {'a': i, 'b': 'x' || i} AS pair, 'Name ' || chr((65 + i * 7 % 26 + i % 2 * 32)::INTEGER) AS name
    FROM range(40) t(i)`,
  sums: `SELECT i, CASE i WHEN 0 THEN 1e16 WHEN 9999 THEN -1e16 ELSE 0.99 END::DOUBLE AS x FROM range(10000) t(i)`,
};

let folder: string;
let queries: EngineQueries;
let instance: DuckDBInstance;
let connection: DuckDBConnection;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-regressions-'));
  instance = await DuckDBInstance.create(':memory:', { threads: '1' });
  connection = await instance.connect();
  await connection.run(`SET TimeZone = 'UTC'`);
  const paths: Record<string, string> = {};
  for (const [name, select] of Object.entries(tables)) {
    paths[name] = join(folder, `${name}.parquet`);
    await connection.run(
      `COPY (${select}) TO '${paths[name]}' (FORMAT parquet, ROW_GROUP_SIZE 2048)`,
    );
    await connection.run(`CREATE VIEW ${name} AS SELECT * FROM read_parquet('${paths[name]}')`);
  }
  queries = new EngineQueries(folder, paths);
});

afterAll(async () => {
  await queries.close();
  connection.closeSync();
  instance.closeSync();
  rmSync(folder, { recursive: true, force: true });
});

async function difference(sql: string): Promise<string | null> {
  const own = await textsOf(connection, sql);
  const settings = { shufflePartitions: 2, broadcastThresholdBytes: 0, singleFragmentBytes: 0 };
  return queries.run(sql, settings, async (_plan, { query }) =>
    textDifference(own, await textsOf(connection, query), false),
  );
}

/** Each was answered otherwise than by DuckDB, or not at all. */
const found: Readonly<Record<string, string>> = {
  'a sum that keeps what it rounds off': 'SELECT fsum(x) FROM sums',
  'a sum that keeps what it rounds off, by group':
    'SELECT i % 3 AS k, sumKahan(x), favg(x) FROM sums GROUP BY k',
  'a count of what is true, over nothing': 'SELECT count_if(i > 3) FROM pairs WHERE i < 0',
  'the same by group':
    'SELECT g, countif(i > 3) FILTER (WHERE i > 30 AND g < 2) FROM pairs GROUP BY g',
  'bits as many as the statistics tell': 'SELECT bitstring_agg(g) FROM pairs',
  'a sum of decimals by its name':
    'SELECT i, add(i::DECIMAL(4, 1), g::DECIMAL(9, 4)), multiply(i::DECIMAL(4, 1), g::DECIMAL(9, 4)) FROM pairs',
  'a list from its end': 'SELECT i, list_reverse(list) FROM pairs',
  'a value among fields of several types':
    'SELECT i, struct_position(row(g::SMALLINT, i::INTEGER, i), 3::TINYINT) FROM pairs',
  'a field that is changed': 'SELECT i, struct_update(pair, a := 1) FROM pairs',
  'a field that is added': 'SELECT i, struct_update(pair, c := g) FROM pairs',
};

test.each(Object.entries(found))('%s', async (_name, sql) => {
  expect(await difference(sql)).toBeNull();
});
