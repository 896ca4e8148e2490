/**
 * The index of an output: the contents of its folder, with the length and checksum of every segment. It is written
 * last, so a folder with an index is complete, and the hash of the index identifies everything in the folder.
 */
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { LAYOUT_VERSION } from '../../scheduler/contract/index.ts';
import type { PartitionInfo } from '../plan/index.ts';
import type { OutputName } from './output-name.ts';
import { PRIVATE_FILE } from '../../kit/index.ts';

const INDEX_FILE = 'index.json';
/** Outputs with the same hash are the same. */
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

/** Returns the hash. The file is not synced to disk: an output lost in a crash of the machine is recomputed. */
export function writeIndex(folder: string, index: OutputIndex): string {
  const text = JSON.stringify(index);
  writeFileSync(join(folder, INDEX_FILE), text, { flag: 'wx', mode: PRIVATE_FILE });
  return hashOf(text);
}

/** Returns null if the folder does not exist, or is not the expected one. */
export async function readIndex(folder: string, hash: string): Promise<OutputIndex | null> {
  const text = await readFile(join(folder, INDEX_FILE), 'utf8').catch(() => null);
  return text === null ? null : checkedIndex(text, hash);
}

/** The same, blocking this process: for a folder on this worker's own disk. */
export function readIndexNow(folder: string, hash: string): OutputIndex | null {
  let text: string;
  try {
    text = readFileSync(join(folder, INDEX_FILE), 'utf8');
  } catch {
    return null;
  }
  return checkedIndex(text, hash);
}

function checkedIndex(text: string, hash: string): OutputIndex | null {
  if (hashOf(text) !== hash) return null;
  // The hash proves that a worker has written it. Only the file names become paths, so they are checked.
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
  { query, task, fence, attempt = 0 }: OutputName,
  parts: readonly IndexedPartition[],
): OutputIndex {
  // Each attempt is a stream of its own: a reader that is half-way through another one starts again.
  return { query, task, fence, attempt, layout: LAYOUT_VERSION, epoch: fence, parts };
}

/** Whether it is a path inside the folder, with no way out of it. */
export function isPlain(file: string): boolean {
  const parts = file.split(/[/\\]/);
  return (
    !file.includes('\0') && parts.every((part) => part !== '' && part !== '.' && part !== '..')
  );
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, HASH_DIGITS);
}
