import { expect, test } from 'vitest';
import { batchOf } from '../core/index.ts';
import type { EventView, Instant, JobNo, LogKind, NamedBatch, TaskRow } from '../core/index.ts';
import type { Histogram } from '../../kit/index.ts';
import { LeaderMeasures } from './leader-measures.ts';

const JOB = 7 as JobNo;

function event(kind: LogKind, at: number, taskId: string | null = 'a'): EventView {
  const taskNo = taskId === null ? null : 0;
  return { kind, at, jobNo: JOB, taskNo, taskId } as unknown as EventView;
}

const row = (times: Partial<TaskRow>): TaskRow => ({ jobNo: JOB, taskNo: 0, ...times }) as TaskRow;

function batch(events: readonly EventView[], ...rows: readonly TaskRow[]): NamedBatch {
  const counters = { commitNo: 1, lastSeq: 1, nextJobNo: JOB };
  return { ...batchOf({ ...counters, taskUpdates: rows }), events };
}

/** Observations and their sum, by label value. */
function seen(histogram: Histogram): Record<string, readonly [number, number]> {
  const entries = histogram.series().map(({ labels, counts, sum }) => {
    const count = counts.reduce((total, each) => total + each, 0);
    return [Object.values(labels)[0] ?? '', [count, sum]] as const;
  });
  return Object.fromEntries(entries);
}

test('an attempt is measured from ready to assigned, and from its start to its end', () => {
  const measures = new LeaderMeasures();
  const queuedAt = 1_000 as Instant;
  measures.committed(batch([event('assigned', 3_000)], row({ queuedAt })), 4, () => 'echo');
  const startedAt = 3_500 as Instant;
  measures.committed(batch([event('completed', 5_500)], row({ queuedAt, startedAt })), 6, () => '');
  expect(seen(measures.queueAge)).toEqual({ '': [1, 2] });
  expect(seen(measures.run)).toEqual({ echo: [1, 2] });
  expect(seen(measures.commit)).toEqual({ '': [2, 0.01] });
  expect(measures.attempts.get('succeeded')).toBe(1);
});

test('the start of an earlier attempt is not taken for the start of this one', () => {
  const measures = new LeaderMeasures();
  const startedAt = 100 as Instant;
  measures.committed(batch([event('assigned', 3_000)], row({})), 1, () => 'echo');
  measures.committed(batch([event('retried', 4_000)], row({ startedAt })), 1, () => 'echo');
  expect(seen(measures.run)).toEqual({ echo: [1, 1] });
});

test.each([
  { won: 'second', discarded: 1, fence: 2, took: 1 },
  { won: 'first', discarded: 2, fence: 1, took: 3 },
])('of two attempts at the same time the $won one succeeds, the other is discarded', (end) => {
  const measures = new LeaderMeasures();
  const of = (kind: LogKind, at: number, fence: number): EventView => ({
    ...event(kind, at),
    fence,
  });
  measures.committed(batch([of('assigned', 1_000, 1)], row({})), 1, () => 'echo');
  measures.committed(batch([of('duplicated', 3_000, 2)]), 1, () => 'echo');
  const ends = [of('discarded', 4_000, end.discarded), of('completed', 4_000, end.fence)];
  measures.committed(batch(ends, row({})), 1, () => 'echo');
  const counted = [...measures.attempts].filter(([, count]) => count > 0);
  expect(counted).toEqual([
    ['succeeded', 1],
    ['discarded', 1],
  ]);
  expect(seen(measures.run)).toEqual({ echo: [1, end.took] });
});

test('a task that ends without having run counts as no attempt', () => {
  const measures = new LeaderMeasures();
  measures.committed(batch([event('skipped', 1), event('cancelled', 2)]), 1, () => null);
  expect([...measures.attempts.values()].every((count) => count === 0)).toBe(true);
  expect(seen(measures.run)).toEqual({});
});

test('a stage lasts from its first assignment to its last completion', () => {
  const measures = new LeaderMeasures();
  const of = (): string => 'sql.fragment';
  measures.committed(batch([event('assigned', 1_000, 's1.0')], row({})), 1, of);
  measures.committed(batch([event('completed', 4_000, 's1.0')], row({})), 1, of);
  expect(seen(measures.stage)).toEqual({ '': [0, 0] });
  measures.committed(batch([event('job.succeeded', 5_000, null)]), 1, of);
  expect(seen(measures.stage)).toEqual({ '': [1, 3] });
  expect(measures.jobsEnded.get('succeeded')).toBe(1);
});
