import { expect, test } from 'vitest';
import { commandOf } from './command.ts';

test('a query is left as it is', () => {
  for (const sql of ['select 1', "select 'explain'", '"explain"', '-- explain\nselect 1', '', ';'])
    expect(commandOf(sql)).toEqual({ kind: 'query', sql });
});

test('what is explained stays where it was', () => {
  expect(commandOf('Explain select 1;')).toEqual({ kind: 'explain', sql: '        select 1;' });
  expect(commandOf('explain\n/* x */ANALYZE\nfrom t')).toEqual({
    kind: 'analyze',
    sql: `${' '.repeat(7)}\n${' '.repeat(14)}\nfrom t`,
  });
  expect(commandOf('explain (select 1)')).toEqual({ kind: 'explain', sql: '        (select 1)' });
  expect(commandOf('explain analyze_this')).toMatchObject({ kind: 'explain' });
});

test('SHOW TABLES stands alone', () => {
  expect(commandOf('-- all\nSHOW /* the */ Tables ; ;')).toEqual({ kind: 'show tables' });
  for (const sql of ['show tables from main', 'show "tables"', 'show all tables', 'show t'])
    expect(commandOf(sql)).toEqual({ kind: 'query', sql });
});

test('options and missing queries are refused', () => {
  expect(() => commandOf('explain (format json) select 1')).toThrow('no options');
  expect(() => commandOf('explain (analyze) select 1')).toThrow('no options');
  expect(() => commandOf('explain;')).toThrow('nothing to explain');
  expect(() => commandOf('explain analyze -- select 1')).toThrow('nothing to explain');
});
