import { writeFile } from 'node:fs/promises';
import { PRIVATE_FILE } from '../../../kit/index.ts';
import type { InlineResult } from '../../plan/index.ts';
import type { ResultPart } from '../engine.ts';

/** Rows that are stored with the result of their task, to be read by an engine. `file` is where it is written to if it is one. */
export async function inlinePart(
  { parquet, rows }: InlineResult,
  file: string,
  signal?: AbortSignal,
): Promise<ResultPart> {
  if (parquet === null) return { json: JSON.stringify(rows) };
  await writeFile(file, Buffer.from(parquet, 'base64'), { mode: PRIVATE_FILE, signal });
  return file;
}
