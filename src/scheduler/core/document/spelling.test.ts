import { expect, test } from 'vitest';
import { didYouMean, nearest } from './spelling.ts';

const FIELDS = ['id', 'executor', 'dependsOn', 'maxAttempts', 'priority'];

test.each([
  ['executer', 'executor'],
  ['depends_on', 'dependsOn'],
  ['DEPENDSON', 'dependsOn'],
  ['max-attempts', 'maxAttempts'],
  ['priorty', 'priority'],
  ['idd', 'id'],
  ['colour', undefined],
  ['', undefined],
  ['x'.repeat(101), undefined],
])('%j was probably meant to be %j', (word, meant) => {
  expect(nearest(word, FIELDS)).toBe(meant);
});

test('the closest of several wins', () => {
  expect(nearest('task-13', ['task-44', 'task-14', 'task-113'])).toBe('task-14');
});

test('a hint is a sentence, and no hint is nothing', () => {
  expect(didYouMean('nmae', ['name', 'tasks'])).toBe('');
  expect(didYouMean('names', ['name', 'tasks'])).toBe(" Did you mean 'name'?");
  expect(didYouMean('name', ['name', 'tasks'])).toBe('');
});

test('a hopeless search ends early', () => {
  let asked = 0;
  function* endless(): Generator<string> {
    for (;;) yield `candidate ${(asked += 1)}`;
  }
  expect(nearest('word', endless())).toBeUndefined();
  expect(asked).toBeLessThan(2_100);
});
