import { expect, test, vi } from 'vitest';
import type { QueryPlan } from '../../src/sql/plan/index.ts';
import { grouped, openPlanned } from './planned.ts';
import { Dice } from './random/dice.ts';
import { scratch } from './scratch.ts';
import { SORTED_QUERIES } from './sorted-queries.ts';
import { sample } from './trial.ts';

// Room for a busy machine: alone it takes seconds.
vi.setConfig({ testTimeout: 120_000 });
const here = scratch();

const settings = (partitions: number) => ({
  ...{ partitions, broadcastThresholdBytes: 0, singleFragmentBytes: 0, sortThresholdBytes: 0 },
});
const hasRanges = ({ stages }: QueryPlan): boolean =>
  stages.some(({ output }) => output.kind === 'range');

const local = openPlanned(here);

test('rows sorted in ranges come in the order of DuckDB', async () => {
  const partitions = 4;
  const wrong: string[] = [];
  for (const { sql, leeway } of SORTED_QUERIES) {
    const { answer, plan } = await local.planned.answer(sql, settings(partitions));
    const found = await here.oracle.judge(sql, answer, leeway);
    if (found !== null) wrong.push(`${sql}: ${found}`);
    if (plan.stages.at(-1)?.tasks !== partitions || !hasRanges(plan))
      wrong.push(`${sql}: is sorted by one task`);
  }
  expect(wrong).toEqual([]);
});

test('ranges that are read together by one task stay in order', async () => {
  for (const [at, { sql, leeway }] of sample(SORTED_QUERIES, 8).entries()) {
    const { answer, plan } = await local.planned.answer(sql, settings(8), grouped(new Dice(at)));
    expect(hasRanges(plan)).toBe(true);
    expect([sql, await here.oracle.judge(sql, answer, leeway)]).toEqual([sql, null]);
  }
});

test('with one partition nothing is sampled', async () => {
  const sql = 'SELECT kind, id FROM events ORDER BY kind, id';
  const { answer, plan } = await local.planned.answer(sql, settings(1));
  expect(hasRanges(plan)).toBe(false);
  expect(await here.oracle.judge(sql, answer, { order: [1, 2] })).toBeNull();
});

test('a LIMIT, a small result and a sort inside a query stay in one task', async () => {
  const limited = 'SELECT id FROM events ORDER BY id DESC LIMIT 10';
  const inside = `SELECT list(id) FROM (SELECT id FROM events ORDER BY amount, id) WHERE id < 50`;
  for (const sql of [limited, `${limited} OFFSET 5`, inside]) {
    const { plan } = await local.planned.answer(sql, settings(4));
    expect([sql, hasRanges(plan)]).toEqual([sql, false]);
    expect(plan.stages.at(-1)?.tasks).toBe(1);
  }
  const small = { ...settings(4), sortThresholdBytes: 1e6 };
  const { plan } = await local.planned.answer('SELECT id FROM events ORDER BY id', small);
  expect([hasRanges(plan), plan.stages.at(-1)?.tasks]).toEqual([false, 1]);
});

test('a table that is range-partitioned by the first key is sorted where it is', async () => {
  const sql =
    'SELECT l_orderkey, l_linenumber FROM lineitem ORDER BY l_orderkey, l_linenumber DESC';
  const { answer, plan } = await local.inOrder.answer(sql, settings(4));
  expect(await here.oracle.judge(sql, answer, { order: [1, 2] })).toBeNull();
  expect([plan.stages.length, plan.stages[0]?.tasks]).toEqual([1, 4]);
  const downwards = 'SELECT l_orderkey FROM lineitem ORDER BY l_orderkey DESC';
  const other = await local.inOrder.answer(downwards, settings(4));
  expect(await here.oracle.judge(downwards, other.answer, { order: [1] })).toBeNull();
  expect(hasRanges(other.plan)).toBe(true);
});

test('half of the rows under one key leave the others to all other tasks', async () => {
  const sql = `SELECT CASE WHEN l_orderkey % 2 = 0 THEN 500000 ELSE l_orderkey END AS k, l_linenumber
    FROM lineitem ORDER BY k`;
  const { plan } = await local.planned.answer(sql, settings(8));
  const rows = await local.planned.rowsOfTasks(plan);
  const all = rows.reduce((sum, each) => sum + each, 0);
  const others = rows.toSorted((a, b) => b - a).slice(1);
  expect(Math.max(...rows)).toBeLessThan(all * 0.75);
  expect(others.filter((each) => each > 0).length).toBeGreaterThan(2);
});
