/** Results that are small enough to be stored with the result of their task. */
import { readFileSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import type { FragmentOutput, RowsMax } from '../engine/index.ts';
import type { InlineResult } from '../plan/index.ts';

const PARQUET_BYTES_MAX: number = 256 * 1_024;

/** A few bytes of Parquet may be a million rows, and each value costs half a microsecond or more to write. */
export const INLINE_ROWS: RowsMax = { values: 8_000, bytes: 64 * 1_024 };

/** Null if it is too large, or in several files. They are on this disk: reading them takes less than waiting would. */
export function inlineResult(folder: string, { parts, rows }: FragmentOutput): InlineResult | null {
  const files = parts.flatMap((part) => part.files);
  const [file] = files;
  if (file === undefined && rows !== null) return { parquet: null, rows };
  if (file === undefined || files.length > 1) return null;
  const path = resolve(folder, file);
  if (statSync(path).size > PARQUET_BYTES_MAX) return null;
  return { parquet: readFileSync(path, 'base64'), rows };
}
