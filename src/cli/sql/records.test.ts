import { expect, test } from 'vitest';
import { recordsOf } from './records.ts';

test('a record has a line for each value, and none of them can move the cursor', () => {
  const columns = [
    { name: 'id', type: 'INTEGER' },
    { name: 'long name', type: 'VARCHAR' },
  ];
  const rows = [
    [1, `a\n\u001B[2J${'x'.repeat(100)}`],
    [2, null],
  ];
  const { lines } = recordsOf(columns, rows, { columns: 30, isUnicode: false, hasColour: false });
  expect(lines).toEqual([
    '-[ RECORD 1 ]-----------------',
    'id        | 1',
    `long name | a\\n\uFFFD[2J${'x'.repeat(100)}`,
    '-[ RECORD 2 ]-----------------',
    'id        | 2',
    'long name | NULL',
  ]);
});
