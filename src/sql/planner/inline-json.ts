/** Small results are stored as JSON, so they are served without decoding. */
import type { FragmentResult, ResultColumn } from '../plan/index.ts';

const PIECE_CHARS = 256 * 1024;

/** Returns null if a partition is not stored as JSON. */
export function inlineJson(
  columns: readonly ResultColumn[],
  parts: readonly FragmentResult[],
): Iterable<Uint8Array> | null {
  const rows = inlineRows(parts);
  return rows === null ? null : jsonPieces(columns, rows);
}

/** The same as values. */
export function inlineRows(
  parts: readonly FragmentResult[],
): readonly (readonly unknown[])[] | null {
  const rows: (readonly unknown[])[] = [];
  for (const { inline, parts: own } of parts) {
    const isEmpty = own.every((part) => part.rows === 0);
    const known = inline?.rows ?? null;
    if (known === null && !isEmpty) return null;
    for (const row of known ?? []) rows.push(row);
  }
  return rows;
}

export function* jsonPieces(
  columns: readonly ResultColumn[],
  rows: readonly (readonly unknown[])[],
): Generator<Uint8Array, void> {
  const shown = columns.map(({ name, type }) => ({ name, type }));
  let text = `{"columns":${JSON.stringify(shown)},"rows":[`;
  for (const [at, row] of rows.entries()) {
    text += `${at === 0 ? '' : ','}${JSON.stringify(row)}`;
    if (text.length < PIECE_CHARS) continue;
    yield Buffer.from(text);
    text = '';
  }
  yield Buffer.from(`${text}]}\n`);
}
