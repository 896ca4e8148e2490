/** `millrace sql` as people use it: real processes, to their end or to Ctrl-C, and nothing left of them. */
import { statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { folder, start, said, ended } from './sql-setup.ts';

const SALES =
  "select i as id, ['cup', 'pot', 'tea'][1 + i % 3] as item, i % 7 as cents from range(3000) as t(i)";
const ITEMS = 'select item, count(*) as sold from sales group by item order by item';

test('rows are written to a file and counted by two workers, and nothing is left behind', async () => {
  const write = start('sql', SALES, '--output', 'sales.parquet');
  expect(await ended(write)).toEqual({ code: 0, signal: null });
  expect(said(write, 'stderr')).toMatch(/^3,000 rows to sales.parquet in \S+\.$/);
  expect(statSync(join(folder, 'sales.parquet')).size).toBeGreaterThan(1_000);

  const distributed = ['shufflePartitions=3', 'singleFragmentBytes=0', 'broadcastThresholdBytes=0'];
  const settings = distributed.flatMap((each) => ['--set', each]);
  const flags = ['--table', 'sales=sal*.parquet', '--workers', '2', ...settings];
  const count = start('sql', ITEMS, ...flags);
  expect(await ended(count)).toEqual({ code: 0, signal: null });
  expect(said(count, 'stdout').split('\n').slice(4, -1)).toEqual([
    '│ cup     │   1000 │',
    '│ pot     │   1000 │',
    '│ tea     │   1000 │',
  ]);
  expect(said(count, 'stderr')).toMatch(/^3 rows in .* \(3 stages, 7 tasks\)\.$/);

  const analyzed = start('sql', `explain analyze ${ITEMS}`, ...flags);
  expect(await ended(analyzed)).toEqual({ code: 0, signal: null });
  expect(said(analyzed, 'stdout')).toMatch(/^3 stages, 7 tasks.*\n/);
  expect(said(analyzed, 'stdout')).toContain('3,000 rows in');
});

test('a query that runs here reads the files that it names', async () => {
  writeFileSync(join(folder, 'names.csv'), 'id,name\n1,ada\n2,bob\n');
  writeFileSync(join(folder, 'more.ndjson'), '{"id": 2, "age": 36}\n');
  const sql = "select name, age from 'names.csv' join 'more.ndjson' using (id)";
  const command = start('sql', sql, '--format', 'csv');
  expect(await ended(command)).toEqual({ code: 0, signal: null });
  expect(said(command, 'stdout')).toBe('name,age\nbob,36');
  const missing = start('sql', "from 'nothing-*.csv'");
  expect(await ended(missing)).toEqual({ code: 2, signal: null });
  expect(said(missing, 'stderr')).toContain('nothing-*.csv');
});
