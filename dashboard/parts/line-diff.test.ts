import { expect, test } from 'vitest';
import { folded, lineDiff } from './line-diff.ts';

const shown = (before: string, after: string): string[] =>
  lineDiff(before, after).map(
    ({ kind, text }) => `${{ same: ' ', removed: '-', added: '+' }[kind]}${text}`,
  );

test('a changed line is removed and added between the lines that stay', () => {
  expect(shown('a\nb\nc\nd', 'a\nx\nc\nd\ne')).toEqual([' a', '-b', '+x', ' c', ' d', '+e']);
});

test.each([
  ['', ''],
  ['a', 'a\na'],
  ['a\nb\na\nb', 'b\na\nb\na'],
  [Array.from({ length: 1_500 }, (_, at) => `old ${at}`).join('\n'), 'new\n'.repeat(1_500)],
])('both texts can be read from the difference', (before, after) => {
  const lines = lineDiff(before, after);
  const without = (gone: string): string =>
    lines.flatMap(({ kind, text }) => (kind === gone ? [] : [text])).join('\n');
  expect([without('added'), without('removed')]).toEqual([before, after]);
});

test('equal lines far from a change are counted instead of shown', () => {
  const before = Array.from({ length: 20 }, (_, at) => String(at)).join('\n');
  expect(folded(lineDiff(before, before.replace('\n9\n', '\nx\n')), 1)).toEqual([
    { kind: 'left out', count: 8 },
    { kind: 'same', text: '8' },
    { kind: 'removed', text: '9' },
    { kind: 'added', text: 'x' },
    { kind: 'same', text: '10' },
    { kind: 'left out', count: 9 },
  ]);
});
