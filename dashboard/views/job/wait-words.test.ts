import { expect, test } from 'vitest';
import { waitWords } from './wait-words.ts';

test.each([
  [
    'no node fits; the nearest, w3, lacks capability gpu is missing, needs >= 1',
    'needs gpu >= 1; the nearest node, w3, has no gpu',
  ],
  [
    "no node fits; the nearest, w1, lacks executor 'train', capability cpu is 4, needs >= 8",
    "needs executor 'train' and cpu >= 8; the nearest node, w1, has cpu 4",
  ],
  [
    "no node fits; the nearest, w1, lacks executor 'train'",
    "needs executor 'train'; the nearest node, w1, lacks it",
  ],
  ['no node is registered', 'cannot start: no node is registered'],
  ['2 nodes fit but are busy', 'cannot start: 2 nodes fit but are busy'],
  ['runs again in 300 ms, after error', 'runs again in 300 ms, after an error'],
  ['runs again in 300 ms, after timeout', 'runs again in 300 ms, after timeout'],
  ['waits for signal approved', 'waits for signal approved'],
  ['it has failed on w1', 'has failed on w1'],
])('%s is said as: task a %s', (why, words) => {
  expect(waitWords(why)).toBe(words);
});
