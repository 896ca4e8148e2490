import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { Catalog } from '../catalog/index.ts';
import { checkedSettings } from '../../scheduler/core/index.ts';
import { startPlanningEngine } from '../engine/index.ts';
import type { PlanningEngine } from '../engine/index.ts';
import type { Scan } from '../plan/index.ts';
import { VirtualClock } from '../../../test/rig/virtual-clock.ts';
import { SqlPlanner } from './planner.ts';

const never = new AbortController().signal;
/** DuckDB makes no smaller ones. */
const GROUP = 2048;
/** Each is a year of sales. */
const GROUPS = 20;
const ROWS = GROUP * GROUPS;
let folder = '';
let engine: PlanningEngine;
let faults: string[];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-balanced-'));
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  const sales = `SELECT CASE WHEN i % 7 > 0 THEN i // 8 END AS day, DATE '2000-01-01' + (i // 8)::INTEGER AS date, i * 37 % ${ROWS} AS other,
      i AS ticket, i * 41 % ${ROWS} AS amount FROM range(${ROWS}) t(i)`;
  const days = `SELECT i AS key, DATE '2000-01-01' + i::INTEGER AS date, i // 256 AS year, i % 256 // 128 AS half, 'day ' || i AS name
    FROM range(${ROWS / 8}) t(i)`;
  for (const [name, query] of Object.entries({ sales, days }))
    await connection.run(`COPY (${query}) TO '${file(name)}' (ROW_GROUP_SIZE ${GROUP})`);
  const odd = `SELECT date FROM '${file('days')}' UNION ALL SELECT 'infinity'::DATE`;
  await connection.run(`COPY (${odd}) TO '${file('odd')}'`);
  connection.closeSync();
  instance.closeSync();
  engine = startPlanningEngine({
    memoryBytes: 256 * 1024 * 1024,
    threads: 1,
    spillFolder: join(folder, 'spill'),
    spillBytesMax: 0,
  });
});

afterAll(async () => {
  await engine.close();
  rmSync(folder, { recursive: true, force: true });
});

beforeEach(() => {
  faults = [];
});

const file = (name: string): string => join(folder, `${name}.parquet`);

/** The scans of sales that are split between tasks. */
async function scansOf(sql: string, tasks = 2): Promise<readonly Scan[]> {
  const planner = new SqlPlanner({
    catalog: new Catalog({
      allowed: 'named',
      describe: (source, signal) => engine.describe(source, signal),
      file: null,
      folder,
    }),
    engine,
    settings: checkedSettings(),
    slots: () => tasks,
    clock: new VirtualClock(),
    planMs: 20_000,
    onFault: (error) => faults.push(String(error)),
  });
  const tables = { sales: file('sales'), days: file('days'), odd: file('odd') };
  // The table of days is in every task, and that of sales in none.
  const settings = { singleFragmentBytes: 0, broadcastThresholdBytes: 150_000 };
  const { plan } = await planner.explain({ sql, tables, settings }, never);
  expect(plan.single).toBeNull();
  expect(plan.lookups).toBeUndefined();
  const scans = plan.stages.flatMap(({ fragment }) => fragment.scans);
  return scans.filter(({ table, rows }) => table === 'sales' && rows === 'own');
}

const cutsOf = async (
  sql: string,
  tasks = 2,
): Promise<readonly (readonly number[] | undefined)[]> =>
  (await scansOf(sql, tasks)).map(({ cuts }) => cuts);

const JOINED = 'SELECT sum(amount) FROM sales JOIN days ON day = key';

