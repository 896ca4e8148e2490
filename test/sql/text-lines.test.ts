import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { EngineQueries } from './engine-queries.ts';
import { writeTextTables } from './text-tables.ts';
import type { TextTables } from './text-tables.ts';

// Processes on a machine that may be busy with others.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 60_000 });

const SETTINGS = {
  ...{ broadcastThresholdBytes: 0, singleFragmentBytes: 0, shufflePartitions: 4 },
};
let tables: TextTables;
let queries: EngineQueries;

beforeAll(async () => {
  tables = await writeTextTables(['many', 'sheets', 'list', 'quotes']);
  queries = new EngineQueries(tables.folder, tables.specs);
});

afterAll(async () => {
  await queries.close();
  tables.oracle.close();
  tables.remove();
});

test.each([
  ['SELECT * FROM many', true],
  ['SELECT s.id, m.day FROM sheets s JOIN many m USING (id) WHERE s.name IS NOT NULL', true],
  ['SELECT count(*), max(day) FROM list', false],
  ['SELECT b, count(*) FROM quotes GROUP BY b', false],
])('%s: lines are split where rows end with them', async (sql, isDistributed) => {
  const { answer, plan } = await queries.ask(sql, SETTINGS);
  expect(await tables.oracle.judge(sql, answer)).toBeNull();
  expect(plan.single === null).toBe(isDistributed);
});
