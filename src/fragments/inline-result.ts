/** Results that are small enough to travel with the answer of their task. */
import { readFile, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { FragmentYield, RowEngine } from '../engine/index.ts';
import type { FragmentColumn, InlineResult } from '../query/index.ts';

const PARQUET_BYTES_MAX: number = 256 * 1_024;
const ROWS_BYTES_MAX: number = 64 * 1_024;

/** Null when it is too large, or in several files. */
export async function inlineResult(
  folder: string,
  { parts }: FragmentYield,
  columns: readonly FragmentColumn[],
  engine: RowEngine,
  signal: AbortSignal,
): Promise<InlineResult | null> {
  const files = parts.flatMap((part) => part.files);
  const [file] = files;
  if (file === undefined || files.length > 1) return null;
  const path = resolve(folder, file);
  const { size } = await stat(path);
  if (size > PARQUET_BYTES_MAX) return null;
  const parquet = (await readFile(path)).toString('base64');
  const rows = size > ROWS_BYTES_MAX ? null : await rowsIn(path, columns, engine, signal);
  return { parquet, rows };
}

/** Null when there are too many: a few bytes of Parquet may be a million rows. */
async function rowsIn(
  path: string,
  columns: readonly FragmentColumn[],
  engine: RowEngine,
  signal: AbortSignal,
): Promise<InlineResult['rows']> {
  const enough = new AbortController();
  const request = { files: [path], columns, format: 'json' } as const;
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  try {
    const all = AbortSignal.any([signal, enough.signal]);
    for await (const piece of engine.rows(request, all)) {
      bytes += piece.length;
      if (bytes > ROWS_BYTES_MAX) return null;
      pieces.push(piece);
    }
  } finally {
    enough.abort();
  }
  const text = Buffer.concat(pieces).toString('utf8');
  return (JSON.parse(text) as { readonly rows: readonly (readonly unknown[])[] }).rows;
}
