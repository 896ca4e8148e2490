import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, readdir, rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { HastyClock } from '../../../test/rig/hasty-clock.ts';
import {
  QUERY,
  bytes,
  channel,
  farReader,
  keep,
  openStore,
  readOf,
  serve,
  serveStore,
  temporaryFolder,
} from '../../../test/rig/shuffle-node.ts';
import type { PartitionChunk, ShuffleSource } from '../../scheduler/contract/index.ts';
import { deferred } from '../../kit/index.ts';
import type { PartitionRead } from '../plan/index.ts';
import type { LocalPartition, RetainedOutput } from './index.ts';
import { PartitionReader, shuffleSource } from './index.ts';

const MIB = 2 ** 20;
const NEVER = new AbortController().signal;

async function contentOf(brought: readonly LocalPartition[]): Promise<Buffer[]> {
  return Promise.all(
    brought.map(async ({ files }) =>
      Buffer.concat(await Promise.all(files.map((file) => readFile(file)))),
    ),
  );
}

/** Flips one bit of a segment. */
async function damage({ folder, index }: RetainedOutput, partition: number): Promise<void> {
  const path = join(folder, index.parts[partition]?.segments[0]?.file ?? '');
  const content = await readFile(path);
  content[content.length >> 1]! ^= 1;
  await writeFile(path, content);
}

const localized = async (
  reader: PartitionReader,
  reads: readonly PartitionRead[],
): Promise<readonly LocalPartition[]> =>
  reader.localize(QUERY, reads, await temporaryFolder(), NEVER);

test('partitions come over the network as they were written, segment by segment', async () => {
  const store = await openStore();
  const { address } = await serveStore(store);
  const first = [bytes(3 * MIB + 17), bytes(5, 2)];
  const kept = await keep(store, 's0.0', [first, [], [bytes(MIB, 3)]]);
  const reads = [0, 1, 2].map((partition) => readOf(kept, partition, address));
  const brought = await localized(farReader(), reads);
  expect(brought.map(({ files }) => files.length)).toEqual([2, 0, 1]);
  const found = await contentOf(brought);
  const expected = [Buffer.concat(first), Buffer.alloc(0), bytes(MIB, 3)];
  expect(found.map((content, at) => content.equals(expected[at]!))).toEqual([true, true, true]);
  expect(brought.map(({ fetchedBytes }) => fetchedBytes)).toEqual([3 * MIB + 22, 0, MIB]);
});

test('a partition of many ranges is whole', async () => {
  const store = await openStore();
  const { address } = await serveStore(store);
  const content = bytes(37 * MIB + 1);
  const kept = await keep(store, 's0.0', [[content]]);
  const read = readOf(kept, 0, address);
  const brought = await localized(farReader(), [read]);
  expect(Buffer.compare((await contentOf(brought))[0]!, content)).toBe(0);
});

test('a thousand partitions are read by many at once', async () => {
  const store = await openStore();
  const { address } = await serveStore(store);
  const contents = Array.from({ length: 1_000 }, (_, partition) =>
    partition % 3 === 0 ? Buffer.alloc(0) : bytes(50 + partition, partition + 1),
  );
  const partitions = contents.map((content) => (content.length === 0 ? [] : [content]));
  const kept = await keep(store, 's0.0', partitions);
  const reader = farReader();
  const readers = Array.from({ length: 10 }, async (_, task) => {
    const mine = contents.slice(task * 100, task * 100 + 100);
    const reads = mine.map((__, at) => readOf(kept, task * 100 + at, address));
    const brought = await localized(reader, reads);
    const found = await contentOf(brought);
    return found.every((content, at) => content.equals(mine[at]!));
  });
  expect(await Promise.all(readers)).toEqual(Array.from({ length: 10 }, () => true));
});

test('a damaged byte is found and the output named as lost', async () => {
  const store = await openStore();
  const { address } = await serveStore(store);
  const kept = await keep(store, 's4.2', [[bytes(2 * MIB)]], 7);
  await damage(kept, 0);
  const read = readOf(kept, 0, address);
  const brought = localized(farReader(), [read]);
  await expect(brought).rejects.toMatchObject({ code: 'input_lost', task: 's4.2', fence: 7 });
});

