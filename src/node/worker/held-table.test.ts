import { once } from 'node:events';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { lease } from '../../../test/rig/fake-leader.ts';
import type { JobId, LeaseName } from '../../scheduler/core/index.ts';
import { startThread } from '../../kit/index.ts';
import { HeldTable } from './held-table.ts';

const numbers = (leases: readonly LeaseName[]): readonly number[] =>
  leases.map(({ taskNo }) => taskNo).toSorted((one, other) => one - other);

test('another one over the same memory sees what is held, what runs, and the last poll', () => {
  const table = new HeldTable(3);
  const other = new HeldTable(table.buffer);
  expect([other.leases, other.running, other.seenPoll, other.isBusy]).toEqual([[], [], 0, false]);
  const rows = [1, 2, 3].map((no) => table.hold(lease(no)));
  table.seenPoll = Number.MAX_SAFE_INTEGER;
  table.runs(rows[1]!, true);
  expect(other.leases).toEqual([lease(1), lease(2), lease(3)]);
  expect(other.running).toEqual([lease(2)]);
  expect([other.seenPoll, other.isBusy]).toEqual([Number.MAX_SAFE_INTEGER, true]);
  table.runs(rows[1]!, false);
  table.leave(rows[0]!);
  expect(other.leases).toEqual([lease(2), lease(3)]);
  expect(other.isBusy).toBe(false);
});

test('a lease may have the longest ids, of any characters, and other terms than the one before', () => {
  const table = new HeldTable(1);
  const long: LeaseName = {
    ...lease(1),
    jobId: '語'.repeat(200) as JobId,
    term: '☂'.repeat(200) as LeaseName['term'],
  };
  for (const each of [long, lease(2), lease(3), long]) {
    const row = table.hold(each);
    expect(table.leases).toEqual([each]);
    table.leave(row);
  }
});

test('a full table moves to larger memory with all that it has, and says where', () => {
  const moved: SharedArrayBuffer[] = [];
  const table = new HeldTable(2, (buffer) => moved.push(buffer));
  const rows = Array.from({ length: 5 }, (_, no) => table.hold(lease(no)));
  table.runs(rows[0]!, true);
  expect(moved).toHaveLength(2);
  const other = new HeldTable(moved[1]!);
  expect(numbers(other.leases)).toEqual([0, 1, 2, 3, 4]);
  expect(other.running).toEqual([lease(0)]);
});

test('it holds what was held and has not left, whatever the order', () => {
  const acts = fc.array(fc.oneof(fc.constant('hold'), fc.nat()), { maxLength: 60 });
  fc.assert(
    fc.property(acts, (all) => {
      const table = new HeldTable(4);
      const held: { row: number; no: number }[] = [];
      all.forEach((act, no) => {
        if (act === 'hold') held.push({ row: table.hold(lease(no)), no });
        else if (held.length > 0) table.leave(held.splice(act % held.length, 1)[0]!.row);
        const seen = new HeldTable(table.buffer);
        expect(numbers(seen.leases)).toEqual(held.map(({ no }) => no));
      });
    }),
  );
});

test('a reader on another thread misses no lease of the poll that it has seen, and sees none half written', async () => {
  const table = new HeldTable(3);
  const stop = new Int32Array(new SharedArrayBuffer(4));
  const reader = startThread(import.meta.url, '../../../test/rig/held-reader', {
    workerData: { buffer: table.buffer, stop },
  });
  await once(reader, 'message');
  const answer = once(reader, 'message');
  const rows: number[] = [];
  for (let poll = 1; poll <= 100_000; poll += 1) {
    const name = {
      ...lease(poll),
      jobNo: poll,
      fence: poll,
      jobId: `job-${poll}`,
    } as unknown as LeaseName;
    rows.push(table.hold(name));
    table.seenPoll = poll;
    if (rows.length > 2) table.leave(rows.shift()!);
  }
  Atomics.store(stop, 0, 1);
  expect(await answer).toEqual([[]]);
});
