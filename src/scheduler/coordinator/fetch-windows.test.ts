import { expect, test } from 'vitest';
import type { NodeId } from '../core/index.ts';
import { FetchWindows } from './fetch-windows.ts';

const MIB = 2 ** 20;
const ORDERS = { abort: [], drain: false, slowDownMs: 0 };
const slow = 'slow' as NodeId;
const fast = 'fast' as NodeId;

function windows(bytesMax = 48 * MIB): {
  readonly beat: (nodeId: NodeId, mibPerSecond: number, atMs?: number) => void;
  readonly mib: (nodeId: NodeId) => number | null;
} {
  const made = new FetchWindows(bytesMax);
  return {
    beat: (nodeId, mibPerSecond, atMs = 0) =>
      made.heard(nodeId, { fetchBytesPerSecond: mibPerSecond * MIB }, atMs),
    mib: (nodeId) => {
      const { fetchWindowBytes = null } = made.with(nodeId, ORDERS);
      return fetchWindowBytes === null ? null : fetchWindowBytes / MIB;
    },
  };
}

test('a worker is recommended what it takes in within two seconds', () => {
  const { beat, mib } = windows();
  beat(slow, 4);
  beat(fast, 500);
  expect([mib(slow), mib(fast)]).toEqual([8, 48]);
  beat(slow, 20);
  expect(mib(slow)).toBe(40);
});

test('a window is never so small that it stops a worker', () => {
  const { beat, mib } = windows();
  beat(slow, 0.001);
  expect(mib(slow)).toBe(2);
});

test('a worker that fetches nothing is recommended nothing', () => {
  const { beat, mib } = windows();
  expect(mib(slow)).toBeNull();
  beat(slow, 4);
  beat(slow, 0);
  expect(mib(slow)).toBeNull();
});

test('many workers that fetch at once share what a node sends', () => {
  const { beat, mib } = windows();
  for (let at = 0; at < 31; at += 1) beat(`w${at}` as NodeId, 500);
  beat(fast, 500);
  expect(mib(fast)).toBe(8);
  // The others are not heard any more.
  beat(fast, 500, 40_000);
  expect(mib(fast)).toBe(48);
  expect(mib('w3' as NodeId)).toBeNull();
});

test('nothing is recommended if that is turned off', () => {
  const { beat, mib } = windows(0);
  beat(slow, 4);
  expect(mib(slow)).toBeNull();
});
