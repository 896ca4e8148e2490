/** Serves the outputs of a store to other nodes, as byte ranges over the segments of a partition. */
import { open } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { MillraceError } from '../../scheduler/core/index.ts';
import type {
  MapPartition,
  PartitionChunk,
  PartitionRange,
  ShuffleSource,
} from '../../scheduler/contract/index.ts';
import { nameOf } from './output-name.ts';
import type { Segment } from './output-index.ts';
import type { OutputStore } from './output-store.ts';

/** Large enough that a message costs little, small enough that many readers fit into memory. */
const CHUNK_BYTES: number = 2 ** 20;
const EMPTY: Buffer = Buffer.alloc(0);

/** What is needed of a store to serve it. */
export type Served = Pick<OutputStore, 'outputs' | 'find'>;

export function shuffleSource(store: Served): ShuffleSource {
  return {
    register: (output) => {
      // Validates the name, which becomes a path when the output is looked up.
      nameOf(output);
      store.outputs.register(output);
    },
    fetch: (range, signal) => chunksOf(store, range, signal),
  };
}

async function* chunksOf(
  store: Served,
  range: PartitionRange,
  signal: AbortSignal,
): AsyncGenerator<PartitionChunk> {
  const name = nameOf(range);
  const partition = readable(store, range);
  const { committedOffset: watermarkOffset, isFinalized, epoch } = partition;
  const words = { watermarkOffset, isFinalized, epoch };
  const { maxBytes } = range;
  const start = Math.min(range.startOffset, watermarkOffset);
  const end = maxBytes === 0 ? watermarkOffset : Math.min(watermarkOffset, start + maxBytes);
  if (start >= end) {
    yield { payload: EMPTY, startOffset: start, endOffset: start, ...words };
    return;
  }
  const output = store.find(name);
  const segments = output?.index.parts[range.partition]?.segments;
  if (output === null || segments === undefined) throw notRegistered();
  let offset = start;
  for await (const payload of bytesBetween(output.folder, segments, start, end)) {
    if (signal.aborted) return;
    const startOffset = offset;
    offset += payload.length;
    yield { payload, startOffset, endOffset: offset, ...words };
  }
}

/** Returns the partition if the reader and this node mean the same one. */
function readable(store: Served, range: PartitionRange): MapPartition {
  const output = store.outputs.find(range);
  if (output === null) throw notRegistered();
  const { layoutVersion, minEpoch } = range;
  if (layoutVersion !== 0 && layoutVersion !== output.layoutVersion) {
    throw stale(`layout ${layoutVersion}`, `layout ${output.layoutVersion}`);
  }
  // Every partition of a registered output is registered, including the empty ones, so this one will follow.
  const partition = output.partition(range.partition) ?? { ...NOTHING, partition: range.partition };
  if (minEpoch > partition.epoch) throw stale(`epoch ${minEpoch}`, `epoch ${partition.epoch}`);
  return partition;
}

const NOTHING: Omit<MapPartition, 'partition'> = {
  bytes: 0,
  rows: 0,
  batches: 0,
  epoch: 0,
  committedOffset: 0,
  isFinalized: false,
};

async function* bytesBetween(
  folder: string,
  segments: readonly Segment[],
  start: number,
  end: number,
): AsyncGenerator<Buffer> {
  let segmentStart = 0;
  for (const { file, bytes } of segments) {
    const from = Math.max(start, segmentStart) - segmentStart;
    const to = Math.min(end, segmentStart + bytes) - segmentStart;
    segmentStart += bytes;
    if (from >= to) continue;
    const handle = await open(join(folder, file), 'r').catch((cause: unknown) => {
      throw gone(file, cause);
    });
    try {
      for (let at = from; at < to; at += CHUNK_BYTES) {
        yield await piece(handle, file, at, Math.min(to, at + CHUNK_BYTES));
      }
    } finally {
      await handle.close();
    }
  }
}

async function piece(handle: FileHandle, file: string, from: number, to: number): Promise<Buffer> {
  const buffer = Buffer.allocUnsafeSlow(to - from);
  for (let filled = 0; filled < buffer.length;) {
    const { bytesRead } = await handle.read(buffer, filled, buffer.length - filled, from + filled);
    if (bytesRead === 0) throw gone(file, undefined);
    filled += bytesRead;
  }
  return buffer;
}

/** This text is part of the contract. */
function notRegistered(): MillraceError {
  return new MillraceError({
    code: 'conflict',
    what: 'map output not registered for requested attempt',
  });
}

function stale(asked: string, here: string): MillraceError {
  return new MillraceError({
    code: 'superseded',
    what: `The reader asked for ${asked} of this partition, but this node has ${here}.`,
  });
}

function gone(file: string, cause: unknown): MillraceError {
  return new MillraceError({
    code: 'input_lost',
    what: `The segment ${file} is missing or shorter than it was written.`,
    cause,
  });
}
