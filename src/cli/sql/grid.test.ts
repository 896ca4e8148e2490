import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Json } from '../../scheduler/core/index.ts';
import { textWidth } from '../view/text-width.ts';
import { gridOf } from './grid.ts';

const wide = { columns: null, isUnicode: true, hasColour: false };
const columns = [
  { name: 'item', type: 'VARCHAR' },
  { name: 'sold', type: 'BIGINT' },
];
const rows = [
  ['tea', '12'],
  [null, '7'],
  ['茶 cup', null],
];

describe('a table', () => {
  test('has a frame, types under the names, and numbers to the right', () => {
    expect(gridOf(columns, rows, wide)).toEqual({
      hidden: 0,
      lines: [
        '┌─────────┬────────┐',
        '│ item    │   sold │',
        '│ varchar │ bigint │',
        '├─────────┼────────┤',
        '│ tea     │     12 │',
        '│ NULL    │      7 │',
        '│ 茶 cup  │   NULL │',
        '└─────────┴────────┘',
      ],
    });
  });

  test('is plain where the terminal knows no other characters', () => {
    const { lines } = gridOf(columns, rows.slice(0, 1), { ...wide, isUnicode: false });
    expect(lines).toEqual([
      '+---------+--------+',
      '| item    |   sold |',
      '| varchar | bigint |',
      '+---------+--------+',
      '| tea     |     12 |',
      '+---------+--------+',
    ]);
  });

  test('shows what would move a cursor, and JSON as text', () => {
    const value = { a: ['x', 1] };
    const { lines } = gridOf(
      [{ name: 'a\nb', type: 'STRUCT(a JSON)' }],
      [['\u001B[2J\t'], [value]],
      wide,
    );
    const text = lines.join('\n');
    expect(text).toContain('a\\nb');
    expect(text).toContain('\uFFFD[2J\\t');
    expect(text).toContain('{"a":["x",1]}');
  });

  test('dims NULL, so that it is not taken for a text', () => {
    const { lines } = gridOf(columns, [['NULL', null]], { ...wide, hasColour: true });
    expect(lines[4]).toContain('\u001B[2m  NULL\u001B[0m');
    expect(lines[4]).toContain(' NULL    ');
  });

  test('cuts long texts before it leaves out columns', () => {
    const long = [['x'.repeat(100), '1']];
    const { lines, hidden } = gridOf(columns, long, { ...wide, columns: 30 });
    expect(hidden).toBe(0);
    expect(lines[4]).toMatch(/^│ x+… │ +1 │$/);
    expect(gridOf(columns, long, wide).lines[4]).toContain('x'.repeat(100));
  });

  test('without columns has no lines', () => {
    expect(gridOf([], [[]], wide).lines).toEqual([]);
  });
});

test('whatever the rows are, every line is as wide as the others and fits', () => {
  const type = fc.constantFrom('VARCHAR', 'BIGINT', 'DOUBLE', 'INTEGER[]');
  const name = fc.string({ minLength: 1, unit: 'binary', maxLength: 30 });
  const given = fc.array(fc.record({ name, type }), { minLength: 1, maxLength: 12 }).chain((list) =>
    fc.record({
      list: fc.constant(list),
      rows: fc.array(
        fc.array(fc.jsonValue() as fc.Arbitrary<Json>, {
          minLength: list.length,
          maxLength: list.length,
        }),
        { maxLength: 6 },
      ),
      width: fc.integer({ min: 40, max: 160 }),
    }),
  );
  fc.assert(
    fc.property(given, ({ list, rows: cells, width }) => {
      const grid = gridOf(list, cells, { ...wide, columns: width });
      const widths = new Set(grid.lines.map(textWidth));
      expect(widths.size).toBe(1);
      const isWide = list.length - grid.hidden > 1;
      if (isWide) expect(Math.max(...widths)).toBeLessThan(width);
    }),
    { numRuns: 200 },
  );
});
