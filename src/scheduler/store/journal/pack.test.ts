import { expect, test } from 'vitest';
import { anEvent } from '../../../../test/rig/conformance/rows.ts';
import { batchOf, jobNo } from '../../core/index.ts';
import { packBatch, unpackBatch } from './pack.ts';

const events = [anEvent(1), anEvent(2, { detail: '{"a":"\\n"}' })];
const batch = batchOf({ commitNo: 1, lastSeq: 2, nextJobNo: jobNo(1), events });

test('a record of the first format, with its events as rows, is read', () => {
  const { commitNo, lastSeq, nextJobNo } = batch;
  const record = JSON.stringify({ format: 1, commitNo, lastSeq, nextJobNo, events });
  expect(unpackBatch(record)).toEqual(batch);
});

test('a record has its events in a chunk and nothing of empty lists', () => {
  const record = JSON.parse(packBatch(batch).body) as Record<string, unknown>;
  expect(record).toMatchObject({ format: 2, lists: {}, events: [{ firstSeq: 1, lastSeq: 2 }] });
  expect(unpackBatch(packBatch(batch).body)).toEqual(batch);
});

test('a record of a later format is refused', () => {
  const record = packBatch(batch).body.replace('"format":2', '"format":3');
  expect(() => unpackBatch(record)).toThrow('the format 3');
});
