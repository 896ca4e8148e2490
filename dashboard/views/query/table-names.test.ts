import { expect, test } from 'vitest';
import { givenTables, mentionedIn } from './table-names.ts';

test('tables are read line by line, and other lines are left out', () => {
  expect(givenTables('orders = /data/o=1/*.parquet\n\nno table here\n  b=x ')).toEqual({
    orders: '/data/o=1/*.parquet',
    b: 'x',
  });
});

test('a table is mentioned by its whole name, quoted or not, in any case', () => {
  const names = ['orders', 'order', 'My Table', 'Kunden'];
  expect(mentionedIn('select * from ORDERS o, "my table", kunden', names)).toEqual([
    'orders',
    'My Table',
    'Kunden',
  ]);
});
