import { readFile } from 'node:fs/promises';
import type * as files from 'node:fs/promises';
import { crc32 } from 'node:zlib';
import { expect, test, vi } from 'vitest';
import { bytes, temporaryFolder } from '../../../test/rig/shuffle-node.ts';
import { SegmentWriter } from './segment-writer.ts';

vi.mock('node:fs/promises', async (original) => {
  const real = await original<typeof files>();
  return {
    ...real,
    /** A disk that is nearly full takes less than it is given, and says so only by a number. */
    open: async (...given: Parameters<typeof real.open>): Promise<files.FileHandle> => {
      const file = await real.open(...given);
      const write = file.write.bind(file) as (
        buffer: Uint8Array,
        offset: number,
        length: number,
      ) => Promise<{ bytesWritten: number }>;
      const little = (buffer: Uint8Array, offset: number, length: number): unknown =>
        write(buffer, offset, Math.min(length, 7));
      return Object.assign(file, { write: little });
    },
  };
});

test('writes a complete segment even if the disk accepts it in pieces', async () => {
  const content = bytes(100);
  const folder = await temporaryFolder();
  const part = { rows: 1, bytes: 100, segments: [[100, crc32(content)] as const] };
  const writer = new SegmentWriter(part, (segment) => `${folder}/${segment}`);
  expect(await writer.take(content.subarray(0, 40))).toBeNull();
  expect(await writer.take(content.subarray(40))).toBeNull();
  expect(writer.files).toEqual([`${folder}/0`]);
  expect(await readFile(`${folder}/0`)).toEqual(content);
});
