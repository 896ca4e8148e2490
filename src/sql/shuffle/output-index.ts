/**
 * The index of an output: the contents of its folder, with the length and checksum of every segment. It is kept in memory:
 * readers on other nodes have the lengths and checksums from the leader, and know the names of the files.
 */
import { createHash } from 'node:crypto';
import { LAYOUT_VERSION } from '../../scheduler/contract/index.ts';
import type { PartitionInfo } from '../plan/index.ts';
import type { OutputName } from './output-name.ts';

const HASH_DIGITS = 32;

export interface OutputIndex extends OutputName {
  readonly layout: number;
  readonly epoch: number;
  readonly parts: readonly IndexedPartition[];
}

export interface IndexedPartition {
  readonly rows: number;
  readonly segments: readonly Segment[];
}

export interface Segment {
  /** Its name in the folder. */
  readonly file: string;
  readonly bytes: number;
  readonly crc32: number;
}

/** Of what the output consists of. Outputs with the same hash are the same. */
export function hashOf(index: OutputIndex): string {
  return createHash('sha256').update(JSON.stringify(index)).digest('hex').slice(0, HASH_DIGITS);
}

/** The name of a segment in the folder of its output: so readers beside this worker need no list of the files. */
export function segmentFile(partition: number, segment: number): string {
  return `${partition}-${segment}.parquet`;
}

export function partitionInfo({ rows, segments }: IndexedPartition): PartitionInfo {
  return {
    rows,
    bytes: bytesOf(segments),
    segments: segments.map(({ bytes, crc32 }) => [bytes, crc32] as const),
  };
}

export function bytesOf(segments: readonly { readonly bytes: number }[]): number {
  return segments.reduce((sum, { bytes }) => sum + bytes, 0);
}

export function indexOf(
  { query, task, fence, attempt = 0 }: OutputName,
  parts: readonly IndexedPartition[],
): OutputIndex {
  // Each attempt is a stream of its own: a reader that is half-way through another one starts again.
  return { query, task, fence, attempt, layout: LAYOUT_VERSION, epoch: fence, parts };
}