describe('rows are split', () => {
  test.each([
    [2, 'year BETWEEN 10 AND 13', [12 * GROUP]],
    [4, 'year BETWEEN 10 AND 13', [11 * GROUP, 12 * GROUP, 13 * GROUP]],
    [2, 'year = 7', [7.5 * GROUP]],
    [2, 'year IN (0, 1, 2, 3, 4, 19)', [3 * GROUP]],
    [2, "year >= 16 AND name LIKE 'day%'", [18 * GROUP]],
  ])('between %i tasks where %s', async (tasks, condition, cuts) => {
    const [own = [], ...others] = await cutsOf(`${JOINED} WHERE ${condition}`, tasks);
    expect(others).toEqual([]);
    // What is skipped costs a little all the same.
    expect(own.map((cut) => Math.round(cut / GROUP / 0.05) * 0.05 * GROUP)).toEqual(cuts);
    expect(faults).toEqual([]);
  });

  test.each([
    'SELECT sum(amount) FROM sales s JOIN days d ON s.date = d.date WHERE year = 3',
    'SELECT sum(amount) FROM sales WHERE day IN (SELECT key FROM days WHERE year = 3)',
    'SELECT max(year), sum(amount) FROM days LEFT JOIN sales ON day = key WHERE year = 3 AND amount > 0',
    `SELECT sum(amount) FROM (SELECT day, amount FROM sales UNION ALL SELECT day, other FROM sales) JOIN days ON day = key WHERE year = 3`,
  ])('by dates, in subqueries and in unions: %s', async (sql) => {
    const cuts = await cutsOf(sql);
    expect(cuts.length).toBeGreaterThan(0);
    for (const [cut = 0] of cuts.map((each) => each ?? []))
      expect(Math.abs(cut / GROUP - 3.5)).toBeLessThan(0.6);
  });

  test.each([
    [
      'every row may be needed',
      'SELECT count(*), count(year) FROM sales LEFT JOIN days ON day = key AND year = 3',
    ],
    [
      'the values do not ascend',
      'SELECT sum(amount) FROM sales JOIN days ON other = key WHERE year = 3',
    ],
    ['no day is chosen', JOINED],
    ['there is no such day', `${JOINED} WHERE year = 700`],
    ['years are alike', `${JOINED} WHERE half = 1`],
    ['a condition could fail', `${JOINED} WHERE (name[5:])::INTEGER // 256 = 3`],
    [
      'a limit counts rows first',
      'SELECT sum(amount) FROM (SELECT * FROM sales ORDER BY amount LIMIT 9000) JOIN days ON day = key WHERE year = 3',
    ],
    [
      'the keys cannot be read as numbers',
      "SELECT sum(amount) FROM sales JOIN odd USING (date) WHERE date > DATE '2000-01-01'",
    ],
  ])('as if nothing were known where %s', async (_why, sql) => {
    for (const cuts of await cutsOf(sql)) expect(cuts).toBeUndefined();
    expect(faults).toEqual([]);
  });

  test.each([
    ['year BETWEEN 10 AND 13', 12 * GROUP],
    ['year IN (0, 1, 2, 3, 4, 19)', 3 * GROUP],
    ['half = 1', 10 * GROUP],
  ])('by values that ascend with the days where %s', async (condition, bound) => {
    const scans = await scansOf(
      `SELECT ticket, sum(amount) FROM sales JOIN days ON day = key WHERE ${condition} GROUP BY ticket`,
    );
    expect(scans.map(({ split, cuts }) => [split?.bounds, cuts])).toEqual([[[bound], undefined]]);
  });

  test('by the same values on both sides of a join', async () => {
    const scans = await scansOf(
      `SELECT sum(a.amount), sum(b.other) FROM sales a JOIN sales b ON a.ticket = b.ticket JOIN days ON a.day = key
       WHERE year BETWEEN 10 AND 13`,
    );
    const [one, other, ...others] = scans.map(({ split }) => split?.bounds);
    expect(others).toEqual([]);
    expect(one).toEqual(other);
    // Of the other side, DuckDB may have to read everything.
    expect(one?.[0]).toBeGreaterThan(10 * GROUP);
    expect(one?.[0]).toBeLessThanOrEqual(12 * GROUP);
  });
});
