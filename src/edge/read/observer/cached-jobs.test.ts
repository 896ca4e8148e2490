import { expect, test } from 'vitest';
import { instant } from '../../../scheduler/core/index.ts';
import type { JobId } from '../../../scheduler/core/index.ts';
import type { Dated, ReadJob } from '../../../scheduler/contract/index.ts';
import { CachedJobs } from './cached-jobs.ts';

const id = (no: number): JobId => `j-${no}` as JobId;

function job(no: number, seq: number, more: Partial<ReadJob> = {}): Dated<ReadJob> {
  const parts = { result: null, tasks: [], history: [], ...more };
  const shape = { id: id(no), no, name: 'n', state: 'queued', ...parts };
  return { asOf: { seq, at: new Date(seq) }, value: shape as unknown as ReadJob };
}

const withResult = (no: number, chars: number): Dated<ReadJob> =>
  job(no, 1, { tasks: [{ result: 'x'.repeat(chars) } as unknown as ReadJob['tasks'][number]] });

const numbers = (jobs: CachedJobs, limit: number): readonly number[] =>
  jobs.page({ limit }).items.map(({ no }) => no);

test('an older answer that comes late does not replace a newer one', () => {
  const jobs = new CachedJobs(10);
  jobs.put(job(1, 11, { state: 'succeeded' }));
  jobs.put(job(1, 10, { state: 'running' }));
  expect(jobs.get(id(1))?.read).toMatchObject({ asOf: { seq: 11 }, value: { state: 'succeeded' } });
  jobs.remove(id(1), { seq: 10, at: new Date(10) });
  expect(jobs.get(id(1))).toBeDefined();
  jobs.remove(id(1), { seq: 12, at: new Date(12) });
  expect(jobs.get(id(1))).toBeUndefined();
});

test('an answer from before the change leaves a job stale, one that knows of it makes it fresh', () => {
  const jobs = new CachedJobs(10);
  jobs.put(job(1, 9));
  jobs.markStale(id(1), 11);
  jobs.put(job(1, 10));
  expect(jobs.get(id(1))).toMatchObject({ read: { asOf: { seq: 10 } }, isStale: true });
  jobs.put(job(1, 11));
  expect(jobs.get(id(1))?.isStale).toBe(false);
  // The same page of events may come twice.
  jobs.markStale(id(1), 11);
  expect(jobs.get(id(1))?.isStale).toBe(false);
});

test('a change that comes before the first answer is remembered', () => {
  const jobs = new CachedJobs(10);
  jobs.markStale(id(1), 11);
  jobs.put(job(1, 10));
  expect(jobs.get(id(1))?.isStale).toBe(true);
});

test('in another log lower numbers are newer, and what was asked of the old one is not kept', () => {
  const jobs = new CachedJobs(10);
  jobs.put(job(1, 100));
  jobs.markStale(id(1), 101);
  const before = jobs.era;
  jobs.startOver();
  expect(jobs.get(id(1))?.isStale).toBe(true);
  jobs.put(job(1, 7, { state: 'running' }));
  jobs.put(job(1, 102), before);
  expect(jobs.get(id(1))).toMatchObject({
    read: { asOf: { seq: 7 }, value: { state: 'running' } },
    isStale: false,
  });
});

test('a single cached old job does not count as a complete list', () => {
  const jobs = new CachedJobs(10);
  for (const no of [8, 9, 10]) jobs.put(job(no, 1));
  jobs.settle(8);
  jobs.put(job(2, 2));
  expect(numbers(jobs, 3)).toEqual([10, 9, 8]);
  const page = jobs.page({ limit: 4 });
  expect(page).toMatchObject({ items: [{ no: 10 }, { no: 9 }, { no: 8 }], isWhole: false });
  expect(jobs.get(id(2))).toBeDefined();
});

test('the oldest are evicted when the limit on characters is exceeded', () => {
  const jobs = new CachedJobs(100, 10_000);
  jobs.settle(0);
  for (const no of [1, 2, 3, 4, 5]) jobs.put(withResult(no, 1_500));
  // Three fit, and leave room for what comes next.
  expect(jobs.get(id(1))).toBeUndefined();
  expect(numbers(jobs, 3)).toEqual([5, 4, 3]);
  expect(jobs.page({ limit: 4 }).isWhole).toBe(false);
  // A job that shrinks gives its room back.
  for (let seq = 2; seq < 20; seq += 1) jobs.put(job(5, seq));
  expect(numbers(jobs, 3)).toEqual([5, 4, 3]);
});

test('jobs that were evicted during a full read do not count as complete afterwards', () => {
  const jobs = new CachedJobs(100, 10_000);
  jobs.startOver();
  const all = [6, 5, 4, 3, 2, 1];
  for (const no of all) jobs.put(withResult(no, 1_500));
  jobs.settle(0);
  const page = jobs.page({ limit: 6 });
  expect(page.isWhole).toBe(false);
  expect(page.items.map(({ no }) => no)).toEqual([6, 5, 4]);
});

test('when there is no room, jobs of the previous log are evicted first', () => {
  const jobs = new CachedJobs(4);
  for (const no of [101, 102, 103, 104]) jobs.put(job(no, 1));
  jobs.settle(0);
  jobs.startOver();
  for (const no of [4, 3, 2, 1]) jobs.put(job(no, 1));
  jobs.settle(0);
  expect(jobs.page({ limit: 5 })).toMatchObject({
    items: [{ no: 4 }, { no: 3 }, { no: 2 }, { no: 1 }],
    isWhole: true,
  });
});

test('the result of the job itself counts, and is not in the lists', () => {
  const jobs = new CachedJobs(10, 10_000);
  jobs.settle(0);
  const large = 'x'.repeat(6_000);
  jobs.put(job(1, 1, { result: large }));
  jobs.put(job(2, 1, { result: null, isResultOmitted: true }));
  jobs.put(job(3, 1, { result: large }));
  expect(jobs.get(id(1))).toBeUndefined();
  expect(jobs.get(id(3))?.read.value.result).toBe(large);
  const [, listed] = jobs.page({ limit: 5 }).items;
  expect(Object.keys(listed ?? {})).toEqual(['id', 'no', 'name', 'state']);
});

test('counts what it has by state, and says whether that is all', () => {
  const jobs = new CachedJobs(2);
  jobs.put(job(1, 1, { state: 'failed' }));
  jobs.put(job(2, 1, { state: 'succeeded' }));
  jobs.settle(0);
  const none = { queued: 0, running: 0, succeeded: 0, failed: 0, cancelled: 0 };
  expect(jobs.counts()).toEqual({ counts: { ...none, succeeded: 1, failed: 1 }, isWhole: true });
  for (const no of [3, 4]) jobs.put(job(no, 1));
  expect(jobs.counts()).toEqual({ counts: { ...none, queued: 2 }, isWhole: false });
});

test('jobs are found by the time of their creation', () => {
  const jobs = new CachedJobs(10);
  for (const no of [1, 2, 3]) jobs.put(job(no, no, { createdAt: new Date(no * 1_000) }));
  jobs.settle(0);
  const page = jobs.page({ limit: 9, since: instant(2_000), until: instant(3_000) });
  expect(page.items.map(({ no }) => no)).toEqual([2]);
});
