import { expect, test } from 'vitest';
import { batchOf, instant, jobNo, taskNo } from '../core/index.ts';
import type { JobRow, TaskSpecRow } from '../core/index.ts';
import { PayloadCache } from './payload-cache.ts';

const ref = (job: number) => ({ jobNo: jobNo(job), taskNo: taskNo(0) });
const counters = { commitNo: 1, lastSeq: 0, nextJobNo: jobNo(1) };

function specs(...inputs: (string | null)[]): readonly TaskSpecRow[] {
  return inputs.map((input, at) => ({ ...ref(at), input }) as TaskSpecRow);
}

test('an input that was just committed is known, also when it is null', () => {
  const cache = new PayloadCache();
  cache.learn(batchOf({ ...counters, specInserts: specs('1', null) }));
  expect(cache.inputs.get(ref(0))).toBe('1');
  expect(cache.inputs.get(ref(1))).toBeNull();
  expect(cache.inputs.get(ref(2))).toBeUndefined();
});

test('a new run makes the result of the one before unknown', () => {
  const cache = new PayloadCache();
  cache.learn(batchOf({ ...counters, results: [{ ...ref(0), run: 1, body: '"old"' }] }));
  expect(cache.results.get(ref(0))).toBe('"old"');
  cache.learn(batchOf({ ...counters, archived: [ref(0)] }));
  expect(cache.results.get(ref(0))).toBeUndefined();
});

test('results of a job that ends with them are not kept', () => {
  const cache = new PayloadCache();
  const results = [
    { ...ref(1), run: 1, body: '1' },
    { ...ref(2), run: 1, body: '2' },
  ];
  const ended = { no: jobNo(1), finishedAt: instant(1) } as JobRow;
  cache.learn(batchOf({ ...counters, results, jobUpdates: [ended] }));
  expect(cache.results.get(ref(1))).toBeUndefined();
  expect(cache.results.get(ref(2))).toBe('2');
});

test('the oldest texts are forgotten when there is too much, and the youngest are not', () => {
  const cache = new PayloadCache();
  const large = 'x'.repeat(1024 * 1024);
  for (let at = 0; at < 40; at += 1) {
    const specInserts = [{ ...ref(at), input: large } as TaskSpecRow];
    cache.learn(batchOf({ ...counters, specInserts }));
  }
  const known = Array.from({ length: 40 }, (_, at) => cache.inputs.get(ref(at)) !== undefined);
  expect(known.filter(Boolean).length).toBeLessThanOrEqual(16);
  expect(known.slice(-7)).toEqual(Array.from({ length: 7 }, () => true));
  expect(known[0]).toBe(false);
});
