/** The format of a file, by its name or else by its first bytes. */
import { open } from 'node:fs/promises';
import type { TableFormat } from './spec.ts';

const ENDINGS: readonly (readonly [RegExp, TableFormat])[] = [
  [/\.(parquet|parq|pq)$/i, 'parquet'],
  [/\.(csv|tsv)(\.(gz|zst))?$/i, 'csv'],
  [/\.(json|jsonl|ndjson)(\.(gz|zst))?$/i, 'json'],
];

export function formatByName(path: string): TableFormat | null {
  return ENDINGS.find(([ending]) => ending.test(path))?.[1] ?? null;
}

/** Returns null if the bytes do not tell. */
export async function formatByContent(path: string): Promise<TableFormat | null> {
  const file = await open(path, 'r');
  try {
    const { bytesRead, buffer } = await file.read(Buffer.alloc(64), 0, 64, 0);
    const text = buffer.toString('latin1', 0, bytesRead);
    if (text.startsWith('PAR1')) return 'parquet';
    return /^(?:\u00ef\u00bb\u00bf)?\s*[[{]/.test(text) ? 'json' : null;
  } finally {
    await file.close();
  }
}
