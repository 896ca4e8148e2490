import { expect, test } from 'vitest';
import { aJob, anEvent } from '../../../../test/rig/conformance/rows.ts';
import { batchOf, instant, type JobId, jobNo, taskNo, type TermId } from '../../core/index.ts';
import { chunksOf } from '../event-chunk.ts';
import { isWholeJob, updatedJob } from './job-change.ts';
import { packBatch, unpackBatch } from './pack.ts';
import { Pending } from './pending.ts';

const events = [anEvent(1), anEvent(2, { detail: '{"a":"\\n"}' })];
const batch = batchOf({ commitNo: 1, lastSeq: 2, nextJobNo: jobNo(1), events });

test('a record of the first format, with its events as rows, is read', () => {
  const { commitNo, lastSeq, nextJobNo } = batch;
  const record = JSON.stringify({ format: 1, commitNo, lastSeq, nextJobNo, events });
  expect(unpackBatch(record)).toEqual(batch);
});

test('a record has its events in a chunk and nothing of empty lists', () => {
  const record = JSON.parse(packBatch(batch).body) as Record<string, unknown>;
  expect(record).toMatchObject({ format: 5, lists: {}, events: [{ firstSeq: 1, lastSeq: 2 }] });
  expect(unpackBatch(packBatch(batch).body)).toEqual(batch);
});

test('a record of a later format is refused', () => {
  const record = packBatch(batch).body.replace('"format":5', '"format":6');
  expect(() => unpackBatch(record)).toThrow('the format 6');
});

test('the events of a large job are short in the record, and as tables read them when it is folded', () => {
  const of = (seq: number, no: number) => anEvent(seq, { jobNo: jobNo(7), taskNo: taskNo(no) });
  const created = Array.from({ length: 2_000 }, (_, at) => of(at + 1, at));
  const large = batchOf({ commitNo: 1, lastSeq: 2_000, nextJobNo: jobNo(8), events: created });
  const { body, chunks } = packBatch(large, 'blocks');
  expect(body.length).toBeLessThan(2_000);
  expect(unpackBatch(body)).toEqual(large);
  const pending = new Pending(0);
  pending.add('t' as TermId, large, body.length, chunks);
  expect(pending.fold().chunks).toEqual(chunksOf(created, 'blocks'));
});

test('a record of the second format, with whole jobs as updates, is read', () => {
  const columns = {
    no: [7, 8],
    createdAt: { from: 1_000_000, by: [0, 5] },
    state: { one: 'running' },
  };
  const lists = { jobUpdates: { rows: 2, columns } };
  const body = JSON.stringify({ format: 2, commitNo: 1, lastSeq: 0, nextJobNo: 9, lists });
  expect(unpackBatch(body).jobUpdates).toEqual([
    { no: 7, createdAt: 1_000_000, state: 'running' },
    { no: 8, createdAt: 1_000_005, state: 'running' },
  ]);
});

test('an update of a job has what changes, and becomes the whole row when it is laid over it', () => {
  const stored = aJob(7);
  const changed = aJob(7, { state: 'running', startedAt: instant(9), options: '{}', taskCount: 3 });
  const counters = { commitNo: 1, lastSeq: 0, nextJobNo: jobNo(8) };
  const { body } = packBatch(batchOf({ ...counters, jobUpdates: [changed] }));
  expect(body).not.toContain(stored.id);
  const [read] = unpackBatch(body).jobUpdates;
  if (read === undefined) throw new Error('there is one');
  expect(isWholeJob(read)).toBe(false);
  expect(updatedJob(stored, read)).toEqual(changed);
});

test('a thousand like jobs take a few bytes each', () => {
  const id = (at: number): JobId => `01a1ef6e-b9f4-7adf-ac71-8dc${100_000_000 + at}` as JobId;
  const jobInserts = Array.from({ length: 1_000 }, (_, at) => aJob(at + 1, { id: id(at) }));
  const jobUpdates = jobInserts.map((job) => ({ ...job, state: 'running' as const }));
  const counters = { commitNo: 1, lastSeq: 0, nextJobNo: jobNo(1_001) };
  const { body } = packBatch(batchOf({ ...counters, jobInserts, jobUpdates }));
  expect(body.length).toBeLessThan(11_000);
  expect(unpackBatch(body).jobInserts).toEqual(jobInserts);
});
