import { expect, test, vi } from 'vitest';
import { Oracle } from './oracle.ts';
import { queryPair } from './random/partitioned.ts';
import { randomQuery } from './random/queries.ts';
import { scratch } from './scratch.ts';
import { tryPair, tryRandom } from './trial.ts';
import type { Outcome } from './trial.ts';

// Room for a busy machine: alone it takes seconds.
vi.setConfig({ testTimeout: 120_000 });
const here = scratch();

const SEEDS = 150;
const PAIRS = 40;

function counted(outcomes: readonly Outcome[]): { invalid: number; wrong: readonly string[] } {
  return {
    invalid: outcomes.filter(({ isInvalid }) => isInvalid).length,
    wrong: outcomes.flatMap(({ wrong }) => wrong ?? []),
  };
}

test('a seed always gives the same query, and another one another', () => {
  expect(randomQuery(7)).toEqual(randomQuery(7));
  expect(queryPair(7)).toEqual(queryPair(7));
  const texts = Array.from({ length: 500 }, (_, seed) => randomQuery(seed).sql);
  expect(new Set(texts).size).toBeGreaterThan(490);
});

test('every construct comes up', () => {
  const all = Array.from({ length: 2_000 }, (_, seed) => randomQuery(seed).sql).join('\n');
  const words = [
    ...[
      'LEFT JOIN',
      'RIGHT JOIN',
      'FULL JOIN',
      'SEMI JOIN',
      'ANTI JOIN',
      'CROSS JOIN',
      'UNION ALL',
    ],
    ...[
      'INTERSECT',
      'EXCEPT ALL',
      'EXISTS',
      'NOT IN (SELECT',
      '> ALL',
      'GROUP BY ROLLUP',
      'HAVING',
    ],
    ...['OVER (PARTITION', 'ROWS BETWEEN', 'row_number', 'CASE WHEN', 'IS DISTINCT FROM', 'FILTER'],
    ...['AS MATERIALIZED', 'DISTINCT', 'LIMIT', 'OFFSET', 'string_agg', 'median', '::HUGEINT'],
  ];
  expect(words.filter((word) => !all.includes(word))).toEqual([]);
});

test('nearly all random queries are valid, and DuckDB agrees with itself on them', async () => {
  const parallel = await Oracle.open(here.tables.readers, { threads: 3 });
  const outcomes: Outcome[] = [];
  for (let seed = 1; seed <= SEEDS; seed += 1)
    outcomes.push(await tryRandom(here.oracle, seed, (sql) => parallel.answer(sql)));
  parallel.close();
  const { invalid, wrong } = counted(outcomes);
  expect(wrong).toEqual([]);
  expect(invalid).toBeLessThan(SEEDS / 20);
});

test('rows where a condition is true, false and unknown add up', async () => {
  const outcomes: Outcome[] = [];
  for (let seed = 1; seed <= PAIRS; seed += 1)
    outcomes.push(await tryPair(here.oracle, seed, (sql) => here.oracle.answer(sql)));
  const { invalid, wrong } = counted(outcomes);
  expect(wrong).toEqual([]);
  expect(invalid).toBeLessThan(PAIRS / 20);
});
