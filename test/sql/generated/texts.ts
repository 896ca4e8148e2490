/** Answers as DuckDB writes their values: text shows more than equality does, and needs no reader of ours. */
import type { DuckDBConnection } from '@duckdb/node-api';

export interface Texts {
  readonly types: readonly string[];
  readonly rows: readonly (readonly (string | null)[])[];
}

/** Throws what DuckDB says when it refuses or fails. */
export async function textsOf(connection: DuckDBConnection, sql: string): Promise<Texts> {
  const described = await connection.runAndReadAll(`DESCRIBE ${sql}`);
  const types = described.getRows().map((row) => String(row[1]));
  const names = types.map((_, at) => `c${at}`).join(', ');
  const reader = await connection.runAndReadAll(
    `SELECT CAST(COLUMNS(*) AS VARCHAR) FROM (${sql}) AS q(${names})`,
  );
  const rows = reader
    .getRows()
    .map((row) => row.map((cell) => (cell === null ? null : String(cell))));
  return { types, rows };
}

/** The first difference in words; null when both have the same rows, whatever their order unless `isOrdered`. */
export function textDifference(own: Texts, given: Texts, isOrdered: boolean): string | null {
  const [ours, theirs] = [own.types.map(plainType).join(), given.types.map(plainType).join()];
  if (ours !== theirs) return `DuckDB has the types ${ours}, the answer ${theirs}`;
  const lines = ({ rows }: Texts): readonly string[] => {
    const texts = rows.map((row) =>
      JSON.stringify(row.map((cell, at) => near(cell, own.types[at]!))),
    );
    return isOrdered ? texts : texts.toSorted();
  };
  const [a, b] = [lines(own), lines(given)];
  if (a.length !== b.length) return `DuckDB has ${a.length} rows, the answer ${b.length}`;
  const at = a.findIndex((line, place) => line !== b[place]);
  return at < 0 ? null : `DuckDB has ${a[at]}, the answer ${b[at]}`;
}

/** Quotes around names come and go. */
function plainType(type: string): string {
  return type.replaceAll('"', '').replaceAll(/([,(])\s+/g, '$1');
}

/** Sums of floats differ in their last digits, an order may take 0 for -0, and the sign of NaN means nothing. */
function near(cell: string | null, type: string): string | null {
  if (cell === null || (type !== 'DOUBLE' && type !== 'FLOAT')) return cell;
  if (cell === '-nan') return 'nan';
  const value = Number(cell);
  return Number.isFinite(value) ? (value + 0).toPrecision(type === 'FLOAT' ? 5 : 9) : cell;
}
