import { expect, test } from 'vitest';
import { Statements } from './statements.ts';

test.each([
  [['select 1;'], ['select 1']],
  [
    ['select 1; select 2;', ''],
    ['select 1', 'select 2'],
  ],
  [['select', '  1', ';'], ['select\n  1']],
  [["select ';", "';"], ["select ';\n'"]],
  [['select 1 -- no; end', ';'], ['select 1 -- no; end']],
  [['/* a; */ select $$b;$$;'], ['/* a; */ select $$b;$$']],
  [[';;', '-- nothing', 'select 1; -- that was it'], ['select 1']],
])('%j holds %j', (lines, wanted) => {
  const statements = new Statements();
  expect(lines.flatMap((line) => statements.add(line))).toEqual(wanted);
  expect({ isOpen: statements.isOpen, rest: statements.rest() }).toEqual({
    isOpen: false,
    rest: '',
  });
});

test('what has no semicolon yet is open, and is there at the end', () => {
  const statements = new Statements();
  expect(statements.add('select 1; select')).toEqual(['select 1']);
  expect(statements.isOpen).toBe(true);
  expect(statements.isQuoted).toBe(false);
  statements.add("  'a");
  expect(statements.isQuoted).toBe(true);
  expect(statements.rest()).toBe("select\n  'a");
});

test('a statement of many lines is not tokenized again for each of them', () => {
  const statements = new Statements();
  for (let line = 0; line < 200_000; line += 1) statements.add('  1 +');
  expect(statements.add('1;')).toHaveLength(1);
});
