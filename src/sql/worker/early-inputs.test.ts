import { existsSync, readFileSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import {
  QUERY,
  bytes,
  farReader,
  keep,
  openStore,
  readOf,
  serveStore,
  temporaryFolder,
} from '../../../test/rig/shuffle-node.ts';
import { deferred } from '../../kit/index.ts';
import type { PartitionRead } from '../plan/index.ts';
import type { PartitionReader } from '../shuffle/index.ts';
import { EarlyInputs } from './early-inputs.ts';
import type { EarlyInputsOptions } from './early-inputs.ts';

const KIB = 1_024;
const { signal } = new AbortController();

/** A worker with three partitions of 4, 8 and 0 KiB, and one that fetches them ahead. */
async function scene(more: Partial<EarlyInputsOptions> = {}) {
  const there = await openStore();
  const { address, stop } = await serveStore(there);
  const kept = await keep(there, 's0.0', [[bytes(4 * KIB)], [bytes(8 * KIB, 2)], []]);
  const [first, second] = [0, 1].map((at) => readOf(kept, at, address)) as [
    PartitionRead,
    PartitionRead,
  ];
  const folder = await temporaryFolder();
  const store = await openStore(folder);
  const early = new EarlyInputs({ store, reader: farReader(), hasRoom: () => true, ...more });
  const files = (): readonly string[] =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(
      (name) => name.includes('/in-') && statSync(join(folder, name)).isFile(),
    );
  return { early, first, second, files, stop };
}

test('a partition that was fetched ahead is given to the task that reads it, and removed by it', async () => {
  const { early, first, second, files } = await scene();
  await early.fetch(QUERY, [first, second]);
  expect([early.bytes, early.queries, files()]).toMatchObject([12 * KIB, [QUERY], { length: 2 }]);
  const input = await early.take(QUERY, first, signal);
  const [file] = input?.part.files ?? [];
  expect(readFileSync(file ?? '')).toEqual(bytes(4 * KIB));
  expect(input?.part).toMatchObject({ fetchedBytes: 4 * KIB, localBytes: 0 });
  expect(early.bytes).toBe(8 * KIB);
  // It belongs to one task: another one fetches for itself.
  expect(await early.take(QUERY, first, signal)).toBeNull();
  await input?.remove();
  expect(existsSync(file ?? '')).toBe(false);
});

test('what was made by another attempt is another partition', async () => {
  const { early, first } = await scene();
  await early.fetch(QUERY, [first]);
  for (const other of [{ fence: 2 }, { index: 'other' }, { task: 's0.1' }])
    expect(await early.take(QUERY, { ...first, at: { ...first.at, ...other } }, signal)).toBeNull();
  expect(await early.take(QUERY, { ...first, partition: 1 }, signal)).toBeNull();
  expect(await early.take(QUERY, first, signal)).not.toBeNull();
});

test('what cannot be fetched is left to the task, and nothing stays of it', async () => {
  const { early, first, second, files, stop } = await scene();
  await early.fetch(QUERY, [{ ...first, part: { ...first.part, segments: [[4 * KIB, 1]] } }]);
  expect(await early.take(QUERY, first, signal)).toBeNull();
  await stop();
  await early.fetch(QUERY, [second]);
  expect(await early.take(QUERY, second, signal)).toBeNull();
  expect([early.bytes, early.queries, files()]).toEqual([0, [], []]);
});

test('no more is fetched than there is room for', async () => {
  const { early, first, second } = await scene({ bytesMax: 8 * KIB });
  await early.fetch(QUERY, [first, second]);
  expect(early.bytes).toBe(4 * KIB);
  expect(await early.take(QUERY, second, signal)).toBeNull();
  await (await early.take(QUERY, first, signal))?.remove();
  await early.fetch(QUERY, [second]);
  expect(await early.take(QUERY, second, signal)).not.toBeNull();
  const full = await scene({ hasRoom: () => false });
  await full.early.fetch(QUERY, [full.first]);
  expect(full.early.bytes).toBe(0);
});

test('nothing stays of a query that nobody needs, also if it is still on its way', async () => {
  const { early, first, second, files } = await scene();
  await early.fetch(QUERY, [first]);
  const begun = early.fetch(QUERY, [second]);
  await early.drop(QUERY);
  await begun;
  expect([early.bytes, early.queries, files()]).toEqual([0, [], []]);
});

test('nothing is begun, and nothing stays, once it is closed', async () => {
  const { early, first, second, files } = await scene();
  const begun = early.fetch(QUERY, [first]);
  await early.close();
  await begun;
  await early.fetch(QUERY, [second]);
  expect([early.bytes, early.queries, files()]).toEqual([0, [], []]);
});

test('a task that is aborted while it waits ends the fetch', async () => {
  const begun = deferred();
  const reader = {
    localize: (_query: unknown, _reads: unknown, _folder: unknown, aborted: AbortSignal) =>
      new Promise((_resolve, reject) => {
        aborted.addEventListener('abort', () => reject(aborted.reason as Error));
        begun.resolve();
      }),
  } as unknown as PartitionReader;
  const { early, first } = await scene({ reader });
  const fetching = early.fetch(QUERY, [first]);
  await begun.promise;
  const task = new AbortController();
  const taken = early.take(QUERY, first, task.signal);
  task.abort(new Error('cancelled'));
  expect(await taken).toBeNull();
  await fetching;
  expect([early.bytes, early.queries]).toEqual([0, []]);
});
