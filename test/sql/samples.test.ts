import { expect, test, vi } from 'vitest';
import { openPlanned } from './planned.ts';
import { scratch } from './scratch.ts';

// Room for a busy machine: alone it takes seconds.
vi.setConfig({ testTimeout: 120_000 });
const here = scratch();
const local = openPlanned(here);
const SETTINGS = {
  ...{ partitions: 3, broadcastThresholdBytes: 0, singleFragmentBytes: 0, sortThresholdBytes: 0 },
};

const rowsOf = async (sql: string): Promise<readonly (readonly unknown[])[]> => {
  const { answer, plan } = await local.planned.answer(sql, SETTINGS);
  expect([sql, plan.single]).toEqual([sql, null]);
  return answer.rows;
};
const numberOf = async (sql: string): Promise<number> => Number((await rowsOf(sql))[0]?.[0]);

test('a sample of so many rows has as many different rows of the table', async () => {
  const rows = await rowsOf('SELECT id, kind FROM events USING SAMPLE 100 ROWS');
  expect(new Set(rows.map(([id]) => String(id))).size).toBe(100);
  const known = new Set((await rowsOf('SELECT id, kind FROM events')).map((row) => String(row)));
  expect(rows.filter((row) => !known.has(String(row)))).toEqual([]);
  expect(
    await rowsOf('FROM (SELECT id FROM events WHERE id < 20) USING SAMPLE 100 ROWS'),
  ).toHaveLength(20);
  expect(await rowsOf('SELECT id FROM events USING SAMPLE 0 ROWS')).toEqual([]);
});

test('every row has the same chance', async () => {
  const all = await numberOf('SELECT count(id % 7) FROM events');
  const size = Math.floor(all / 2);
  const mean = await numberOf('SELECT avg(id) FROM events');
  const spread = await numberOf('SELECT stddev_pop(id) FROM events');
  const sampled = await numberOf(
    `SELECT avg(id) FROM (SELECT id FROM events USING SAMPLE ${size} ROWS)`,
  );
  // Six standard errors: by chance once in a billion runs.
  expect(Math.abs(sampled - mean)).toBeLessThan((6 * spread) / Math.sqrt(size));
  const share = await numberOf(
    'SELECT count(*) FROM (SELECT id FROM events TABLESAMPLE bernoulli(25%))',
  );
  expect(Math.abs(share - all / 4)).toBeLessThan(6 * Math.sqrt(all * 0.25 * 0.75));
});

test('all readers of one sample read the same rows', async () => {
  const twice = 'WITH s AS (SELECT id FROM events TABLESAMPLE bernoulli(30%))';
  expect(
    await numberOf(
      `${twice} SELECT count(*) FROM s a FULL JOIN s b USING (id) WHERE a.id IS NULL OR b.id IS NULL`,
    ),
  ).toBe(0);
  const rows = await rowsOf(
    'SELECT id, count(*) OVER () AS n, row_number() OVER (ORDER BY id) AS rn FROM (SELECT id FROM events TABLESAMPLE bernoulli(30%))',
  );
  const ids = rows.map(([id]) => Number(id)).toSorted((a, b) => a - b);
  expect(rows.map(([, n]) => Number(n))).toEqual(rows.map(() => rows.length));
  expect(rows.map(([id, , rn]) => ids[Number(rn) - 1] === Number(id))).toEqual(
    rows.map(() => true),
  );
  const small = 'SELECT count(*) FROM (SELECT n_name FROM nation TABLESAMPLE bernoulli(100%))';
  expect(await numberOf(small)).toBe(25);
});

test('a sample that is repeatable, of blocks or of an exact share stays whole', async () => {
  for (const sql of [
    'SELECT id FROM events USING SAMPLE reservoir(10 ROWS) REPEATABLE (7)',
    'SELECT id FROM events WHERE id % 2 = 0 USING SAMPLE 10%',
    'SELECT id FROM events USING SAMPLE reservoir(10%)',
  ]) {
    const { plan } = await local.planned.answer(sql, SETTINGS);
    expect([sql, plan.single]).toEqual([sql, expect.stringContaining('it takes a sample')]);
  }
});
