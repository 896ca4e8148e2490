/** Results that are small enough to be stored with the result of their task. */
import { open } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { FragmentOutput, RowsMax } from '../engine/index.ts';
import type { InlineResult } from '../plan/index.ts';

const PARQUET_BYTES_MAX: number = 256 * 1_024;

/** A few bytes of Parquet may be a million rows, and each value costs half a microsecond or more to write. */
export const INLINE_ROWS: RowsMax = { values: 8_000, bytes: 64 * 1_024 };

/** Returns null if it is too large, or in several files. */
export async function inlineResult(
  folder: string,
  { parts, rows }: FragmentOutput,
): Promise<InlineResult | null> {
  const files = parts.flatMap((part) => part.files);
  const [file] = files;
  if (file === undefined || files.length > 1) return null;
  const handle = await open(resolve(folder, file));
  try {
    const { size } = await handle.stat();
    if (size > PARQUET_BYTES_MAX) return null;
    return { parquet: (await handle.readFile()).toString('base64'), rows };
  } finally {
    await handle.close();
  }
}
