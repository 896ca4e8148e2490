import { expect, test } from 'vitest';
import { type NearestOptions, nearestSql } from './nearest-sql.ts';

const SEARCH: NearestOptions = { table: 'docs', key: 'id', vector: 'v', to: [0.5, 1], k: 3 };
const flat = (sql: string): string => sql.replaceAll(/\s+/g, ' ');

test('an exact search orders by distance and key', () => {
  const { sql, params } = nearestSql(SEARCH, null);
  expect(flat(sql)).toBe(
    'WITH best AS (SELECT "id", array_cosine_distance(CAST("v" AS FLOAT[2]), CAST($millrace_to AS FLOAT[2])) AS distance' +
      ' FROM "docs" WHERE "v" IS NOT NULL ORDER BY distance, "id" LIMIT 3) SELECT * FROM best ORDER BY distance, "id"',
  );
  expect(params).toEqual({ millrace_to: [0.5, 1] });
});

test('columns of few rows are selected with the distance, where DuckDB reads them late', () => {
  const { sql } = nearestSql({ ...SEARCH, k: 50, columns: ['a"b'] }, [4, 2]);
  expect(flat(sql)).toMatch(
    /^SELECT "id", array_cosine_distance\(.*\) AS distance, "a""b" FROM "docs" WHERE cluster IN \(4, 2\) AND "v" IS NOT NULL ORDER BY distance, "id" LIMIT 50$/,
  );
});

test('columns of many rows are joined by key, in the searched clusters only', () => {
  const { sql } = nearestSql({ ...SEARCH, k: 51, columns: ['a"b'] }, [4, 2]);
  expect(nearestSql({ ...SEARCH, k: 51, fetch: 'key', columns: ['a"b'] }, [4, 2]).sql).toBe(sql);
  expect(flat(sql)).toContain('WHERE cluster IN (4, 2) AND "v" IS NOT NULL');
  expect(flat(sql)).toContain(
    'FROM best JOIN (SELECT "id", "a""b" FROM "docs" WHERE cluster IN (4, 2)) USING ("id")',
  );
});

test('a condition may end in a comment, and has parameters of its own', () => {
  const { sql, params } = nearestSql({ ...SEARCH, where: 'a = $a --', params: { a: 1 } }, null);
  expect(sql).toContain('(a = $a --\n)');
  expect(params).toEqual({ a: 1, millrace_to: [0.5, 1] });
});

test.each([
  [{ to: [] }, "'to' is not a vector"],
  [{ to: 'abc' as never }, "'to' is not a vector"],
  [{ to: [1, '2' as never] }, "'to' has 2 at position 1"],
  [{ to: [Infinity] }, "'to' has Infinity at position 0"],
  [{ k: -1 }, "'-1' is not a valid value for 'k'"],
  [{ k: Number.NaN }, "'NaN' is not a valid value for 'k'"],
  [{ fetch: 'file' as never }, "'file' is not a valid value for 'fetch'"],
  [{ metric: 'hamming' as never }, "'hamming' is not a valid metric"],
  [{ params: { millrace_to: 1 } }, "A parameter cannot be called 'millrace_to'"],
  [{ first: { vector: 's', to: [], candidates: 1 } }, "'first.to' is not a vector"],
  [{ first: { vector: 's', to: [1], candidates: 0.5 } }, "'first.candidates'"],
] as const)('refuses %j', (more, words) => {
  expect(() => nearestSql({ ...SEARCH, ...more }, null)).toThrow(words);
});
