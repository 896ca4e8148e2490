/** Rows that get the columns of a small table where they arrive, rather than before they are sent. */
import { expect, test, vi } from 'vitest';
import type { QueryPlan } from '../../src/sql/plan/index.ts';
import { openPlanned, split } from './planned.ts';
import { Dice } from './random/dice.ts';
import { scratch } from './scratch.ts';

// Room for a busy machine: alone it takes seconds.
vi.setConfig({ testTimeout: 120_000 });
const here = scratch();
const local = openPlanned(here);

/** Small tables are in every task, and little has to be saved. */
const settings = (partitions: number) => ({
  ...{ partitions, broadcastThresholdBytes: 8_192, singleFragmentBytes: 0 },
});

async function planOf(sql: string, partitions: number): Promise<QueryPlan> {
  const { answer, plan } = await local.planned.answer(sql, settings(partitions));
  expect([sql, await here.oracle.judge(sql, answer, {})]).toEqual([sql, null]);
  const other = await local.planned.answer(sql, settings(partitions + 1), split(new Dice(1)));
  expect([sql, await here.oracle.judge(sql, other.answer, {})]).toEqual([sql, null]);
  return plan;
}

/** Those that the tasks read which send rows on. */
function tablesBefore({ stages }: QueryPlan): readonly string[] {
  const scans = stages.slice(0, -1).flatMap(({ fragment }) => fragment.scans);
  return [...new Set(scans.map(({ table }) => table))].toSorted();
}

/** A median has no partial form, so that all rows are sent. */
const LATE = [
  [
    `SELECT e.user_id, max(t.name), median(e.amount) FROM events e JOIN tree t ON e.user_id = t.id GROUP BY e.user_id`,
    ['events'],
  ],
  // By a column of the table that is equal to one of the rows.
  [
    `SELECT t.id, max(t.name), median(e.amount) FROM events e JOIN tree t ON t.id = e.user_id GROUP BY t.id`,
    ['events'],
  ],
  // Rows without a match keep NULL.
  [
    `SELECT e.user_id, max(t.name), count(t.id), median(e.id) FROM events e LEFT JOIN tree t ON e.user_id = t.id GROUP BY e.user_id`,
    ['events'],
  ],
  // Several rows for a key, and keys that are NULL, on both sides.
  [
    `SELECT u, min(a.g), max(a.d), count(*), median(i) FROM (SELECT id AS i, CASE WHEN user_id > 5 THEN user_id END AS u FROM events) e
       JOIN alpha a ON u = a.k GROUP BY u`,
    ['events'],
  ],
  // Two tables.
  [
    `SELECT e.kind, e.user_id, max(t.name), min(b.g), median(e.amount) FROM events e LEFT JOIN tree t ON e.user_id = t.id LEFT JOIN gamma b ON e.user_id = b.id GROUP BY e.kind, e.user_id`,
    ['events'],
  ],
  // Below a condition on a column that is equal to one of the rows, and below a window.
  [
    `SELECT e.user_id, max(t.name), median(e.amount) FROM events e JOIN tree t ON e.user_id = t.id WHERE e.id + t.id > 90 GROUP BY e.user_id`,
    ['events'],
  ],
  [
    `SELECT u, v, row_number() OVER (PARTITION BY u ORDER BY i) FROM (SELECT e.id AS i, e.user_id AS u, t.name AS v FROM events e JOIN tree t ON e.user_id = t.id)`,
    ['events'],
  ],
] as const;

test.each(LATE)('%s: names are not sent', async (sql, tables) => {
  for (const partitions of [2, 3]) {
    const plan = await planOf(sql, partitions);
    expect([sql, plan.stages.length > 1, tablesBefore(plan)]).toEqual([sql, true, tables]);
  }
});

const SOONER = [
  // By the name, which not only one key may have.
  `SELECT t.name, median(e.amount) FROM events e JOIN tree t ON e.user_id = t.id GROUP BY t.name`,
  // Rows are left out.
  `SELECT e.user_id, max(t.name), median(e.amount) FROM events e JOIN tree t ON e.user_id = t.id WHERE t.parent > 3 GROUP BY e.user_id`,
  `SELECT e.user_id, max(t.name), median(e.amount) FROM events e LEFT JOIN tree t ON e.user_id = t.id AND e.amount > t.parent GROUP BY e.user_id`,
];

test.each(SOONER)('%s: the table is read by the tasks that send the rows', async (sql) => {
  const plan = await planOf(sql, 2);
  expect(tablesBefore(plan)).toContain('tree');
});
