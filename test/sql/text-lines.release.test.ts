import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { EngineQueries } from './engine-queries.ts';
import { FORCED, startSqlCluster } from './sql-cluster.ts';
import {
  BROKEN,
  SPLIT,
  TEXT_QUERIES,
  WHOLE_CSV,
  WHOLE_JSON,
  writeTextTables,
} from './text-tables.ts';
import type { TextTables } from './text-tables.ts';

// Processes on a machine that may be busy with others.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 60_000 });

const SETTINGS = { ...FORCED, sortThresholdBytes: 0, shufflePartitions: 4 };
let tables: TextTables;
let queries: EngineQueries;

beforeAll(async () => {
  tables = await writeTextTables();
  queries = new EngineQueries(tables.folder, tables.specs);
});

afterAll(async () => {
  await queries.close();
  tables.oracle.close();
  tables.remove();
});

/** Returns why it is not distributed. */
async function expectSame(
  sql: string,
  order: readonly number[] = [],
  settings: Readonly<Record<string, number>> = SETTINGS,
): Promise<string | null> {
  const { answer, plan } = await queries.ask(sql, settings);
  expect([sql, await tables.oracle.judge(sql, answer, { order })]).toEqual([sql, null]);
  return plan.single;
}

test.each([2, 4, 16])('each line of a file is read by one of %i tasks', async (partitions) => {
  const settings = { ...SETTINGS, shufflePartitions: partitions };
  for (const table of SPLIT) {
    const why = await expectSame(`SELECT * FROM ${table}`, [], settings);
    expect([table, why]).toEqual([table, null]);
  }
});

test('three workers read the lines of a table', async () => {
  const { settings, cluster } = await startSqlCluster(tables, 3);
  const run = settings({ ...SETTINGS, shufflePartitions: 6 });
  for (const [sql, order = []] of TEXT_QUERIES)
    expect([sql, await tables.oracle.judge(sql, await run(sql), { order })]).toEqual([sql, null]);
  await cluster.stop();
});

test('queries over lines are distributed like others', async () => {
  for (const [sql, order] of TEXT_QUERIES)
    expect([sql, await expectSame(sql, order)]).toEqual([sql, null]);
  expect(queries.faults).toEqual([]);
});

test('files whose rows may span lines are read whole, and the plan says why', async () => {
  for (const table of WHOLE_JSON)
    expect([table, await expectSame(`SELECT * FROM ${table}`)]).toEqual([
      table,
      'it reads JSON that is not one object per line, or is compressed',
    ]);
  for (const table of WHOLE_CSV)
    expect([table, await expectSame(`SELECT * FROM ${table}`)]).toEqual([
      table,
      'it reads CSV that has quotes, or another form than plain lines below a header',
    ]);
  const pivot = 'PIVOT plain ON day USING count(*) GROUP BY name';
  expect(await expectSame(pivot)).toMatch(/columns depend on the data|JSON/);
});

test('a line that is not valid fails the query, and the error names its file', async () => {
  for (const table of BROKEN) {
    const sql = `SELECT count(*), min(t) FROM ${table} AS t`;
    const found = await queries.ask(sql, SETTINGS).then(
      () => 'no error',
      (error: unknown) => String(error),
    );
    expect(found).toContain(join(tables.folder, table));
    expect(found).toContain('Lines are counted from the first one after byte');
  }
});
