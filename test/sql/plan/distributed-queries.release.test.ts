import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startFragmentEngine } from '../../../src/sql/engine/index.ts';
import { explainPlan } from '../../../src/sql/plan/index.ts';
import { FORCED, LocalQueries, SHARED, TPCH_NAMES, tpchSql } from './local-queries.ts';
import { runJobLocally } from './run-job-locally.ts';
import { traps } from './trap-queries.ts';

let queries: LocalQueries;
beforeAll(async () => {
  queries = await LocalQueries.open(0.005);
});
afterAll(() => queries.close());

const settings = [
  ['hash-partitioned', { ...FORCED, partitions: 3 }],
  ['with small tables in every task', { ...SHARED, partitions: 2 }],
] as const;

describe.each(settings)('%s', (_name, given) => {
  test.each(Object.entries(traps))('%s', async (_trap, sql) => {
    const { plan, given: answer, own } = await queries.ask(sql, given);
    // What DuckDB knows from the footers alone needs no table.
    if (plan.single !== null) expect(plan.single).toBe('it reads no table');
    expect(answer).toEqual(own);
  });
});

test('averages and sums of exact numbers are the same to the last bit', async () => {
  const sql = `SELECT l_suppkey, avg(l_quantity), avg(l_extendedprice), avg(l_linenumber), avg(l_partkey::HUGEINT),
    avg(l_extendedprice::DECIMAL(38,9)), avg(-l_tax::DECIMAL(4,2)), sum(l_partkey * l_orderkey), sum(l_tax)
    FROM lineitem GROUP BY l_suppkey`;
  const { given, own } = await queries.ask(sql, { ...FORCED, partitions: 3 }, (value) => value);
  expect(given).toEqual(own);
});

describe('TPC-H', () => {
  test.each(TPCH_NAMES)('%s is distributed and returns what DuckDB returns', async (name) => {
    const { plan, given, own } = await queries.ask(tpchSql(name), { ...FORCED, partitions: 3 });
    expect(plan.single).toBeNull();
    expect(given).toEqual(own);
  });

  test.each(TPCH_NAMES)('%s is explained in 100 columns', async (name) => {
    const plan = await queries.planner.plan(tpchSql(name), { ...FORCED, partitions: 16 });
    const lines = explainPlan(plan).split('\n');
    expect(lines.filter((line) => line.length > 100)).toEqual([]);
  });
});

describe('as a job, with real files between the stages', () => {
  let engine: ReturnType<typeof startFragmentEngine>;
  beforeAll(() => {
    engine = startFragmentEngine({
      memoryBytes: 512 * 1024 * 1024,
      threads: 1,
      spillFolder: join(queries.folder, 'spill'),
      spillBytesMax: 0,
    });
  });
  afterAll(() => engine.close());

  const jobs = [
    'rollup in two halves',
    'sums that need more than 64 bits',
    'NOT IN with a NULL on the right side',
    'a full join with NULL keys on both sides',
    'structs and lists as keys',
    'a common table that is read twice, by different keys',
    'the order of the result',
    'a total over nothing has one row',
  ];
  test.each(jobs)('%s', async (name) => {
    const plan = await queries.planner.plan(traps[name] ?? '', { ...FORCED, partitions: 3 });
    const folder = mkdtempSync(join(queries.folder, 'job-'));
    const { query } = await runJobLocally(engine, plan, queries.planner.tables, folder);
    const { given, own } = await queries.compare(plan, query);
    expect(given).toEqual(own);
  });

  test('distributes a query over small tables when asked to', async () => {
    const sql = 'SELECT team, count(*) AS n FROM people GROUP BY team ORDER BY n, team';
    const large = { broadcastThresholdBytes: 32 * 2 ** 20, partitions: 4 };
    const plan = await queries.planner.plan(sql, { ...large, singleFragmentBytes: 0 });
    expect(plan.stages.map(({ tasks }) => tasks)).toEqual([4, 1]);
  });

  test('a query that is too small to be distributed', async () => {
    const sql = 'SELECT team, count(*) AS n FROM people GROUP BY team ORDER BY n, team';
    const small = { ...FORCED, singleFragmentBytes: 1_000_000, partitions: 4 };
    const plan = await queries.planner.plan(sql, small);
    expect(plan.single).toMatch(/^it reads only [\d.]+ K?i?B, and queries up to 977 KiB /);
    const folder = mkdtempSync(join(queries.folder, 'job-'));
    const { query } = await runJobLocally(engine, plan, queries.planner.tables, folder);
    const { given, own } = await queries.compare(plan, query);
    expect(given).toEqual(own);
  });
});
