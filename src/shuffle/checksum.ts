/** Length and CRC-32 of files. */
import { open } from 'node:fs/promises';
import { crc32 } from 'node:zlib';

export interface Checksum {
  readonly bytes: number;
  readonly crc32: number;
}

const PIECE_BYTES: number = 2 ** 20;

/** Reads all of it. */
export async function checksumOf(path: string, signal?: AbortSignal): Promise<Checksum> {
  const file = await open(path, 'r');
  try {
    const { size } = await file.stat();
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
    return { bytes, crc32: sum };
  } finally {
    await file.close();
  }
}

/** Runs `act` for each, a few at a time, and answers in order. */
export async function eachOf<T, R>(
  items: readonly T[],
  atOnce: number,
  act: (item: T, at: number) => Promise<R>,
): Promise<R[]> {
  const results: R[] = Array.from({ length: items.length });
  let next = 0;
  const lane = async (): Promise<void> => {
    for (let at = next++; at < items.length; at = next++) {
      results[at] = await act(items[at] as T, at);
    }
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, lane));
  return results;
}
