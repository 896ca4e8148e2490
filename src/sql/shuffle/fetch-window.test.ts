/** A consumer that takes in what it is sent as slowly as the test likes, while the leader recommends windows. */
import { crc32 } from 'node:zlib';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../../../test/rig/shuffle-node.ts';
import { systemClock, type Clock } from '../../kit/index.ts';
import type { JobId } from '../../scheduler/core/index.ts';
import type { PartitionRead } from '../plan/index.ts';
import { Fetcher } from './fetcher.ts';

const MIB = 2 ** 20;
const SIZE = 40 * MIB;
const SUM = crc32(Buffer.alloc(SIZE));

interface Call {
  readonly mib: number;
  readonly answer: () => void;
}

class SlowConsumer {
  nowMs = 0;
  readonly fetcher: Fetcher;
  /** Made, and not yet answered. */
  readonly calls: Call[] = [];
  #onCall: () => void = () => {};

  constructor() {
    const clock: Clock = {
      monotonicMs: () => this.nowMs,
      after: (_ms, fire) => systemClock.after(0, fire),
    };
    const ask = (maxBytes: number): Promise<void> =>
      new Promise((answer) => {
        this.calls.push({ mib: maxBytes / MIB, answer });
        this.#onCall();
      });
    this.fetcher = new Fetcher({
      clock,
      channel: {
        async *fetch(_address, { startOffset, maxBytes }) {
          await ask(maxBytes);
          const words = { watermarkOffset: SIZE, isFinalized: true, epoch: 1 };
          const endOffset = startOffset + maxBytes;
          yield { payload: Buffer.alloc(maxBytes), startOffset, endOffset, ...words };
        },
      },
    });
  }

  async fetch(task: number): Promise<void> {
    const folder = await temporaryFolder();
    const at = { fence: 1, node: 'w', address: 'w:1', folder: '/nowhere', index: 'x' };
    const read: PartitionRead = {
      partition: 0,
      part: { rows: 1, bytes: SIZE, segments: [[SIZE, SUM]] },
      at: { ...at, task: `s0.${task}`, epoch: 1, layout: 1 },
    };
    const pathOf = (segment: number): string => `${folder}/${segment}`;
    await this.fetcher.fetch('q' as JobId, read, pathOf, new AbortController().signal);
  }

  /** The next call; it is answered after so long. */
  async next(tookMs = 0): Promise<number> {
    while (this.calls.length === 0)
      await new Promise<void>((resolve) => {
        this.#onCall = resolve;
      });
    const [call] = this.calls.splice(0, 1) as [Call];
    this.nowMs += tookMs;
    call.answer();
    return call.mib;
  }
}

test('a smaller window takes effect while a fetch runs, and so does a larger one', async () => {
  const consumer = new SlowConsumer();
  const fetched = consumer.fetch(0);
  expect(await consumer.next()).toBe(16);
  consumer.fetcher.recommend(4 * MIB);
  // The call that was on its way when the window shrank is the last large one.
  expect(await consumer.next()).toBeLessThanOrEqual(16);
  expect(await consumer.next()).toBe(4);
  consumer.fetcher.recommend(64 * MIB);
  while ((await Promise.race([consumer.next(), fetched])) !== undefined);
  expect(consumer.calls).toEqual([]);
});

test('no more than the window is on its way from a node, however many tasks fetch', async () => {
  const consumer = new SlowConsumer();
  consumer.fetcher.recommend(8 * MIB);
  const all = Promise.all([0, 1, 2].map((task) => consumer.fetch(task))).then(() => null);
  let most = 0;
  for (;;) {
    const mib = await Promise.race([consumer.next(), all]);
    if (mib === null) break;
    most = Math.max(most, mib + consumer.calls.reduce((sum, call) => sum + call.mib, 0));
  }
  expect(most).toBe(8);
});

test('a larger window lets waiting calls in at once', async () => {
  const consumer = new SlowConsumer();
  consumer.fetcher.recommend(8 * MIB);
  const all = Promise.all([0, 1, 2].map((task) => consumer.fetch(task))).then(() => null);
  await expect.poll(() => consumer.calls.length).toBe(1);
  consumer.fetcher.recommend(48 * MIB);
  await expect.poll(() => consumer.calls.length).toBe(3);
  while ((await Promise.race([consumer.next(), all])) !== null);
});

test('a recommendation that is not renewed is forgotten', async () => {
  const consumer = new SlowConsumer();
  consumer.fetcher.recommend(4 * MIB);
  const fetched = consumer.fetch(0);
  expect(await consumer.next()).toBe(4);
  expect(await consumer.next(60_000)).toBe(4);
  expect(await consumer.next()).toBe(16);
  while ((await Promise.race([consumer.next(), fetched])) !== undefined);
});

test('a worker measures what it takes in while it fetches', async () => {
  const consumer = new SlowConsumer();
  expect(consumer.fetcher.measure()).toBe(0);
  const fetched = consumer.fetch(0);
  await consumer.next(2_000);
  await consumer.next(2_000);
  await consumer.next(1_000);
  await fetched;
  // The time in between does not count.
  consumer.nowMs += 60_000;
  expect(consumer.fetcher.measure()).toBe(8 * MIB);
  consumer.nowMs += 5_000;
  expect(consumer.fetcher.measure()).toBe(8 * MIB);
  consumer.nowMs += 6_000;
  expect(consumer.fetcher.measure()).toBe(0);
});
