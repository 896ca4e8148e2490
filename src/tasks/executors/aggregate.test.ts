import { expect, test } from 'vitest';
import type { Json } from '../../scheduler/core/index.ts';
import { testContext, thrownBy } from '../../../test/rig/task-context.ts';
import { aggregateExecutor } from './aggregate.ts';
import { classifyFailure } from './failure.ts';

const run = (input: Json): unknown => aggregateExecutor.run(input, testContext());

test.each<[string, Json, Json]>([
  ['the default is the values as they are', { values: [1, null, 'a'] }, [1, null, 'a']],
  ['an object stays one', { values: { a: 1, b: null } }, { a: 1, b: null }],
  ['a field of each', { values: [{ a: { b: 1 } }, null], field: '/a/b' }, [1, null]],
  ['a field of each in an object', { values: { x: [7] }, field: '/0' }, { x: 7 }],
  ['lists are joined', { values: [[1, [2]], null, []], op: 'concat' }, [1, [2]]],
  ['objects are merged', { values: [{ a: 1, b: 1 }, { b: 2 }], op: 'merge' }, { a: 1, b: 2 }],
  ['nulls do not count', { values: [0, null, false, ''], op: 'count' }, 3],
  ['numbers are summed up', { values: { a: 1.5, b: 2, c: null }, op: 'sum' }, 3.5],
  ['and their mean is taken', { values: [1, null, 2], op: 'avg' }, 1.5],
  ['the least', { values: [3, -1, 2], op: 'min' }, -1],
  ['the greatest text', { values: ['a', 'c', 'b'], op: 'max' }, 'c'],
  ['the greatest of a field', { values: [{ n: 1 }, { n: 9 }], op: 'max', field: '/n' }, 9],
  ['nothing has a sum', { values: [], op: 'sum' }, 0],
  ['nothing is not a number', { values: [], op: 'avg' }, null],
  ['nothing is the least of nothing', { values: [null], op: 'min' }, null],
])('%s', (_name, input, expected) => {
  expect(run(input)).toEqual(expected);
});

test('a field called __proto__ is a field like any other', () => {
  const hostile = JSON.parse('{"__proto__": {"polluted": 1}}') as Json;
  const merged = run({ values: [hostile], op: 'merge' });
  expect(Object.keys(merged as object)).toEqual(['__proto__']);
  expect({}).not.toHaveProperty('polluted');
});

test.each<[string, Json]>([
  ['Must be an object with', null],
  ['/values: ', {}],
  ['/values: ', { values: 5 }],
  ['/op: ', { values: [], op: 'median' }],
  ['/op: ', { values: [], op: 'constructor' }],
  ['/field: ', { values: [], field: 'a' }],
  ['/values/1: ', { values: [{ a: 1 }, {}], field: '/a' }],
  ['/values/0: ', { values: [1], op: 'concat' }],
  ['/values/b: ', { values: { b: [] }, op: 'merge' }],
  ['/values/1: ', { values: [1, '2'], op: 'sum' }],
  ['/values/1: ', { values: [1, '2'], op: 'max' }],
  ['/values/0: ', { values: [true], op: 'max' }],
  ['/values: ', { values: [1.7e308, 1.7e308], op: 'sum' }],
  ['/value: ', { value: [] }],
])('what does not fit is refused for good, with its place: %s %j', async (start, input) => {
  const { error, failure } = classifyFailure(await thrownBy(() => run(input)));
  expect({ failure, code: error.code }).toEqual({ failure: 'fatal', code: 'bad_input' });
  expect(error.message.startsWith(start)).toBe(true);
});
