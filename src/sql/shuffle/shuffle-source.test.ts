/** The shuffle service as it is asked over the wire. */
import { expect, test } from 'vitest';
import {
  QUERY,
  bytes,
  channel,
  keep,
  openStore,
  serveStore,
} from '../../../test/rig/shuffle-node.ts';
import type { NodeId, SessionId } from '../../scheduler/core/index.ts';
import type { MapOutput, PartitionChunk, PartitionRange } from '../../scheduler/contract/index.ts';
import type { ShuffleChannel } from '../../edge/grpc/index.ts';

const CHUNK = 512 * 1_024;
const NEVER = new AbortController().signal;

const RANGE: PartitionRange = {
  query: QUERY,
  stage: 3,
  mapTask: 1,
  attempt: 0,
  fence: 5,
  partition: 0,
  startOffset: 0,
  maxBytes: 0,
  layoutVersion: 0,
  minEpoch: 0,
};

async function chunks(
  through: ShuffleChannel,
  address: string,
  given: Partial<PartitionRange> = {},
): Promise<PartitionChunk[]> {
  const all: PartitionChunk[] = [];
  for await (const chunk of through.fetch(address, { ...RANGE, ...given }, NEVER)) all.push(chunk);
  return all;
}

async function served(partitions: readonly (readonly Buffer[])[]) {
  const store = await openStore();
  await keep(store, 's3.1', partitions, 5);
  const { address } = await serveStore(store, 'gRPC');
  const through = channel();
  return (given: Partial<PartitionRange> = {}) => chunks(through, address, given);
}

const ranges = (all: readonly PartitionChunk[]): readonly (readonly number[])[] =>
  all.map(({ startOffset, endOffset, payload }) => [startOffset, endOffset, payload.length]);

test('chunks carry their offsets, the watermark, and whether the partition is final', async () => {
  const fetch = await served([[bytes(CHUNK + 10), bytes(20, 2)]]);
  const all = await fetch();
  expect(ranges(all)).toEqual([
    [0, CHUNK, CHUNK],
    [CHUNK, CHUNK + 10, 10],
    [CHUNK + 10, CHUNK + 30, 20],
  ]);
  for (const chunk of all) {
    expect(chunk).toMatchObject({ watermarkOffset: CHUNK + 30, isFinalized: true, epoch: 5 });
  }
  const whole = Buffer.concat(all.map(({ payload }) => payload));
  expect(Buffer.compare(whole, Buffer.concat([bytes(CHUNK + 10), bytes(20, 2)]))).toBe(0);
});

test('a range is served wherever it begins and ends, in any order', async () => {
  const content = bytes(100);
  const fetch = await served([[content.subarray(0, 40), content.subarray(40)]]);
  expect(ranges(await fetch({ startOffset: 60, maxBytes: 30 }))).toEqual([[60, 90, 30]]);
  const across = await fetch({ startOffset: 30, maxBytes: 20 });
  expect(ranges(across)).toEqual([
    [30, 40, 10],
    [40, 50, 10],
  ]);
  expect(Buffer.concat(across.map(({ payload }) => payload))).toEqual(content.subarray(30, 50));
});

test('an empty partition, and what begins at the end, is one empty chunk that says so', async () => {
  const fetch = await served([[bytes(10)], []]);
  expect(await fetch({ partition: 1 })).toMatchObject([
    { startOffset: 0, endOffset: 0, watermarkOffset: 0, isFinalized: true, epoch: 5 },
  ]);
  for (const startOffset of [10, 99]) {
    expect(await fetch({ startOffset })).toMatchObject([
      { startOffset: 10, endOffset: 10, watermarkOffset: 10, isFinalized: true },
    ]);
  }
});

