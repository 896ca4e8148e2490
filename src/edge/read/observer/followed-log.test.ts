import { expect, test } from 'vitest';
import type { EventPage, EventShape } from '../../../scheduler/contract/index.ts';
import { FollowedLog } from './followed-log.ts';

const page = (seqs: readonly number[], asOf: number): EventPage => ({
  events: seqs.map((seq) => ({ seq, job: null }) as EventShape<Date>),
  asOf: { seq: asOf, at: new Date(asOf) },
});

const seqs = (log: FollowedLog, after = 0): readonly number[] =>
  log.page({ after }, { seq: 0, at: new Date(0) }).events.map(({ seq }) => seq);

test('a page that overlaps the previous one yields each event once', () => {
  const log = new FollowedLog(100);
  log.reset({ seq: 0, at: new Date(0) });
  log.add(page([1, 2, 3], 3));
  log.add(page([1, 2, 3, 4], 4));
  expect(seqs(log)).toEqual([1, 2, 3, 4]);
  log.add(page([2, 3], 3));
  expect(seqs(log)).toEqual([1, 2, 3, 4]);
  expect(log.asOf).toMatchObject({ seq: 4 });
});

test('after a new start the numbers may be lower', () => {
  const log = new FollowedLog(100);
  log.reset({ seq: 0, at: new Date(0) });
  log.add(page([1, 2, 3], 3));
  log.reset({ seq: 1, at: new Date(1) });
  log.add(page([2], 2));
  expect(seqs(log, 1)).toEqual([2]);
});

test('keeps at most its maximum, and says where it begins', () => {
  const log = new FollowedLog(3);
  log.reset({ seq: 0, at: new Date(0) });
  log.add(page([1, 2, 3, 4, 5], 5));
  expect([log.reaches(1), log.reaches(2)]).toEqual([false, true]);
  expect(log.page({ after: 2 }, { seq: 5, at: new Date(0) }).events).toHaveLength(3);
});

test('sends followers to the source for events before a gap', () => {
  const log = new FollowedLog(100);
  log.reset({ seq: 0, at: new Date(0) });
  log.add(page([1, 2], 2));
  log.add(page([5, 6], 6));
  expect([log.reaches(2), log.reaches(4)]).toEqual([false, true]);
});
