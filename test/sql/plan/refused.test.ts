import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readLogicalPlan } from '../../../src/sql/plan/logical/read-plan.ts';
import { Undistributable } from '../../../src/sql/plan/logical/undistributable.ts';
import { PlanBench, session } from './plan-bench.ts';
import { tables } from './tables.ts';

let bench: PlanBench;
beforeAll(async () => {
  bench = await PlanBench.open(tables);
});
afterAll(() => bench.close());

function refusal(json: string): string {
  try {
    readLogicalPlan(json, null, session);
  } catch (error) {
    if (error instanceof Undistributable) {
      // No message to a user speaks of operators, fields and places in a plan.
      expect(error.reason).not.toMatch(/LOGICAL_|BOUND_|_FILTER|_READ|\bplan\./);
      return error.message;
    }
    throw error;
  }
  return 'read';
}

describe('refuses to distribute a query, with the reason', () => {
  const recursive = 'WITH RECURSIVE r AS (SELECT 1 a UNION ALL SELECT a + 1 FROM r WHERE a < 9)';
  test.each([
    ['SELECT random(), id FROM people', 'it calls the volatile function random()'],
    ['SELECT uuid() FROM people', 'it calls the volatile function uuid()'],
    [
      'SELECT alias(id) FROM people',
      'it calls alias(), whose result depends on the text of the query',
    ],
    ['SELECT age(seen) FROM people', 'it calls age() with one argument'],
    [`${recursive} SELECT * FROM r`, 'it is recursive'],
    ['SELECT id FROM people LIMIT 10%', 'it has a LIMIT that is not a plain number'],
    ['SELECT id FROM people USING SAMPLE reservoir(3%)', 'it takes a sample'],
    ['SELECT reservoir_quantile(score, 0.5) FROM people', 'samples at random'],
    [
      'SELECT p.id FROM people p LEFT JOIN unnest(p.marks) x(z) ON true',
      'it calls unnest() for each row',
    ],
    ["SELECT * FROM glob('/nowhere/*')", 'it reads from glob()'],
    ["SELECT '101'::BIT FROM people", 'it has a constant that DuckDB cannot write'],
    ['SELECT 1::VARIANT FROM people', 'it uses the type VARIANT'],
    ["SELECT date_part(['year', 'month'], born) FROM people", 'it calls date_part() in a form'],
    [
      'SELECT list_reduce(marks, lambda a, b: a + b, 7) FROM people',
      'it calls list_reduce() in a form',
    ],
    ['SELECT nowhere FROM people', 'Referenced column "nowhere" not found'],
    ['SELECT 1; SELECT 2', 'it is more than one statement'],
  ])('%s', async (sql, reason) => {
    expect(refusal(await bench.planJson(sql))).toContain(reason);
  });
});

describe('never guesses what a later DuckDB could write:', () => {
  const sql = `SELECT team, sum(id), row_number() OVER (ORDER BY team) FROM people
    WHERE name LIKE '%1' AND id > 3 AND id IN (SELECT person FROM visits) GROUP BY team`;
  test.each([
    ['an operator', 'LOGICAL_WINDOW', 'LOGICAL_NOVELTY', 'it has the operator LOGICAL_NOVELTY'],
    ['an expression', '"BOUND_REF"', '"BOUND_NOVELTY"', 'an expression of the kind BOUND_NOVELTY'],
    ['a comparison', 'COMPARE_EQUAL', 'COMPARE_NOVELTY', 'no comparison that is known'],
    ['a join', '"SEMI"', '"NOVEL"', 'it has a join of the kind NOVEL'],
    ['a filter', 'CONSTANT_COMPARISON', 'NOVEL_FILTER', 'a filter of the kind NOVEL_FILTER'],
    ['a kind of aggregate', 'NON_DISTINCT', 'NOVEL', 'no kind of aggregate'],
    ['an end of a frame', 'UNBOUNDED_PRECEDING', 'NOVEL', 'no frame'],
    ['an order of NULLs', 'NULLS LAST', 'NULLS NOVEL', 'no NULLS FIRST or NULLS LAST'],
    ['a way to read a column', 'FULL_READ', 'NOVEL_READ', 'no whole column'],
    ['a type', '"id":"HUGEINT"', '"id":"NOVEL"', 'it uses the type NOVEL'],
    [
      'a column beyond the table',
      /"projection_ids":\[[01]/,
      '"projection_ids":[99',
      'no column at',
    ],
    ['a column beyond the row', /"index":1\}/, '"index":99}', 'which is not there'],
    [
      'a column of another type',
      /("type":"BOUND_REF".{0,99}"id":")INTEGER/,
      '$1DATE',
      'which is not there',
    ],
    ['columns left out of a join', '_projection_map":[]', '_projection_map":[0]', 'no empty list'],
    ['a field that is gone', '"grouping_sets"', '"groupings"', 'no list at'],
    ['text that ends early', /.{20}$/, '', 'a constant that DuckDB cannot write'],
  ])('%s', async (_name, part, novelty, reason) => {
    const json = await bench.planJson(sql);
    expect(refusal(json)).toBe('read');
    const pattern = typeof part === 'string' ? part : new RegExp(part, 'g');
    expect(refusal(json.replaceAll(pattern, novelty))).toContain(reason);
  });
});