test.each([
  ['fence', { fence: 4 }],
  ['map task', { mapTask: 2 }],
  ['stage', { stage: 2 }],
  ['query', { query: 'other' as typeof QUERY }],
])('another %s is not registered', async (_what, given) => {
  const fetch = await served([[bytes(10)]]);
  await expect(fetch(given)).rejects.toMatchObject({
    code: 'conflict',
    what: 'map output not registered for requested attempt',
    cause: { code: 9 },
  });
});

test('a reader that expects a later epoch is refused, one that expects an earlier is not', async () => {
  const fetch = await served([[bytes(10)]]);
  await expect(fetch({ minEpoch: 6 })).rejects.toMatchObject({
    code: 'superseded',
    cause: { code: 9 },
  });
  expect(await fetch({ minEpoch: 5 })).toHaveLength(1);
  expect(await fetch({ minEpoch: 4 })).toHaveLength(1);
});

test('a reader of another layout is refused, be it older or newer', async () => {
  const fetch = await served([[bytes(10)]]);
  expect(await fetch({ layoutVersion: 1 })).toHaveLength(1);
  await expect(fetch({ layoutVersion: 2 })).rejects.toMatchObject({ code: 'superseded' });
});

test('without a fence, the newest output of the attempt is served', async () => {
  const store = await openStore();
  await keep(store, 's3.1', [[bytes(10)]], { fence: 5, attempt: 1 });
  await keep(store, 's3.1', [[bytes(20)]], { fence: 7, attempt: 1 });
  await keep(store, 's3.1', [[bytes(30)]], { fence: 9, attempt: 2 });
  const { address } = await serveStore(store);
  const through = channel();
  const lengthOf = async (given: Partial<PartitionRange>): Promise<number | undefined> =>
    (await chunks(through, address, given))[0]?.watermarkOffset;
  expect(await lengthOf({ fence: 0, attempt: 1 })).toBe(20);
  expect(await lengthOf({ fence: 0, attempt: 2 })).toBe(30);
  expect(await lengthOf({ fence: 5, attempt: 2 })).toBe(10);
  await expect(lengthOf({ fence: 0, attempt: 3 })).rejects.toMatchObject({ code: 'conflict' });
});

test('a worker confirms what it stores, and refuses to register anything else', async () => {
  const store = await openStore();
  await keep(store, 's3.1', [[bytes(100)]], 5);
  const { address } = await serveStore(store);
  const through = channel();
  const by = { nodeId: 'w' as NodeId, sessionId: 's' as SessionId };
  const part = { partition: 0, bytes: 100, rows: 1, batches: 1, epoch: 5, segments: [] };
  const register = (given: Partial<MapOutput> & { readonly part?: object } = {}): Promise<void> =>
    through.register(
      address,
      {
        ...RANGE,
        layoutVersion: 1,
        layoutFingerprint: 0n,
        partitions: [{ ...part, committedOffset: 100, isFinalized: true, ...given.part }],
        ...given,
      },
      by,
    );
  await register();
  await expect(register({ part: { epoch: 4 } })).rejects.toMatchObject({ code: 'superseded' });
  await expect(register({ layoutVersion: 2 })).rejects.toMatchObject({ code: 'superseded' });
  await expect(register({ part: { bytes: 99 } })).rejects.toMatchObject({ code: 'conflict' });
  await expect(register({ fence: 6 })).rejects.toMatchObject({ code: 'conflict' });
});

test('a name that could lead out of the folder is refused', async () => {
  const fetch = await served([[bytes(10)]]);
  const query = '../../etc' as typeof QUERY;
  await expect(fetch({ query })).rejects.toMatchObject({ code: 'bad_input' });
});

test('a node without outputs says so', async () => {
  const { startRpcServer, shuffleService } = await import('../../edge/grpc/index.ts');
  const server = await startRpcServer({
    host: '127.0.0.1',
    port: 0,
    tls: null,
    services: [shuffleService()],
  });
  await expect(chunks(channel(), server.address)).rejects.toMatchObject({ code: 'unimplemented' });
  await server.stop(0);
});
