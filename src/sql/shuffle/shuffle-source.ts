/** Serves the outputs of a store to other nodes, as byte ranges over the segments of a partition. */
import { open } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { MillraceError } from '../../scheduler/core/index.ts';
import type {
  MapOutput,
  PartitionChunk,
  PartitionRange,
  ShuffleSource,
} from '../../scheduler/contract/index.ts';
import { bytesOf } from './output-index.ts';
import type { Segment } from './output-index.ts';
import type { OutputStore } from './output-store.ts';

/** Large enough that a chunk costs little. */
const CHUNK_BYTES: number = 512 * 1_024;
const EMPTY: Buffer = Buffer.alloc(0);

/** What is needed of a store to serve it. */
export type Served = Pick<OutputStore, 'findKey'>;

export function shuffleSource(store: Served): ShuffleSource {
  return {
    register: (output) => confirm(store, output),
    fetch: (range, signal) => chunksOf(store, range, signal),
  };
}

/** What is stored here is registered already; nobody can register anything else here. */
function confirm(store: Served, { partitions, layoutVersion, ...key }: MapOutput): void {
  const output = store.findKey(key);
  if (output === null) throw notHere();
  const { index, parts } = output;
  if (layoutVersion !== 0 && layoutVersion !== index.layout)
    throw staleRead(`layout ${layoutVersion}`, `layout ${index.layout}`);
  for (const { partition, bytes, epoch } of partitions) {
    if (epoch !== 0 && epoch !== index.epoch)
      throw staleRead(`epoch ${epoch}`, `epoch ${index.epoch}`);
    if (parts[partition]?.bytes !== bytes) throw notHere();
  }
}

async function* chunksOf(
  store: Served,
  range: PartitionRange,
  signal: AbortSignal,
): AsyncGenerator<PartitionChunk> {
  const output = store.findKey(range);
  const segments = output?.index.parts[range.partition]?.segments;
  if (output === null || segments === undefined) throw notRegistered();
  const { layout, epoch } = output.index;
  checkVersions(range, layout, epoch);
  const watermarkOffset = bytesOf(segments);
  const words = { watermarkOffset, isFinalized: true, epoch };
  const { start, end } = readableRange(range, watermarkOffset);
  if (start >= end) {
    yield { payload: EMPTY, startOffset: start, endOffset: start, ...words };
    return;
  }
  let offset = start;
  for await (const payload of bytesBetween(output.folder, segments, start, end)) {
    if (signal.aborted) return;
    const startOffset = offset;
    offset += payload.length;
    yield { payload, startOffset, endOffset: offset, ...words };
  }
}

/** Refuses a reader that means another output than the one here. */
export function checkVersions(
  { layoutVersion, minEpoch }: PartitionRange,
  layout: number,
  epoch: number,
): void {
  if (layoutVersion !== 0 && layoutVersion !== layout)
    throw staleRead(`layout ${layoutVersion}`, `layout ${layout}`);
  if (minEpoch > epoch) throw staleRead(`epoch ${minEpoch}`, `epoch ${epoch}`);
}

/** What of a range may be read up to the watermark. */
export function readableRange(
  { startOffset, maxBytes }: PartitionRange,
  watermark: number,
): { readonly start: number; readonly end: number } {
  const start = Math.min(startOffset, watermark);
  return { start, end: maxBytes === 0 ? watermark : Math.min(watermark, start + maxBytes) };
}

/**
 * In one buffer, which is filled again. With one for each chunk, two workers that fetch from each other kept the collector
 * busy: as much memory as is sent comes and goes, and the whole heap is marked for it over and over.
 */
async function* bytesBetween(
  folder: string,
  segments: readonly Segment[],
  start: number,
  end: number,
): AsyncGenerator<Buffer> {
  const buffer = Buffer.allocUnsafeSlow(Math.min(CHUNK_BYTES, end - start));
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
        const piece = buffer.subarray(0, Math.min(CHUNK_BYTES, to - at));
        await fill(piece, handle, file, at);
        yield piece;
      }
    } finally {
      await handle.close();
    }
  }
}

async function fill(buffer: Buffer, handle: FileHandle, file: string, from: number): Promise<void> {
  for (let filled = 0; filled < buffer.length;) {
    const { bytesRead } = await handle.read(buffer, filled, buffer.length - filled, from + filled);
    if (bytesRead === 0) throw gone(file, undefined);
    filled += bytesRead;
  }
}

/** This text is part of the contract. */
export function notRegistered(): MillraceError {
  return new MillraceError({
    code: 'conflict',
    what: 'map output not registered for requested attempt',
  });
}

function staleRead(asked: string, here: string): MillraceError {
  return new MillraceError({
    code: 'superseded',
    what: `The call is about ${asked} of this output, but this node has ${here}.`,
  });
}

function notHere(): MillraceError {
  return new MillraceError({
    code: 'conflict',
    what: 'This worker does not store this output.',
    todo: 'Register an output with the leader, or with the worker that stores it.',
  });
}

function gone(file: string, cause: unknown): MillraceError {
  return new MillraceError({
    code: 'input_lost',
    what: `The segment ${file} is missing or shorter than it was written.`,
    cause,
  });
}
