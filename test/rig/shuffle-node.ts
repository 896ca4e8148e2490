/** A worker's store of outputs with a real server before it. Gone with the test. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { JobId } from '../../src/scheduler/core/index.ts';
import { ShuffleChannel, shuffleService, startRpcServer } from '../../src/edge/grpc/index.ts';
import type { ShuffleSource } from '../../src/scheduler/contract/index.ts';
import type { OutputPlace, PartitionRead } from '../../src/sql/plan/index.ts';
import { OutputStore, PartitionReader, shuffleSource } from '../../src/sql/shuffle/index.ts';
import type { OutputName, RetainedOutput } from '../../src/sql/shuffle/index.ts';

export const QUERY = 'query-1' as JobId;

export async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-shuffle-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

export async function openStore(folder?: string): Promise<OutputStore> {
  const store = await OutputStore.open({ folder: folder ?? (await temporaryFolder()) });
  onTestFinished(() => store.close());
  return store;
}

export interface Serving {
  readonly address: string;
  readonly stop: () => Promise<void>;
}

/** A node of today, or one that serves no streams. */
export async function serve(
  source: ShuffleSource,
  speaks: 'streams' | 'gRPC' = 'streams',
): Promise<Serving> {
  const server = await startRpcServer({
    host: '127.0.0.1',
    port: 0,
    tls: null,
    services: [shuffleService(() => source)],
    ...(speaks === 'gRPC' ? {} : { streams: { source: () => source } }),
    hasReflection: false,
  });
  const stop = (): Promise<void> => server.stop(0);
  onTestFinished(stop);
  return { address: server.address, stop };
}

export const serveStore = (store: OutputStore, speaks?: 'streams' | 'gRPC'): Promise<Serving> =>
  serve(shuffleSource(store), speaks);

export function channel(stalledMs?: number): ShuffleChannel {
  const made = new ShuffleChannel({ tls: null, ...(stalledMs === undefined ? {} : { stalledMs }) });
  onTestFinished(() => made.close());
  return made;
}

/** A reader that knows no other way than the network. */
export function farReader(through: ShuffleChannel = channel()): PartitionReader {
  return new PartitionReader({ own: null, mayReadInPlace: false, channel: through });
}

/** Writes each partition as a list of segments and commits it. */
export async function keep(
  store: OutputStore,
  task: string,
  partitions: readonly (readonly Buffer[])[],
  by: number | Pick<OutputName, 'fence' | 'attempt'> = 1,
): Promise<RetainedOutput> {
  const named = typeof by === 'number' ? { fence: by } : by;
  const draft = await store.begin({ query: QUERY, task, ...named });
  const parts = [];
  for (const [at, segments] of partitions.entries()) {
    const files = segments.map((_, segment) => `${at}-${segment}.parquet`);
    for (const [segment, bytes] of segments.entries()) {
      await writeFile(join(draft.folder, files[segment] ?? ''), bytes);
    }
    parts.push({ rows: segments.length * 10, files });
  }
  return draft.commit(parts, 'inner');
}

function placeOf({ index, folder, hash }: RetainedOutput, address: string | null): OutputPlace {
  const { task, fence, epoch, layout } = index;
  return { task, fence, node: 'w-1', address, folder, index: hash, epoch, layout };
}

export function readOf(
  kept: RetainedOutput,
  partition: number,
  address: string | null,
): PartitionRead {
  const part = kept.parts[partition];
  if (part === undefined) throw new Error(`no partition ${partition}`);
  return { at: placeOf(kept, address), partition, part };
}

/** Bytes that repeat nowhere near. */
export function bytes(length: number, seed = 1): Buffer {
  const buffer = Buffer.alloc(length);
  let state = seed >>> 0 || 1;
  for (let at = 0; at < length; at += 1) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    buffer[at] = state >>> 24;
  }
  return buffer;
}
