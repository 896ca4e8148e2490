import { expect, test } from 'vitest';
import { settled } from '../../kit/index.ts';
import { machineMemoryBytes } from './machine-memory.ts';
import { MemoryBudget } from './memory-budget.ts';
import type { Reservation } from './memory-budget.ts';

const NEVER = new AbortController().signal;

/** Reservations in the order in which they were granted. */
function asking(budget: MemoryBudget) {
  const granted: string[] = [];
  const ask = async (name: string, bytes: number, signal = NEVER): Promise<Reservation> => {
    const reservation = await budget.reserve(bytes, signal);
    granted.push(name);
    return reservation;
  };
  return { granted, ask };
}

test('grants memory while there is some, then in order of arrival', async () => {
  const budget = new MemoryBudget(100);
  const { granted, ask } = asking(budget);
  const first = await ask('first', 60);
  const large = ask('large', 80);
  const small = ask('small', 10);
  await settled();
  // The small one would fit, and would keep the large one waiting for ever if others like it came.
  expect(granted).toEqual(['first']);
  first.release();
  first.release();
  await large;
  await small;
  expect(granted).toEqual(['first', 'large', 'small']);
  expect(budget.freeBytes).toBe(10);
});

test('grants the total to a request for more, when all of it is free', async () => {
  const budget = new MemoryBudget(100);
  const { granted, ask } = asking(budget);
  const first = await ask('first', 1);
  const all = ask('all', 1_000);
  await settled();
  expect(granted).toEqual(['first']);
  first.release();
  expect((await all).bytes).toBe(100);
});

test('lets the next request pass when one is aborted', async () => {
  const budget = new MemoryBudget(100);
  const { ask } = asking(budget);
  await ask('first', 60);
  const control = new AbortController();
  const large = ask('large', 80, control.signal);
  const small = ask('small', 40);
  control.abort(new Error('not wanted'));
  await expect(large).rejects.toThrow('not wanted');
  await small;
  expect(budget.freeBytes).toBe(0);
});

test('a container may have less memory than its machine', () => {
  const all = machineMemoryBytes(() => 'max\n');
  expect(machineMemoryBytes(() => '1000000\n')).toBe(1_000_000);
  expect(machineMemoryBytes(() => '9223372036854771712')).toBe(all);
  expect(
    machineMemoryBytes(() => {
      throw new Error('ENOENT');
    }),
  ).toBe(all);
});
