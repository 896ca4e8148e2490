import { expect, test } from 'vitest';
import { openStore } from '../../../test/rig/shuffle-node.ts';
import type { JobId } from '../../scheduler/core/index.ts';
import { deferred } from '../../kit/index.ts';
import type { PartitionRead } from '../plan/index.ts';
import type { LocalPartition, PartitionReader } from '../shuffle/index.ts';
import { SharedInputs } from './shared-inputs.ts';

const QUERY = 'query' as JobId;
const part: LocalPartition = { files: [], states: [], fetchedBytes: 5, localBytes: 0 };
const read: PartitionRead = {
  partition: 0,
  part: { rows: 1, bytes: 5, segments: [[5, 0]] },
  at: {
    ...{ task: 's0.0', fence: 1, node: 'w-1', address: null, folder: '', index: '' },
    ...{ epoch: 1, layout: 1 },
  },
};

test('fetches again instead of waiting for an aborted fetch', async () => {
  const begun = deferred();
  const cleared = deferred();
  let calls = 0;
  const reader = {
    localize: async (_query: JobId, _reads: unknown, _folder: string, signal: AbortSignal) => {
      calls += 1;
      if (calls > 1) return [part];
      begun.resolve();
      // It takes a while until nothing is under way any more.
      await cleared.promise;
      throw signal.reason;
    },
  } as unknown as PartitionReader;
  const shared = new SharedInputs(await openStore(), reader);
  const first = new AbortController();
  const left = shared.take(QUERY, read, first.signal);
  await begun.promise;
  first.abort(new Error('not wanted any more'));
  await expect(left).rejects.toThrow('not wanted any more');
  const second = shared.take(QUERY, read, new AbortController().signal);
  cleared.resolve();
  expect(await second).toEqual(part);
  expect(calls).toBe(2);
  // The end of the first copy takes nothing away from the second one.
  expect(await shared.take(QUERY, read, new AbortController().signal)).toMatchObject({
    fetchedBytes: 0,
    localBytes: 5,
  });
});
