import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { VirtualClock } from '../../kit/index.ts';
import { DiskPressure, spaceIn } from './disk-pressure.ts';

const GIB = 2 ** 30;
let clock: VirtualClock;
let freeBytes: number;
let totalBytes: number;
let said: boolean[];
let pressure: DiskPressure;

beforeEach(() => {
  clock = new VirtualClock();
  freeBytes = 100 * GIB;
  totalBytes = 500 * GIB;
  said = [];
  pressure = new DiskPressure({
    clock,
    space: () => Promise.resolve({ freeBytes, totalBytes }),
    onChange: () => said.push(pressure.isShort),
  });
});

test('a node with room says nothing', async () => {
  await clock.advance(60_000);
  expect(said).toEqual([]);
});

test('reports pressure for a while after a full disk, even if there is free space', async () => {
  pressure.met();
  expect(said).toEqual([true]);
  await clock.advance(29_000);
  expect(said).toEqual([true]);
  await clock.advance(10_000);
  expect(said).toEqual([true, false]);
});

test('reports pressure until there is space again', async () => {
  freeBytes = 0;
  pressure.met();
  await clock.advance(600_000);
  expect(said).toEqual([true]);
  freeBytes = 0.5 * GIB;
  await clock.advance(60_000);
  expect(said).toEqual([true]);
  freeBytes = 2 * GIB;
  await clock.advance(10_000);
  expect(said).toEqual([true, false]);
});

test('a node whose disk runs full says so before a fragment fails', async () => {
  freeBytes = 0.1 * GIB;
  await clock.advance(10_000);
  expect(said).toEqual([true]);
});

test('a small disk is not short of room because it is small', async () => {
  totalBytes = 0.2 * GIB;
  freeBytes = 0.1 * GIB;
  await clock.advance(10_000);
  expect(said).toEqual([]);
});

test('it looks no more when it is closed', async () => {
  pressure.close();
  freeBytes = 0;
  await clock.advance(60_000);
  expect(said).toEqual([]);
});

test('a folder that is not made yet has the space of the one above it', async () => {
  const { totalBytes } = await spaceIn(import.meta.dirname);
  expect(totalBytes).toBeGreaterThan(0);
  const later = await spaceIn(join(import.meta.dirname, 'not', 'made', 'yet'));
  expect(later.totalBytes).toBe(totalBytes);
});

test('tells how much is free, once it has looked', async () => {
  expect(pressure.freeBytes).toBe(0);
  await clock.advance(5_000);
  expect(pressure.freeBytes).toBe(freeBytes);
});
