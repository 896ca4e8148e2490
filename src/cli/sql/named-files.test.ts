import { expect, test } from 'vitest';
import { namedFiles } from './named-files.ts';

test.each([
  ["select * from 'data/*.parquet'", ['data/*.parquet']],
  ['from \'a.csv\' a join "b.json" using (id)', ['a.csv', 'b.json']],
  ["select * from 'a.csv' a, 'b c/it''s.csv' b where a.x = 'c.csv'", ['a.csv', "b c/it's.csv"]],
  ["select * from (select 1), 'b.csv'", ['b.csv']],
  ["describe 'a.parquet'", ['a.parquet']],
  ["summarize './a.tsv.gz'", ['./a.tsv.gz']],
  ["with t as (from 'a.csv') select * from t, 'a.csv'", ['a.csv']],
  ["select 'a.csv', 'b.csv' from t where x in ('c.csv', 'd.csv')", []],
  ["select * from sales -- from 'a.csv'\n/* from 'b.csv' */", []],
  ["select * from 'sales'", []],
  ["select * from 's3://bucket/a.parquet'", []],
  ["select * from 'unterminated.csv", []],
])('%s names %j', (sql, names) => {
  expect(namedFiles(sql)).toEqual(names);
});
