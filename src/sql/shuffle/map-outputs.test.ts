import { expect, test } from 'vitest';
import type { JobId } from '../../scheduler/core/index.ts';
import type { MapOutput, MapPartition } from '../../scheduler/contract/index.ts';
import { MapOutputs } from './map-outputs.ts';

const KEY = { query: 'q' as JobId, stage: 1, mapTask: 2, attempt: 3 };

function partition(given: Partial<MapPartition> = {}): MapPartition {
  return {
    partition: 0,
    bytes: 100,
    rows: 10,
    batches: 1,
    epoch: 1,
    committedOffset: 0,
    isFinalized: false,
    ...given,
  };
}

function output(given: Partial<MapOutput> = {}): MapOutput {
  return { ...KEY, layoutVersion: 1, layoutFingerprint: 7n, partitions: [partition()], ...given };
}

const registered = (...outputs: MapOutput[]): MapPartition | undefined => {
  const all = new MapOutputs();
  for (const each of outputs) all.register(each);
  return all.find(KEY)?.partition(0);
};

const of = (given: Partial<MapPartition>): MapOutput => output({ partitions: [partition(given)] });

test('an output is found by its exact key and by no other', () => {
  const all = new MapOutputs();
  all.register(output());
  expect(all.find(KEY)?.layoutVersion).toBe(1);
  expect(all.find({ ...KEY, attempt: 4 })).toBeNull();
  expect(all.find({ ...KEY, mapTask: 3 })).toBeNull();
  expect(all.find({ ...KEY, stage: 2 })).toBeNull();
  expect(all.find({ ...KEY, query: 'other' as JobId })).toBeNull();
});

test('no more can be read than there is', () => {
  expect(registered(of({ committedOffset: 400 }))?.committedOffset).toBe(100);
});

test('a finished partition can be read to its end', () => {
  expect(registered(of({ isFinalized: true }))?.committedOffset).toBe(100);
});

test('merges registrations of one epoch by the larger figures, and finished stays finished', () => {
  const merged = registered(
    of({ bytes: 100, rows: 5, batches: 4, committedOffset: 60, isFinalized: true }),
    of({ bytes: 80, rows: 9, batches: 2, committedOffset: 70 }),
  );
  expect(merged).toEqual(
    partition({ rows: 9, batches: 4, committedOffset: 100, isFinalized: true }),
  );
});

test('a higher epoch replaces everything, a lower one changes nothing', () => {
  const higher = of({ epoch: 2, bytes: 10, committedOffset: 4 });
  const lower = of({ epoch: 1, bytes: 500, committedOffset: 400, isFinalized: true });
  const expected = partition({ epoch: 2, bytes: 10, committedOffset: 4 });
  expect(registered(lower, higher)).toEqual(expected);
  expect(registered(higher, lower)).toEqual(expected);
});

test('a newer layout replaces the older one, which then changes nothing any more', () => {
  const newer = output({ layoutVersion: 2, partitions: [partition({ bytes: 5 })] });
  expect(registered(output(), newer)?.bytes).toBe(5);
  expect(registered(newer, output())?.bytes).toBe(5);
});

test('the same layout with another fingerprint changes nothing', () => {
  const other = output({ layoutFingerprint: 8n, partitions: [partition({ bytes: 900 })] });
  expect(registered(output(), other)?.bytes).toBe(100);
});

test('keeps what is committed here, whatever others register', () => {
  const all = new MapOutputs();
  all.seal(output({ partitions: [partition({ isFinalized: true })] }));
  all.register(output({ layoutVersion: 9, partitions: [partition({ epoch: 9, bytes: 1 })] }));
  all.register(of({ epoch: 9, bytes: 1 }));
  expect(all.find(KEY)?.partition(0)).toMatchObject({ epoch: 1, bytes: 100, isFinalized: true });
});

test('limits registrations by others, and a forgotten query makes room', () => {
  const all = new MapOutputs();
  for (let attempt = 0; attempt < 10_000; attempt += 1) all.register(output({ attempt }));
  expect(() => all.register(output({ attempt: 10_001 }))).toThrow('More than 10000 map outputs');
  all.forget(KEY.query);
  all.register(output({ attempt: 10_001 }));
  expect(all.find({ ...KEY, attempt: 10_001 })).not.toBeNull();
});
