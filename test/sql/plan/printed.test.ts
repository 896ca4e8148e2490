import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readLogicalPlan } from '../../../src/sql/plan/logical/read-plan.ts';
import type { Relation } from '../../../src/sql/plan/logical/relation.ts';
import { BIGINT } from '../../../src/sql/plan/logical/type.ts';
import { printRelation } from '../../../src/sql/plan/sql/relation.ts';
import { PlanBench, session } from './plan-bench.ts';
import { tables } from './tables.ts';

let bench: PlanBench;
beforeAll(async () => {
  bench = await PlanBench.open(tables);
});
afterAll(() => bench.close());

describe('printed SQL', () => {
  test('is laid out for people: a clause on each line, what is nested indented', async () => {
    const sql = `SELECT title, sum(pay * (1 - 0.05)) AS s FROM people JOIN teams USING (team)
      WHERE born < DATE '2020-09-01' AND name <> 'it''s' GROUP BY title ORDER BY s DESC LIMIT 3`;
    expect(await bench.print(sql)).toBe(`\
SELECT t.c0, t.c1
FROM (
  SELECT r.c1 AS c0, sum(CAST((l.c1 * 0.95) AS DECIMAL(18,4))) AS c1
  FROM (
    SELECT t.c0, t.c3 AS c1
    FROM s0 AS t
    WHERE (t.c1 <> 'it''s') AND (t.c2 < CAST('2020-09-01' AS DATE)) AND (t.c0 <= 3)
  ) AS l
  INNER JOIN s1 AS r
  ON l.c0 = r.c0
  GROUP BY r.c1
) AS t
ORDER BY t.c1 DESC NULLS LAST
LIMIT 3`);
  });

  test('reads an input of another stage by its name', () => {
    const input: Relation = { kind: 'input', relation: 'x 1', output: [], rows: null };
    expect(printRelation(input, () => 's0')).toBe('SELECT NULL AS none\nFROM "x 1" AS t');
  });

  test('has the moment of the query, wherever DuckDB leaves it open', async () => {
    const json = await bench.planJson('SELECT upper(name), id FROM people');
    const open = json
      .replaceAll('"name":"upper"', '"name":"today"')
      .replace(/"children":\[\{"expression_class":"BOUND_REF"[^}]*\}[^}]*\}\]/, '"children":[]');
    const text = printRelation(readLogicalPlan(open, null, session), () => 's0');
    expect(text).toContain(
      `CAST(CAST('2026-03-04 05:06:07.089+00' AS TIMESTAMP WITH TIME ZONE) AS DATE)`,
    );
  });
});

describe('a scalar subquery', () => {
  const many = 'SELECT id, (SELECT visit FROM visits v WHERE v.team = p.team) FROM people p';

  test('that finds more than one row fails as in DuckDB', async () => {
    const message = 'More than one row returned by a subquery used as an expression';
    await expect(bench.run(many)).rejects.toThrow(message);
    await expect(bench.runPrinted(many)).rejects.toThrow(message);
  });

  test('fails even when nobody looks at its value', async () => {
    const input = await bench.read(many);
    const count = {
      name: 'count',
      args: [],
      distinct: false,
      filter: null,
      order: [],
      type: BIGINT,
    };
    const total: Relation = {
      kind: 'aggregate',
      input,
      groups: [],
      sets: [[]],
      calls: [count],
      grouping: [],
      output: [BIGINT],
      rows: 1,
    };
    await expect(bench.runRelation(total)).rejects.toThrow('More than one row');
  });

  test('that groups by its keys is a plain left join', async () => {
    const sql = 'SELECT id, (SELECT max(visit) FROM visits v WHERE v.team = p.team) FROM people p';
    const kinds = JSON.stringify(await bench.read(sql));
    expect(kinds).toContain('"type":"left"');
    expect(kinds).not.toContain('"type":"single"');
  });
});

describe('estimates of EXPLAIN', () => {
  const sql = 'SELECT team, count(*) FROM people WHERE id > 10 GROUP BY team ORDER BY team';

  test('are those of the operators', async () => {
    const scans: (number | null)[] = [];
    const relation = await bench.read(sql);
    printRelation(relation, (scan) => {
      scans.push(scan.rows);
      return 's0';
    });
    expect(scans).toEqual([expect.any(Number)]);
    expect(relation.rows).toEqual(expect.any(Number));
  });

  test.each([
    ['the tree has another shape', '[{"name": "X", "children": [], "extra_info": {}}]'],
    ['the text is not JSON', 'Physical plan'],
    ['there is nothing', '[]'],
  ])('are left out when %s', async (_name, estimates) => {
    const relation = readLogicalPlan(await bench.planJson(sql), estimates, session);
    expect(relation.rows).toBeNull();
  });
});
