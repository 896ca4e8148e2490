import { expect, test } from 'vitest';
import type { PinnedTable } from '../physical/table.ts';
import { planQuery } from './plan-query.ts';

test('a query that runs as a whole does not carry what its tables could be divided by', () => {
  const table: PinnedTable = {
    name: 't',
    format: 'parquet',
    files: [{ path: '/t', bytes: 9, mtimeNs: '1', footer: 'f', rows: 2, groups: [1, 1] }],
    columns: [{ name: 'a', type: 'BIGINT', bytes: 4, distinct: 2 }],
    options: '',
    select: `SELECT * FROM read_parquet(['/t'])`,
    root: null,
  };
  const groups = [1, 2].map((value) => ({ file: 0, rows: 1, min: value, max: value }));
  const plan = planQuery({
    sql: 'FROM t',
    columns: [{ name: 'a', type: 'BIGINT' }],
    logical: null,
    whyNot: 'nobody can',
    tables: [{ ...table, clusters: [{ column: 'a', groups }] }],
    session: { now: '2024-01-01 00:00:00+00', timeZone: 'UTC' },
    duckdb: 'v1',
    settings: { partitions: 2, broadcastThresholdBytes: 0, singleFragmentBytes: 0 },
  });
  expect(plan.stages[0]?.fragment.tables).toStrictEqual([table]);
});
