import { expect, test } from 'vitest';
import { estimateFault, operatorOf, stagesOfPlan } from './plan-shape.ts';

test.each([
  ['scan large: id, price', 0, 'scan large', ' id, price'],
  ['  aggregate (partial) by name: sum(price)', 1, 'aggregate (partial)', ' by name: sum(price)'],
  ['    inner join on id = id', 2, 'inner join', ' on id = id'],
  ['      partition of stage 0', 3, 'partition', ' of stage 0'],
  ['filter id >= 1', 0, 'filter', ' id >= 1'],
  ['project a, CAST(b AS INT)', 0, 'project', ' a, CAST(b AS INT)'],
  ['the whole query', 0, 'the whole query', ''],
])('%j is at depth %i: %s', (line, depth, name, detail) => {
  expect(operatorOf(line)).toEqual({ depth, name, detail });
});

test.each([
  [100, 5_000, '50 times more than estimated'],
  [5_000, 100, '50 times fewer than estimated'],
  [100, 300, null],
  [null, 300, null],
  [0, 300, null],
])('%s rows estimated and %i found: %s', (estimated, rows, words) => {
  expect(estimateFault(estimated, rows)).toBe(words);
});

test('a plan that has not run has stages with what they read and write', () => {
  const stage = {
    id: 0,
    title: 'scan t',
    tasks: 4,
    operators: ['scan t: a'],
    nonDeterministic: 'a LIMIT may take any rows',
    requires: ['geo'],
    estimate: { rows: 10 },
    output: { kind: 'hash', partitions: 4 },
    fragment: { inputs: [] },
  };
  expect(stagesOfPlan({ stages: [stage] })).toMatchObject([
    { output: 'hash(4)', notes: ['needs geo', 'non-deterministic: a LIMIT may take any rows'] },
  ]);
  expect(stagesOfPlan({})).toEqual([]);
});
