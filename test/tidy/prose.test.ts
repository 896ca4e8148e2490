import { expect, test } from 'vitest';
import { decisionRecords, namedFiles, tableCells, vocabulary } from './prose.ts';
import type { Rule } from './rule.ts';

function complaints(rule: Rule, files: Readonly<Record<string, string>>): string[] {
  const list = Object.entries(files).map(([path, text]) => ({ path, text }));
  return rule.find(list).map(({ path, line }) => `${path}:${line}`);
}

test.each([
  'a new reign',
  'class JobDesk {}',
  'bad weather',
  "'abc' is no job id",
  'was handed in',
  'a caller is told',
  'divided by value',
  'an unstable output',
  'jobs that are let in',
  'rows are read back',
  'a leader reads its jobs back',
  'an output is made again',
  'a handler is put aside',
  'the door of a room',
  'it is lost without a word',
])('a retired word is found: %s', (text) => {
  expect(complaints(vocabulary, { 'src/a.ts': `x\n${text}` })).toEqual(['src/a.ts:2']);
});

test('a retired word is found in the name of a file', () => {
  expect(complaints(vocabulary, { 'src/job-desk.ts': '' })).toEqual(['src/job-desk.ts:1']);
});

test('standard English, released migrations and allowed files pass', () => {
  const files = {
    'src/a.ts': 'There is no job a. It is no longer kept. foreign',
    'src/store/migrations/0001-a.up.sql': 'the reign of a leader',
    'examples/order-processing/order.ts': 'const shelf = 1;',
  };
  expect(complaints(vocabulary, files)).toEqual([]);
});

test('a decision record needs its title, its sections and its line in the index', () => {
  const path = 'docs/decisions/0003-leases.md';
  const body = '## Context\n## Decision\n## Consequences\n## Alternatives considered\n';
  const index = (title: string): Record<string, string> => ({
    'docs/decisions/README.md': `| [3](0003-leases.md) | ${title} |\n`,
  });
  const at = (text: string, title = 'Keep leases'): string[] =>
    complaints(decisionRecords, { [path]: text, ...index(title) });
  expect(at(`# 3. Keep leases\n${body}`)).toEqual([]);
  expect(at(`# 0003: Keep leases\n${body}`)).toEqual([`${path}:1`]);
  expect(at(`# 3. Keep leases\n${body}`, 'Drop leases')).toEqual([`${path}:1`]);
  expect(at(`# 3. Keep leases\n${body.replace('Decision', 'Chosen')}`)).toEqual([`${path}:3`]);
  expect(at('# 3. Keep leases\n## Context\n')).toEqual([`${path}:1`]);
});

test('the index of decision records is sorted by number', () => {
  const rows = '| [3](0003-a.md) | A |\n| [5](0005-b.md) | B |\n| [4](0004-c.md) | C |\n';
  expect(complaints(decisionRecords, { 'docs/decisions/README.md': rows })).toEqual([
    'docs/decisions/README.md:3',
  ]);
});

test('a cell of a table has at most 35 words', () => {
  const words = (count: number): string => Array.from({ length: count }, () => 'a').join(' ');
  const page = `| x | ${words(35)} |\n| x | ${words(36)} |\n${words(50)}\n`;
  expect(complaints(tableCells, { 'docs/a.md': page })).toEqual(['docs/a.md:2']);
});

test('a source file that the architecture page names must exist', () => {
  const page = { 'docs/architecture.md': 'see\n`core/step.ts` and `gone.ts`' };
  expect(complaints(namedFiles, { ...page, 'src/scheduler/core/step.ts': '' })).toEqual([
    'docs/architecture.md:2',
  ]);
});
