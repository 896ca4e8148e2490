/**
 * A table that stands for the output of a custom operator while the query around it is planned. DuckDB cannot bind such
 * an operator, so it sees rows of the declared types instead: of unknown values, without statistics, so that no
 * optimizer concludes anything from them.
 */
import { quotedName, quotedText } from '../logical/quote.ts';
import { PLACEHOLDER } from '../logical/read-scan.ts';
import { nullOf } from '../logical/type.ts';
import type { PinnedTable } from '../physical/table.ts';
import { parseType } from '../sql/parse-type.ts';

export interface PlaceholderParts {
  /** The table's name in the query. */
  readonly name: string;
  readonly types: readonly string[];
  /** Estimates. */
  readonly rows: number;
  readonly bytes: number;
  /** It is computed by N tasks, each of which can read its own rows. */
  readonly isPartitioned: boolean;
}

export function placeholderTable(parts: PlaceholderParts): PinnedTable {
  const { name, types, isPartitioned } = parts;
  const rows = Math.max(1, Math.round(parts.rows));
  const columns = types.map((type, at) => ({ name: `c${at}`, type }));
  const pin = { path: '', mtimeNs: '0', footer: '', groups: [] };
  return {
    name,
    format: 'parquet',
    // Rows that are not known cannot be split.
    files: [{ ...pin, bytes: Math.round(parts.bytes), rows: isPartitioned ? rows : null }],
    columns: types.map((type, at) => ({ name: `c${at}`, type, bytes: null })),
    options: '',
    select: unknownRows(name, columns, rows),
    root: null,
    isPlaceholder: true,
  };
}

/** The same for a table of text files, under the names of its own columns. */
export function placeholderSelect({ name, columns, lines }: PinnedTable): string {
  return unknownRows(name, columns, Math.max(1, Math.round(lines?.rows ?? 1)));
}

function unknownRows(
  name: string,
  columns: readonly { readonly name: string; readonly type: string }[],
  rows: number,
): string {
  const list = columns
    .map((column, at) => `column${at + 1} AS ${quotedName(column.name)}`)
    .join(', ');
  const values = columns.map(({ type }) => nullOf(parseType(type))).join(', ');
  const mark = quotedText(`${PLACEHOLDER}${name}`);
  return `SELECT ${list} FROM repeat_row(${mark}, ${values}, num_rows = ${rows})`;
}
