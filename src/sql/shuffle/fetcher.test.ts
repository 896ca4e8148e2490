import { expect, test } from 'vitest';
import { bytes, temporaryFolder } from '../../../test/rig/shuffle-node.ts';
import { MillraceError } from '../../scheduler/core/index.ts';
import type { JobId } from '../../scheduler/core/index.ts';
import type { Clock } from '../../kit/index.ts';
import { systemClock } from '../../kit/index.ts';
import type { PartitionRead } from '../plan/index.ts';
import { Fetcher } from './fetcher.ts';

const read: PartitionRead = {
  partition: 0,
  part: { rows: 1, bytes: 100, segments: [[100, 0]] },
  at: {
    ...{ task: 's0.0', fence: 1, node: 'w-1', address: 'w-1:1', folder: '/nowhere', index: 'x' },
    ...{ epoch: 1, layout: 1 },
  },
};

/** Calls that fail after so long; pauses between them take no time. */
function fetcher(callMs: number, partsOf: (call: number) => number = () => 0) {
  let nowMs = 0;
  const calls: number[] = [];
  const clock: Clock = {
    monotonicMs: () => nowMs,
    after: (_ms, fire) => systemClock.after(0, fire),
  };
  const made = new Fetcher({
    clock,
    channel: {
      async *fetch(_address, { startOffset }) {
        calls.push(startOffset);
        const length = partsOf(calls.length);
        if (length > 0) {
          yield {
            ...{ payload: bytes(length), startOffset, endOffset: startOffset + length },
            ...{ watermarkOffset: 100, isFinalized: true, epoch: 1 },
          };
        }
        nowMs += callMs;
        throw new MillraceError({ code: 'unreachable', what: 'Nothing comes.' });
      },
    },
  });
  const fetch = async (): Promise<unknown> => {
    const folder = await temporaryFolder();
    const pathOf = (no: number): string => `${folder}/${no}`;
    return made.fetch('query' as JobId, read, pathOf, new AbortController().signal);
  };
  return { calls, fetch };
}

test('retries a node that refuses before its output counts as lost', async () => {
  const { calls, fetch } = fetcher(1);
  await expect(fetch()).rejects.toMatchObject({ code: 'input_lost', task: 's0.0' });
  expect(calls).toEqual([0, 0, 0, 0]);
});

test('spends the retry budget on a node that accepts calls and never answers', async () => {
  const { calls, fetch } = fetcher(10_000);
  await expect(fetch()).rejects.toMatchObject({ code: 'input_lost', task: 's0.0' });
  expect(calls).toEqual([0, 0]);
});

test('retries a slow node as long as it makes progress', async () => {
  const { calls, fetch } = fetcher(10_000, (call) => (call <= 3 ? 20 : 0));
  await expect(fetch()).rejects.toMatchObject({ code: 'input_lost' });
  expect(calls).toEqual([0, 20, 40, 60, 60]);
});
