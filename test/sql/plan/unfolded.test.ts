import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { unfoldCorrelated } from '../../../src/sql/plan/distribute/unfold-correlated.ts';
import { eachRelation } from '../../../src/sql/plan/distribute/relations.ts';
import type { Relation } from '../../../src/sql/plan/logical/relation.ts';
import { printRelation } from '../../../src/sql/plan/sql/relation.ts';
import { PlanBench } from './plan-bench.ts';
import { tables } from './tables.ts';

/** DuckDB unfolds some of these itself, by the sizes of the tables; without this optimizer it leaves all of them. */
let bench: PlanBench;
beforeAll(async () => {
  bench = await PlanBench.open(tables, ['deliminator']);
});
afterAll(() => bench.close());

const hasWith = (relation: Relation): boolean =>
  [...eachRelation(relation)].some(({ kind }) => kind === 'with');

/** Outer keys and inner keys are NULL in some rows, and most match several rows or none. */
const unfoldable: readonly string[] = [
  'SELECT id FROM people p WHERE EXISTS (SELECT 1 FROM visits v WHERE v.person = p.id AND v.team <> p.team)',
  'SELECT id FROM people p WHERE NOT EXISTS (SELECT 1 FROM visits v WHERE v.person = p.id AND v.amount > p.id)',
  'SELECT visit FROM visits v WHERE EXISTS (SELECT 1 FROM people p WHERE p.id = v.person AND p.team < v.team AND p.pay > 5)',
  'SELECT visit FROM visits v WHERE NOT EXISTS (SELECT 1 FROM visits w WHERE w.person = v.person AND w.visit <> v.visit)',
  `SELECT name, count(*) FROM people p WHERE EXISTS (SELECT 1 FROM visits v JOIN teams t ON v.team = t.team
     WHERE v.person = p.id AND t.title <> p.name) GROUP BY name`,
];

/** Not joins and filters only, or compared in a way that one join cannot. */
const others: readonly string[] = [
  'SELECT id FROM people p WHERE EXISTS (SELECT team, count(*) FROM visits v WHERE v.person = p.id AND v.team <> p.team GROUP BY team HAVING count(*) > 1)',
  'SELECT id FROM people p WHERE p.team IN (SELECT v.team FROM visits v WHERE v.person = p.id AND v.amount > p.id)',
  'SELECT id FROM people p WHERE EXISTS (SELECT 1 FROM visits v WHERE v.person IS NOT DISTINCT FROM p.team OR v.amount = p.id)',
  `SELECT id FROM people p WHERE EXISTS (SELECT 1 FROM visits v WHERE v.person = p.id AND NOT EXISTS
     (SELECT 1 FROM teams t WHERE t.team = v.team AND t.title <> p.name))`,
  'SELECT id FROM people p WHERE NOT EXISTS (SELECT 1 FROM visits v WHERE v.person = p.id AND v.team <> p.team LIMIT 1)',
];

/** Outer rows, by DuckDB's estimates 12 of 60 and 24 of 120, and where EXISTS is written again. */
const narrowed: readonly (readonly [sql: string, isWritten: boolean])[] = [
  ['FROM people p WHERE p.pay > 5 AND EXISTS (SELECT 1 FROM visits v WHERE v.person = p.id)', true],
  [
    'FROM people p WHERE p.pay > 5 AND EXISTS (SELECT 1 FROM visits v WHERE v.team = p.team AND v.amount > v.visit)',
    true,
  ],
  ['FROM people p WHERE p.pay > 5 AND EXISTS (SELECT 1 FROM teams t WHERE t.team = p.team)', false],
  [
    'FROM people p WHERE p.pay > 5 AND NOT EXISTS (SELECT 1 FROM visits v WHERE v.person = p.id)',
    false,
  ],
  [
    'FROM people p WHERE p.pay > 5 AND EXISTS (SELECT 1 FROM visits v WHERE v.person = p.id AND v.team <> p.team)',
    false,
  ],
];

describe('a correlated EXISTS', () => {
  test.each(narrowed)('finds few rows in a table as DuckDB would: %s', async (rest, isWritten) => {
    const sql = `SELECT count(*), max(p.team) ${rest}`;
    const unfolded = unfoldCorrelated(await bench.read(sql));
    expect(hasWith(unfolded)).toBe(false);
    expect(printRelation(unfolded, () => 's').includes('EXISTS (')).toBe(isWritten);
    expect(await bench.runRelation(unfolded)).toEqual(await bench.run(sql));
  });

  test.each(unfoldable)('becomes one join and gives the same rows: %s', async (sql) => {
    const read = await bench.read(sql);
    expect(hasWith(read)).toBe(true);
    const unfolded = unfoldCorrelated(read);
    expect(hasWith(unfolded)).toBe(false);
    expect(await bench.runRelation(unfolded)).toEqual(await bench.run(sql));
  });

  test.each(others)('gives the same rows however it is planned: %s', async (sql) => {
    const unfolded = unfoldCorrelated(await bench.read(sql));
    expect(await bench.runRelation(unfolded)).toEqual(await bench.run(sql));
  });
});
