import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { retailData } from '../../bench/retail/generate.ts';
import { retailQueries } from '../../bench/retail/queries.ts';
import type { RetailQuery } from '../../bench/retail/queries.ts';
import type { PlanSettings } from '../../src/sql/plan/index.ts';
import type { Answer } from './contract-values.ts';
import { difference } from './compare.ts';
import { Oracle } from './oracle.ts';
import { PlannedQueries, grouped, split } from './planned.ts';
import { Dice } from './random/dice.ts';
import { COALESCED, FILTERED, startSqlCluster } from './sql-cluster.ts';
import { inLanes, sample } from './trial.ts';

// Room for a busy machine: alone it takes less than a minute.
vi.setConfig({ testTimeout: 300_000, hookTimeout: 60_000 });

const SCALE = 0.002;
const LANES = 3;
const queries = retailQueries();
const folder = mkdtempSync(join(tmpdir(), 'millrace-retail-'));
const own = new Map<string, Answer>();
let files: Readonly<Record<string, string>>;
let planned: PlannedQueries;
let inOrder: PlannedQueries;

beforeAll(async () => {
  files = await retailData({ folder: join(folder, 'data'), scale: SCALE });
  const readers = Object.entries(files).map(([name, file]) => [name, `read_parquet('${file}')`]);
  const oracle = await Oracle.open(Object.fromEntries(readers) as Record<string, string>);
  for (const { name, sql } of queries) own.set(name, await oracle.answer(sql));
  oracle.close();
  const tables = { specs: files, readers: {} };
  planned = await PlannedQueries.open(tables);
  inOrder = await PlannedQueries.open(tables, true);
});
afterAll(() => {
  planned.close();
  inOrder.close();
  rmSync(folder, { recursive: true });
});

/** Nothing is too small to be distributed; small sides are never broadcast, always, or by their measured size. */
const WAYS: readonly PlanSettings[] = [
  { partitions: 4, broadcastThresholdBytes: 0, singleFragmentBytes: 0 },
  { partitions: 3, broadcastThresholdBytes: 2 ** 25, singleFragmentBytes: 0 },
  {
    ...{ partitions: 2, broadcastThresholdBytes: 20_000, singleFragmentBytes: 0 },
    ...{ runtimeFilters: 2, adaptiveJoins: 2, sortThresholdBytes: 0 },
  },
];

/** What is wrong with the answer to a question, or null. */
async function wrongIn(
  { name, order }: RetailQuery,
  given: () => Promise<Answer>,
): Promise<string | null> {
  try {
    const found = difference(own.get(name)!, await given(), { order }, null);
    return found === null ? null : `${name}: ${found}`;
  } catch (error) {
    return `${name}: ${String(error)}`;
  }
}

test('every question has an answer, and says what it asks', () => {
  const isNothing = (cell: unknown): boolean => cell === null || cell === '0';
  for (const { name, sql, order } of queries) {
    const { rows } = own.get(name)!;
    expect.soft(sql, name).toMatch(/^-- [A-Z].*\?\n/);
    expect.soft(rows.length, name).toBeGreaterThan(0);
    expect.soft(rows.length === 1 && rows[0]!.every(isNothing), name).toBe(false);
    expect.soft(rows.length === 1 || order.length > 0, `${name} has an order`).toBe(true);
  }
});

test.each(WAYS)('plans are distributed and give what DuckDB gives: %o', async (settings) => {
  const whole: string[] = [];
  const wrong: (string | null)[] = [];
  for (const [at, query] of queries.entries()) {
    const dice = new Dice(at);
    const on = at % 2 === 0 ? planned : inOrder;
    // Partitions are read one by one, several by one task, or one by several tasks.
    const grouping = [undefined, grouped(dice), split(dice)][at % 3];
    const given = async (): Promise<Answer> => {
      const broadcasts = (): boolean => dice.below(4) > 0;
      const { plan, answer } = await on.answer(query.sql, settings, grouping, broadcasts);
      if (plan.single !== null) whole.push(`${query.name}: ${plan.single}`);
      return answer;
    };
    wrong.push(await wrongIn(query, given));
  }
  expect(wrong.filter((each) => each !== null)).toEqual([]);
  expect(whole).toEqual([]);
});

// One question in three: `npm run bench -- retail --quick` compares all of them.
test('a cluster gives what DuckDB gives', async () => {
  const { cluster, settings } = await startSqlCluster({ specs: files }, 2);
  const ways = [COALESCED, FILTERED, { singleFragmentBytes: 0 }];
  const chosen = [...sample(queries, 3).entries()];
  const wrong = await inLanes(chosen, LANES, ([at, query]) => {
    const run = settings({ ...ways[at % ways.length], shufflePartitions: 2 });
    return wrongIn(query, () => run(query.sql));
  });
  expect(wrong).toEqual([]);
  await cluster.stop();
});
