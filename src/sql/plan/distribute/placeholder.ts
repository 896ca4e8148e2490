/**
 * A table that stands for the output of a custom operator while the query around it is planned. DuckDB cannot bind such
 * an operator, so it sees rows of the declared types instead: of unknown values, without statistics, so that no
 * optimizer concludes anything from them.
 */
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
  const list = types.map((_, at) => `column${at + 1} AS c${at}`).join(', ');
  const values = types.map((type) => nullOf(parseType(type))).join(', ');
  const from = `repeat_row('${PLACEHOLDER}${name}', ${values}, num_rows = ${rows})`;
  const pin = { path: '', mtimeNs: '0', footer: '', groups: [] };
  return {
    name,
    format: 'parquet',
    // Rows that are not known cannot be split.
    files: [{ ...pin, bytes: Math.round(parts.bytes), rows: isPartitioned ? rows : null }],
    columns: types.map((type, at) => ({ name: `c${at}`, type, bytes: null })),
    options: '',
    select: `SELECT ${list} FROM ${from}`,
    root: null,
    isPlaceholder: true,
  };
}