test('a file that was cut short is an error and never an empty input', async () => {
  const store = await openStore();
  const { address } = await serveStore(store);
  const kept = await keep(store, 's0.0', [[bytes(2 * MIB)], [bytes(100)]]);
  await truncate(join(kept.folder, '0-0.parquet'), MIB);
  await rm(join(kept.folder, '1-0.parquet'));
  for (const partition of [0, 1]) {
    const read = readOf(kept, partition, address);
    const brought = localized(farReader(), [read]);
    await expect(brought).rejects.toMatchObject({ code: 'input_lost', task: 's0.0' });
  }
});

test('an output of another attempt, or one that was dropped, is lost', async () => {
  const store = await openStore();
  const { address } = await serveStore(store);
  const kept = await keep(store, 's0.0', [[bytes(10)]]);
  const read = readOf(kept, 0, address);
  const other: PartitionRead = { ...read, at: { ...read.at, fence: 2 } };
  const failure = /map output not registered for requested attempt/;
  const folder = await temporaryFolder();
  await expect(farReader().localize(QUERY, [other], folder, NEVER)).rejects.toThrow(failure);
  await store.drop(QUERY);
  await expect(farReader().localize(QUERY, [read], folder, NEVER)).rejects.toThrow(failure);
});

test('loses only the output of a worker that is killed during a fetch', async () => {
  const child = spawn(
    process.execPath,
    [
      '--import',
      'tsx',
      join(import.meta.dirname, '../../../test/rig/shuffle-child.ts'),
      await temporaryFolder(),
      `${64 * MIB}`,
    ],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  onTestFinished(() => void child.kill('SIGKILL'));
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  const { address, kept } = JSON.parse(String(line)) as { address: string; kept: RetainedOutput };
  const through = channel();
  const reader = new PartitionReader({
    own: null,
    mayReadInPlace: false,
    channel: {
      async *fetch(to, range, signal) {
        for await (const chunk of through.fetch(to, range, signal)) {
          yield chunk;
          if (chunk.endOffset >= 10 * MIB) child.kill('SIGKILL');
        }
      },
    },
  });
  const brought = localized(reader, [readOf(kept, 0, address)]);
  await expect(brought).rejects.toMatchObject({ code: 'input_lost', task: 's0.0', fence: 1 });
});

/** A source that changes what a store answers. */
function changed(
  source: ShuffleSource,
  change: (chunk: PartitionChunk, sent: number) => PartitionChunk | Error,
): ShuffleSource {
  let sent = 0;
  return {
    ...source,
    async *fetch(range, signal) {
      for await (const chunk of source.fetch(range, signal)) {
        const next = change(chunk, sent);
        sent += 1;
        if (next instanceof Error) throw next;
        yield next;
      }
    },
  };
}

test('resumes a broken connection from the last byte received', async () => {
  const store = await openStore();
  const content = bytes(5 * MIB);
  const kept = await keep(store, 's0.0', [[content]]);
  const starts: number[] = [];
  const source = shuffleSource(store);
  let served = 0;
  let stop = (): Promise<void> => Promise.resolve();
  const counted: ShuffleSource = {
    ...source,
    async *fetch(range, signal) {
      starts.push(range.startOffset);
      for await (const chunk of source.fetch(range, signal)) {
        yield chunk;
        served += 1;
        if (served === 2) await stop();
      }
    },
  };
  const first = await serve(counted);
  ({ stop } = first);
  const second = await serve(counted);
  const through = channel();
  const reader = new PartitionReader({
    own: null,
    mayReadInPlace: false,
    // The worker comes back at another address; the reader does not know.
    channel: {
      fetch: (_to, range, signal) =>
        through.fetch(served < 2 ? first.address : second.address, range, signal),
    },
  });
  const read = readOf(kept, 0, first.address);
  const [found] = await contentOf(await localized(reader, [read]));
  expect(Buffer.compare(found!, content)).toBe(0);
  expect(starts.length).toBeGreaterThan(1);
  expect(starts.at(-1)).toBeLessThanOrEqual(2 * MIB);
});

test.each([
  ['another epoch', (chunk: PartitionChunk) => ({ ...chunk, epoch: 9 })],
  ['a gap', (chunk: PartitionChunk) => ({ ...chunk, startOffset: chunk.startOffset + 1 })],
  ['too little', (chunk: PartitionChunk) => ({ ...chunk, watermarkOffset: 3 })],
  ['an unfinished stream', (chunk: PartitionChunk) => ({ ...chunk, isFinalized: false })],
])('refuses a chunk that does not fit: %s', async (_what, change) => {
  const store = await openStore();
  const kept = await keep(store, 's0.0', [[bytes(3 * MIB)]]);
  const source = changed(shuffleSource(store), (chunk, sent) =>
    sent === 1 ? change(chunk) : chunk,
  );
  // A stream is cut there by its sender.
  const { address } = await serve(source, 'gRPC');
  const read = readOf(kept, 0, address);
  const brought = localized(farReader(), [read]);
  await expect(brought).rejects.toMatchObject({ code: 'input_lost' });
});

test('an abort ends a fetch at once, with its reason', async () => {
  const store = await openStore();
  const kept = await keep(store, 's0.0', [[bytes(4 * MIB)]]);
  const source = shuffleSource(store);
  const begun = deferred();
  const { address } = await serve({
    ...source,
    async *fetch(range, signal) {
      for await (const chunk of source.fetch(range, signal)) {
        yield chunk;
        begun.resolve();
        await once(signal, 'abort');
      }
    },
  });
  const control = new AbortController();
  const read = readOf(kept, 0, address);
  const brought = farReader().localize(QUERY, [read], await temporaryFolder(), control.signal);
  await begun.promise;
  control.abort(new Error('not wanted any more'));
  await expect(brought).rejects.toThrow('not wanted any more');
});

test('gives up a worker that never answers', async () => {
  const store = await openStore();
  const kept = await keep(store, 's0.0', [[bytes(10)]]);
  const { address } = await serve({
    register: () => {},
    async *fetch(range, signal) {
      await once(signal, 'abort');
      yield* shuffleSource(store).fetch(range, signal);
    },
  });
  const read = readOf(kept, 0, address);
  const clock = new HastyClock();
  const reader = new PartitionReader({
    own: null,
    mayReadInPlace: false,
    channel: channel(20),
    clock,
  });
  const brought = localized(reader, [read]);
  await expect(brought).rejects.toThrow(/stopped sending/);
  expect(clock.pauses).toEqual([50, 200, 800]);
});

test('own outputs are read in place, and a damaged one is lost as well', async () => {
  const store = await openStore();
  const reader = new PartitionReader({ own: store, mayReadInPlace: false, channel: channel() });
  const kept = await keep(store, 's0.0', [[bytes(MIB)], [bytes(MIB, 2)]]);
  const folder = await temporaryFolder();
  const [brought] = await reader.localize(QUERY, [readOf(kept, 0, null)], folder, NEVER);
  expect(brought).toEqual({
    files: [join(kept.folder, '0-0.parquet')],
    states: [...kept.states.values()].slice(0, 1),
    fetchedBytes: 0,
    localBytes: MIB,
  });
  expect(await readdir(folder)).toEqual([]);
  await damage(kept, 1);
  const second = reader.localize(QUERY, [readOf(kept, 1, null)], folder, NEVER);
  await expect(second).rejects.toMatchObject({ code: 'input_lost', task: 's0.0' });
});

test('a folder that is visible here is read without the network, and stays readable', async () => {
  const [theirs, ours] = [await openStore(), await openStore()];
  const reader = new PartitionReader({ own: ours, mayReadInPlace: true, channel: channel() });
  const content = bytes(MIB);
  const kept = await keep(theirs, 's0.0', [[content]]);
  const folder = await temporaryFolder();
  const brought = await reader.localize(QUERY, [readOf(kept, 0, null)], folder, NEVER);
  expect(brought[0]).toMatchObject({ fetchedBytes: 0, localBytes: MIB });
  await theirs.close();
  expect(Buffer.compare((await contentOf(brought))[0]!, content)).toBe(0);
});

test('many segments of a visible folder are linked, each is checked, and they stay in order', async () => {
  const theirs = await openStore();
  const { address } = await serveStore(theirs);
  const reader = new PartitionReader({ own: null, mayReadInPlace: true, channel: channel() });
  const segments = Array.from({ length: 11 }, (_, at) => bytes(1_000 + at, at + 1));
  const kept = await keep(theirs, 's0.0', [segments]);
  const read = readOf(kept, 0, address);
  const folder = await temporaryFolder();
  const brought = await reader.localize(QUERY, [read], folder, NEVER);
  expect((await contentOf(brought))[0]?.equals(Buffer.concat(segments))).toBe(true);
  expect(brought[0]).toMatchObject({ fetchedBytes: 0, localBytes: read.part.bytes });
  const path = join(kept.folder, '0-7.parquet');
  await writeFile(path, bytes(1_007, 99));
  const damaged = localized(reader, [read]);
  await expect(damaged).rejects.toThrow('The checksum of segment 7 is wrong.');
  // One that cannot be linked: all of them are asked for over the network, which has it no better.
  await rm(path);
  const again = await temporaryFolder();
  await expect(reader.localize(QUERY, [read], again, NEVER)).rejects.toMatchObject({
    code: 'input_lost',
  });
});

test('fetches what cannot be linked, and removes partial links', async () => {
  const theirs = await openStore();
  const { address } = await serveStore(theirs);
  const reader = new PartitionReader({ own: null, mayReadInPlace: true, channel: channel() });
  const segments = [bytes(10), bytes(20, 2), bytes(30, 3)];
  const kept = await keep(theirs, 's0.0', [segments]);
  const folder = await temporaryFolder();
  // Somebody has put something where a link should be.
  await writeFile(join(folder, '0-1.parquet'), 'old');
  const brought = await reader.localize(QUERY, [readOf(kept, 0, address)], folder, NEVER);
  expect(brought[0]).toMatchObject({ fetchedBytes: 60, localBytes: 0 });
  expect((await contentOf(brought))[0]?.equals(Buffer.concat(segments))).toBe(true);
});

test('asks for a folder once, and only if it is needed', async () => {
  const [theirs, ours] = [await openStore(), await openStore()];
  const { address } = await serveStore(theirs);
  const reader = new PartitionReader({ own: ours, mayReadInPlace: false, channel: channel() });
  const near = await keep(ours, 's0.0', [[bytes(10)], []]);
  const far = await keep(theirs, 's0.1', [[bytes(10)], [bytes(20)]]);
  let asked = 0;
  const folder = (): Promise<string> => {
    asked += 1;
    return temporaryFolder();
  };
  const here = [readOf(near, 0, null), readOf(near, 1, null)];
  await reader.localize(QUERY, here, folder, NEVER);
  expect(asked).toBe(0);
  await reader.localize(
    QUERY,
    [...here, readOf(far, 0, address), readOf(far, 1, address)],
    folder,
    NEVER,
  );
  expect(asked).toBe(1);
});

test('verifies an own output again after it changed', async () => {
  const store = await openStore();
  const reader = new PartitionReader({ own: store, mayReadInPlace: false, channel: channel() });
  const kept = await keep(store, 's0.0', [[bytes(100)]]);
  const localize = (): Promise<unknown> =>
    reader.localize(QUERY, [readOf(kept, 0, null)], '', NEVER);
  await localize();
  await localize();
  await damage(kept, 0);
  await expect(localize()).rejects.toMatchObject({ code: 'input_lost', task: 's0.0' });
});

test('looks into no folder where none is named', async () => {
  const theirs = await openStore();
  const { address } = await serveStore(theirs);
  const reader = new PartitionReader({ own: null, mayReadInPlace: true, channel: channel() });
  const kept = await keep(theirs, 's0.0', [[bytes(10)]]);
  const read = readOf(kept, 0, address);
  const elsewhere: PartitionRead = { ...read, at: { ...read.at, folder: '' } };
  const brought = await localized(reader, [elsewhere]);
  expect(brought[0]).toMatchObject({ fetchedBytes: 10, localBytes: 0 });
});

test('an output on a node that nobody can reach is lost', async () => {
  const kept = await keep(await openStore(), 's0.0', [[bytes(10)]]);
  const brought = localized(farReader(), [readOf(kept, 0, null)]);
  await expect(brought).rejects.toMatchObject({ code: 'input_lost' });
});
