/** Joins that are decided by the size of one side: planned by a leader, run by an engine from the inputs of a real job. */
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { EngineQueries } from './engine-queries.ts';
import { type MadeTables, madeTables } from './made-tables.ts';
import type { Oracle } from './oracle.ts';

// Room for a busy machine: alone it takes seconds.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

/** Everything fits; then nothing does. */
const SIZES = [1e9, 1] as const;
const FORCED = { adaptiveJoins: 2, shufflePartitions: 3, singleFragmentBytes: 0 };

let tables: MadeTables;
let oracle: Oracle;
let engine: EngineQueries;
beforeAll(async () => {
  tables = await madeTables({
    large: `SELECT i AS id, CASE WHEN i % 10 = 9 THEN NULL ELSE i % 50 END::INTEGER AS k, i % 7 AS j FROM range(600) t(i)`,
    small: `SELECT i AS id, CASE WHEN i = 4 THEN NULL ELSE i * 3 + 5 END::INTEGER AS k FROM range(8) t(i)`,
    other: `SELECT i AS id, (i * 2)::INTEGER AS k, i % 5 AS j FROM range(90) t(i)`,
    many: `SELECT i AS id, (i % 50)::INTEGER AS k FROM range(2000) t(i)`,
    nobody: `SELECT 1 AS id, 2::INTEGER AS k WHERE false`,
  });
  ({ oracle, engine } = tables);
});
afterAll(() => tables.close());

/** How many joins are decided later, by answers that are the same whatever is decided, and if nothing is. */
async function adaptive(
  sql: string,
  settings: Readonly<Record<string, number>> = {},
): Promise<number> {
  const counts: number[] = [];
  for (const broadcastThresholdBytes of SIZES) {
    const chosen = { ...FORCED, broadcastThresholdBytes, ...settings };
    const { plan, answer } = await engine.ask(sql, chosen);
    expect(await oracle.judge(sql, answer)).toBeNull();
    expect(plan.single).toBeNull();
    counts.push(plan.joins?.length ?? 0);
    const off = await engine.ask(sql, { ...chosen, adaptiveJoins: 0 });
    expect(off.plan.joins).toBeUndefined();
    expect(await oracle.judge(sql, off.answer)).toBeNull();
  }
  expect(engine.faults).toEqual([]);
  return Math.min(...counts);
}

describe('a side may be broadcast once its size is known', () => {
  test.each([
    ['inner', 'SELECT l.id, s.id FROM large l JOIN small s USING (k)'],
    ['semi', 'SELECT l.id FROM large l WHERE k IN (SELECT k FROM small)'],
    ['left', 'SELECT l.id, s.id FROM large l LEFT JOIN small s USING (k)'],
    ['left, the outer one smaller', 'SELECT l.id, s.id FROM small s LEFT JOIN large l USING (k)'],
    ['right', 'SELECT l.id, s.id FROM small s RIGHT JOIN large l USING (k)'],
    ['anti', 'SELECT l.id FROM large l WHERE NOT EXISTS (SELECT 1 FROM small s WHERE l.k = s.k)'],
    ['empty', 'SELECT l.id, s.id FROM large l JOIN nobody s USING (k)'],
    [
      'NULL with NULL',
      'SELECT l.id, s.id FROM large l JOIN small s ON l.k IS NOT DISTINCT FROM s.k',
    ],
    [
      'with an aggregate above it',
      'SELECT l.j, count(*), sum(s.id) FROM large l JOIN small s USING (k) GROUP BY l.j',
    ],
    [
      'with another join below it',
      'SELECT l.id, s.id, o.id FROM large l JOIN small s USING (k) JOIN other o ON o.j = l.j',
    ],
    [
      'with an order',
      'SELECT l.id, s.id FROM large l JOIN small s USING (k) ORDER BY l.id DESC, s.id',
    ],
  ])('%s', async (_, sql) => {
    expect(await adaptive(sql)).toBeGreaterThan(0);
    const many = { shufflePartitions: 5, targetPartitionBytes: 1_000 };
    expect(await adaptive(sql, { ...many, runtimeFilters: 2 })).toBeGreaterThanOrEqual(0);
    const skewed = { skewFactor: 1, skewThresholdBytes: 1, targetPartitionBytes: 500 };
    expect(await adaptive(sql, skewed)).toBeGreaterThan(0);
  });
});

describe('nothing is decided later', () => {
  test.each([
    ['of a full join', 'SELECT l.id, s.id FROM large l FULL JOIN small s USING (k)'],
    ['of NOT IN', 'SELECT l.id FROM large l WHERE k NOT IN (SELECT k FROM small)'],
    ['of IN as a value', 'SELECT l.id, k IN (SELECT k FROM small) FROM large l'],
    ['of an inequality', 'SELECT l.id, s.id FROM large l JOIN small s ON l.k < s.k AND s.k < 9'],
    [
      'of a self-join',
      'SELECT a.k FROM large a JOIN large b ON a.id = b.id WHERE a.k IS NULL AND false',
    ],
  ])('%s', async (_, sql) => {
    const { plan, answer } = await engine.ask(sql, { ...FORCED, broadcastThresholdBytes: 1e9 });
    expect(await oracle.judge(sql, answer)).toBeNull();
    expect(plan.joins).toBeUndefined();
  });

  test('of queries whose sizes are clear from the plan', async () => {
    const sql = 'SELECT l.id, s.id FROM large l JOIN small s USING (k)';
    for (const adaptiveJoins of [0, 1]) {
      const { plan } = await engine.ask(sql, { ...FORCED, adaptiveJoins });
      expect(plan.joins).toBeUndefined();
    }
  });
});

test('by default, a side whose estimate is too high is waited for and then broadcast', async () => {
  const settings = { ...FORCED, adaptiveJoins: 1, broadcastThresholdBytes: 1_000 };
  const sql = 'SELECT m.id, o.id FROM many m JOIN (FROM large WHERE id % 600 = 7) o USING (k)';
  const { plan, answer } = await engine.ask(sql, settings);
  expect(await oracle.judge(sql, answer)).toBeNull();
  expect(plan.joins).toHaveLength(1);
  const [first] = plan.joins ?? [];
  expect(plan.stages[first?.build ?? 0]?.estimate.bytes).toBeGreaterThan(1_000);
  expect(first?.stage).toBe(2);
});

test('of a join whose aggregate needs all rows of a key in one task', async () => {
  const sql =
    'SELECT l.k, median(l.id), count(s.id) FROM large l JOIN small s USING (k) GROUP BY l.k';
  expect(await adaptive(sql)).toBe(0);
});
