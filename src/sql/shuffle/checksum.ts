/**
 * Length and CRC-32 of files, and how to tell that a file has not changed since. What ends in `Now` blocks the process for
 * some microseconds, and is for files in the folder of this worker: with all processors busy, each of the four steps of
 * reading a small file takes longer on its way to another thread and back than in the kernel.
 */
import { closeSync, fstatSync, openSync, readSync, statSync } from 'node:fs';
import type { BigIntStats } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { crc32 } from 'node:zlib';

export interface Checksum {
  readonly bytes: number;
  readonly crc32: number;
}

export interface CheckedFile extends Checksum {
  /** The result of `stateOf` before it was read. */
  readonly state: string;
}

const PIECE_BYTES: number = 2 ** 20;

/** Reads the whole file. */
export async function checksumOf(path: string, signal?: AbortSignal): Promise<CheckedFile> {
  const file = await open(path, 'r');
  try {
    const stats = await file.stat({ bigint: true });
    const size = Number(stats.size);
    const buffer = Buffer.allocUnsafe(Math.min(PIECE_BYTES, Math.max(1, size)));
    let bytes = 0;
    let sum = 0;
    while (bytes < size) {
      signal?.throwIfAborted();
      const { bytesRead } = await file.read(buffer, 0, buffer.length, bytes);
      if (bytesRead === 0) break;
      sum = crc32(buffer.subarray(0, bytesRead), sum);
      bytes += bytesRead;
    }
    return { bytes, crc32: sum, state: textOf(stats) };
  } finally {
    await file.close();
  }
}

/** Larger files are read in another thread. */
const NOW_BYTES_MAX: number = 256 * 1_024;

/** The same of a small file; null if it is not small. */
export function checksumNow(path: string): CheckedFile | null {
  const file = openSync(path, 'r');
  try {
    const stats = fstatSync(file, { bigint: true });
    if (stats.size > NOW_BYTES_MAX) return null;
    const buffer = Buffer.allocUnsafe(Number(stats.size));
    let bytes = 0;
    while (bytes < buffer.length) {
      const read = readSync(file, buffer, bytes, buffer.length - bytes, bytes);
      if (read === 0) break;
      bytes += read;
    }
    return { bytes, crc32: crc32(buffer.subarray(0, bytes)), state: textOf(stats) };
  } finally {
    closeSync(file);
  }
}

/** Null if there is no such file, or none that can be read. */
export function stateNow(path: string): string | null {
  try {
    return textOf(statSync(path, { bigint: true }));
  } catch {
    return null;
  }
}

/** A value that changes whenever the file is written to or replaced, but not when it is renamed. */
export async function stateOf(path: string): Promise<string> {
  return textOf(await stat(path, { bigint: true }));
}

function textOf({ size, mtimeNs, ino }: BigIntStats): string {
  return `${ino} ${size} ${mtimeNs}`;
}
