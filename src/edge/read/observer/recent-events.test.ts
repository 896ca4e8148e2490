import { expect, test } from 'vitest';
import type { EventPage, EventShape } from '../../../scheduler/contract/index.ts';
import { RecentEvents } from './recent-events.ts';

const page = (seqs: readonly number[], asOf: number): EventPage => ({
  events: seqs.map((seq) => ({ seq, job: null }) as EventShape),
  asOf: { seq: asOf, at: `t${asOf}` },
});

const seqs = (recent: RecentEvents): readonly number[] =>
  recent.page({ after: 0 }, { seq: 0, at: '' }).events.map(({ seq }) => seq);

test('a page that comes again, with more than before, gives each event once', () => {
  const recent = new RecentEvents(100);
  recent.reset({ seq: 0, at: 't0' });
  recent.add(page([1, 2, 3], 3));
  recent.add(page([1, 2, 3, 4], 4));
  expect(seqs(recent)).toEqual([1, 2, 3, 4]);
  recent.add(page([2, 3], 3));
  expect(seqs(recent)).toEqual([1, 2, 3, 4]);
  expect(recent.asOf).toMatchObject({ seq: 4 });
});

test('after a new start the numbers may be lower', () => {
  const recent = new RecentEvents(100);
  recent.reset({ seq: 0, at: 't0' });
  recent.add(page([1, 2, 3], 3));
  recent.reset({ seq: 1, at: 't1' });
  recent.add(page([2], 2));
  expect(seqs(recent)).toEqual([2]);
});
