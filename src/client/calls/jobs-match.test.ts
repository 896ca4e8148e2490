import { expect, test } from 'vitest';
import { bulkRequest, listQuery } from './jobs-match.ts';

test.each([
  [{ event: 'tick' }, 'event/tick'],
  [{ event: 'tick', id: 'e/1' }, 'event/tick/e/1'],
  [{ job: 'j-1' }, 'job/j-1'],
  [{ job: 'j-1', task: 'pay' }, 'job/j-1/pay'],
  ['event/tick', 'event/tick'],
])('what has started a job, %j, is asked for as %s', (startedBy, text) => {
  expect(listQuery({ startedBy, schedule: 's' })).toMatchObject({ startedBy: text, schedule: 's' });
  expect(bulkRequest('cancel', { startedBy, schedule: 's' }, {})).toEqual({
    action: 'cancel',
    filter: { startedBy: text, schedule: 's' },
  });
});

test('a field that nobody knows is refused: without it, all jobs would be meant', () => {
  const misspelt = { startdBy: 'event/tick', name: 'order' } as object;
  expect(() => bulkRequest('cancel', misspelt, {})).toThrow("Jobs cannot be chosen by 'startdBy'");
  expect(() => listQuery(misspelt)).toThrow(expect.objectContaining({ path: '/startdBy' }));
  const { signal } = new AbortController();
  expect(listQuery({ limit: 3, cursor: 'c', signal })).toMatchObject({ limit: '3' });
});
