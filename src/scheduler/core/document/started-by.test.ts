import { expect, test } from 'vitest';
import type { JobId, TaskId } from '../ids.ts';
import { isStartedAs, readStarter, starterKey, starterPart } from './started-by.ts';

const event = { event: 'order.created', id: 'a/"b"' };
const task = { job: 'j-1' as JobId, task: 'pay' as TaskId };

test.each([
  ['event/order.created', event, true],
  ['event/order.created/a/"b"', event, true],
  ['event/order.created/a', event, false],
  ['event/order', event, false],
  ['job/order.created', event, false],
  ['job/j-1', task, true],
  ['job/j-1/pay', task, true],
  ['job/j-1/pa', task, false],
  ['event/j-1', task, false],
  ['job/j-1', null, false],
])('%s finds %j: %s', (text, by, isFound) => {
  expect(isStartedAs(by, readStarter(text, ''))).toBe(isFound);
  const options = JSON.stringify({ keep: 'all', startedBy: by });
  expect(options.includes(starterPart(text))).toBe(isFound);
  if (isFound) expect(options).toContain(starterKey(text));
});

test.each([
  '',
  'event',
  'event/',
  'event//x',
  'job/a b',
  'task/x',
  'event/a/',
  `job/${'x'.repeat(201)}`,
  'event/a/\0',
  7,
  null,
])('%j is refused', (text) => {
  expect(() => readStarter(text, '?startedBy')).toThrow(/event\/NAME\/ID/);
});
