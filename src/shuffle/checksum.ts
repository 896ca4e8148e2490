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
