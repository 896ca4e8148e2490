/** Copies the lines of a text file that begin in a range of its bytes. */
import { open } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';

const BLOCK_BYTES = 1024 * 1024;
const NEWLINE = 0x0a;

export interface ByteRange {
  readonly from: number;
  readonly to: number;
}

/** Every line begins in one of the ranges into which a file is split, so it is in exactly one of the copies. */
export async function copyLines(path: string, as: string, range: ByteRange): Promise<void> {
  const source = await open(path, 'r');
  try {
    const target = await open(as, 'wx', 0o600);
    try {
      const from = await lineStart(source, range.from);
      const to = await lineStart(source, range.to);
      await copyBytes(source, target, from, to);
    } finally {
      await target.close();
    }
  } finally {
    await source.close();
  }
}

/** Where the first line begins that does not begin before `at`; the end of the file if there is none. */
async function lineStart(file: FileHandle, at: number): Promise<number> {
  if (at === 0) return 0;
  const block = Buffer.alloc(BLOCK_BYTES);
  for (let position = at - 1; ;) {
    const { bytesRead } = await file.read(block, 0, BLOCK_BYTES, position);
    if (bytesRead === 0) return position;
    const found = block.subarray(0, bytesRead).indexOf(NEWLINE);
    if (found >= 0) return position + found + 1;
    position += bytesRead;
  }
}

async function copyBytes(
  source: FileHandle,
  target: FileHandle,
  from: number,
  to: number,
): Promise<void> {
  const block = Buffer.alloc(Math.min(BLOCK_BYTES, Math.max(1, to - from)));
  for (let position = from; position < to;) {
    const wanted = Math.min(block.length, to - position);
    const { bytesRead } = await source.read(block, 0, wanted, position);
    // It has become shorter: whoever has pinned it will notice.
    if (bytesRead === 0) return;
    await target.write(block, 0, bytesRead);
    position += bytesRead;
  }
}
