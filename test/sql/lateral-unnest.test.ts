import { expect, test, vi } from 'vitest';
import { openPlanned } from './planned.ts';
import { scratch } from './scratch.ts';

// Room for a busy machine: alone it takes seconds.
vi.setConfig({ testTimeout: 120_000 });
const here = scratch();
const local = openPlanned(here);
const SETTINGS = { partitions: 3, broadcastThresholdBytes: 0, singleFragmentBytes: 0 };

/** Filters on both sides, expressions, nesting, NULL and empty lists, equal rows, aggregates above, structs. */
const QUERIES = [
  'SELECT t.id, e FROM types t, unnest(t.list) AS u(e) WHERE e > 10',
  'SELECT t.id, e FROM types t CROSS JOIN LATERAL unnest(t.list) AS u(e) WHERE t.id % 3 = 0',
  'SELECT t.id, e FROM types t JOIN unnest(t.list) AS u(e) ON e = t.id',
  'SELECT t.id, t.text, e + t.id FROM types t, unnest(list_transform(t.list, x -> x * 2)) AS u(e)',
  'SELECT id % 5, count(*), sum(e) FROM types t, unnest(t.list) AS u(e) GROUP BY ALL',
  'SELECT k, e FROM (SELECT id % 4 AS k, list FROM types) t, unnest(t.list) AS u(e)',
  'SELECT a.e, b.e FROM types t, unnest(t.list) AS a(e), unnest(t.list) AS b(e) WHERE a.e < b.e',
  'SELECT id, f FROM (SELECT id, [list, list] AS lists FROM types) t, unnest(t.lists) AS u(l), unnest(u.l) AS v(f)',
  'SELECT id, e.a FROM (SELECT id, [{a: id, b: text}] AS rows FROM types) t, unnest(t.rows) AS u(e)',
  'SELECT user_id, e FROM (SELECT user_id, list(id) AS ids FROM events GROUP BY user_id) t, unnest(t.ids) AS u(e)',
  'SELECT t.id, e FROM types t JOIN events v ON t.id = v.id, unnest(t.list) AS u(e) WHERE v.amount > 3',
];

test('UNNEST of a column in FROM runs where the rows are', async () => {
  for (const sql of QUERIES) {
    const { answer, plan } = await local.planned.answer(sql, SETTINGS);
    expect([sql, plan.single, plan.stages[0]?.tasks]).toEqual([sql, null, 3]);
    expect([sql, await here.oracle.judge(sql, answer, {})]).toEqual([sql, null]);
  }
  const { plan } = await local.planned.answer(QUERIES[0]!, SETTINGS);
  expect(plan.stages.map(({ tasks }) => tasks)).toEqual([3]);
});

test('where more than the rows themselves come out, the query stays whole', async () => {
  const whole = [
    'SELECT t.id, e FROM types t LEFT JOIN unnest(t.list) AS u(e) ON true',
    'SELECT t.id FROM types t WHERE EXISTS (FROM unnest(t.list) AS u(e) WHERE e > 10)',
    'SELECT t.id, (SELECT max(e) FROM unnest(t.list) AS u(e)) FROM types t',
  ];
  for (const sql of whole) {
    const { answer, plan } = await local.planned.answer(sql, SETTINGS);
    expect([sql, await here.oracle.judge(sql, answer, {})]).toEqual([sql, null]);
    expect([sql, plan.single]).toEqual([sql, expect.stringContaining('unnest() for each row')]);
  }
});
