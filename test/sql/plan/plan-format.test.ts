import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readPlan } from '../../../src/sql/plan/index.ts';
import { formatPlan } from './example-plan.ts';

const page = readFileSync(join(import.meta.dirname, '../../../docs/plan-format.md'), 'utf8');
const example: unknown = JSON.parse(/```json\n([^]*?)```/.exec(page)?.[1] ?? 'null');

test('the example of the page is the plan of its query', () => {
  expect(example).toEqual(formatPlan());
});

test('the example can be submitted', () => {
  expect(readPlan(example)).toEqual(formatPlan());
});

test('documents every field of a plan', () => {
  const fields = new Set<string>();
  JSON.stringify(example, (key, value: unknown) => {
    if (!/^\d*$/.test(key)) fields.add(key);
    return value;
  });
  expect([...fields].filter((field) => !page.includes(`\`${field}\``))).toEqual([]);
});
