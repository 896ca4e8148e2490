/** Receives the bytes of a partition and writes each segment into a file, verifying its checksum. */
import { open } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { crc32 } from 'node:zlib';
import type { PartitionInfo } from '../plan/index.ts';

export class SegmentWriter {
  /** The bytes received so far. */
  offset = 0;
  readonly files: string[] = [];
  readonly #segments: PartitionInfo['segments'];
  readonly #pathOf: (segment: number) => string;
  #file: FileHandle | null = null;
  #sum = 0;
  #left = 0;

  constructor(part: PartitionInfo, pathOf: (segment: number) => string) {
    this.#segments = part.segments;
    this.#pathOf = pathOf;
  }

  /** Returns what is wrong, or null. */
  async take(payload: Buffer): Promise<string | null> {
    for (let at = 0; at < payload.length;) {
      if (this.#file === null && !(await this.#next())) return 'It has more bytes than expected.';
      const piece = payload.subarray(at, at + this.#left);
      await this.#write(piece);
      this.#sum = crc32(piece, this.#sum);
      this.#left -= piece.length;
      this.offset += piece.length;
      at += piece.length;
      if (this.#left > 0) continue;
      await this.close();
      if (this.#sum !== this.#segments[this.files.length - 1]?.[1]) {
        return `The checksum of segment ${this.files.length - 1} is wrong.`;
      }
    }
    return null;
  }

  async close(): Promise<void> {
    const file = this.#file;
    this.#file = null;
    await file?.close();
  }

  /** Writes all of it: a nearly full disk may accept only some of the bytes, and fail at the next call. */
  async #write(piece: Buffer): Promise<void> {
    for (let written = 0; this.#file !== null && written < piece.length;) {
      const { bytesWritten } = await this.#file.write(piece, written, piece.length - written);
      written += bytesWritten;
    }
  }

  async #next(): Promise<boolean> {
    const number = this.files.length;
    const segment = this.#segments[number];
    if (segment === undefined) return false;
    const path = this.#pathOf(number);
    this.#file = await open(path, 'wx');
    this.files.push(path);
    this.#left = segment[0];
    this.#sum = 0;
    return true;
  }
}
