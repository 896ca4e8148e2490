/**
 * The index of an output: what lies in its folder, with the length and the checksum of every segment. It is
 * written last, so a folder with an index is whole, and its hash stands for everything in the folder.
 */
import { createHash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { PartitionInfo } from '../plan/index.ts';
import type { OutputName } from './output-name.ts';
import { PRIVATE_FILE } from '../../kit/index.ts';

/** Grows when a reader of today could not read what is written then. On the wire: `layout_version`. */
const LAYOUT_VERSION = 1;
const INDEX_FILE = 'index.json';
/** Two outputs with the same one are the same. */
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

/** Answers the hash. Not forced to the disk: an output that a crash of the machine takes away is made again. */
export async function writeIndex(folder: string, index: OutputIndex): Promise<string> {
  const text = JSON.stringify(index);
  await writeFile(join(folder, INDEX_FILE), text, { flag: 'wx', mode: PRIVATE_FILE });
  return hashOf(text);
}

/** Null when the folder is not here, or is not the one that is meant. */
export async function readIndex(folder: string, hash: string): Promise<OutputIndex | null> {
  let text: string;
  try {
    text = await readFile(join(folder, INDEX_FILE), 'utf8');
  } catch {
    return null;
  }
  if (hashOf(text) !== hash) return null;
  // By its hash it is what a worker has written; only the names become paths, and they are looked at.
  const index = JSON.parse(text) as OutputIndex;
  const files = index.parts.flatMap(({ segments }) => segments.map(({ file }) => file));
  return files.every(isPlain) ? index : null;
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
  { query, task, fence }: OutputName,
  parts: readonly IndexedPartition[],
): OutputIndex {
  // Each attempt is a stream of its own: a reader that is half-way through another one starts again.
  return { query, task, fence, layout: LAYOUT_VERSION, epoch: fence, parts };
}

/** A path below the folder, with no way out of it. */
export function isPlain(file: string): boolean {
  const parts = file.split(/[/\\]/);
  return (
    !file.includes('\0') && parts.every((part) => part !== '' && part !== '.' && part !== '..')
  );
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, HASH_DIGITS);
}
