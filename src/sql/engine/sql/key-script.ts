/** SQL that reads the values of a column of an output, for runtime filters. */
import { parseType } from '../../plan/index.ts';
import { readerCall } from './reader.ts';

/** A column of a fragment's output whose values are to be reported. */
export interface KeyColumn {
  readonly column: number;
  /** As DuckDB writes it; exchanges keep it as it is. */
  readonly type: string;
  /** How many tasks report keys of this filter. */
  readonly tasks: number;
}

/**
 * One row: whether there is a NULL, the least and the greatest value as text, about how many values there are, and
 * whether DuckDB casts both texts back to these values.
 */
export function keyFacts({ column, type }: KeyColumn, files: readonly string[]): string {
  const back = (value: string): string => `${restored(`${value}::VARCHAR`, type)} = ${value}`;
  return (
    `SELECT (count(*) > count(k))::VARCHAR, min(k)::VARCHAR, max(k)::VARCHAR, ` +
    `approx_count_distinct(k)::VARCHAR, (${back('min(k)')} AND ${back('max(k)')})::VARCHAR ` +
    `FROM (SELECT c${column} AS k FROM ${written(files)})`
  );
}

/** Up to `max` values in ascending order: each as text, and whether DuckDB casts it back to that value. */
export function keyValues(
  { column, type }: KeyColumn,
  files: readonly string[],
  max: number,
): string {
  const distinct = `SELECT DISTINCT c${column} AS k FROM ${written(files)} WHERE k IS NOT NULL`;
  return (
    `SELECT k::VARCHAR, (${restored('k::VARCHAR', type)} = k)::VARCHAR ` +
    `FROM (${distinct}) ORDER BY k LIMIT ${max}`
  );
}

/** One text: a bitmap of the hashes of all values. */
export function keyBits({ column }: KeyColumn, files: readonly string[], bits: number): string {
  return (
    `SELECT base64(CAST(bitstring_agg(CAST(hash(c${column}) % ${bits} AS INTEGER), 0, ${bits - 1}) AS BLOB)) ` +
    `FROM ${written(files)} WHERE c${column} IS NOT NULL`
  );
}

function restored(text: string, type: string): string {
  return `TRY_CAST(${text} AS ${parseType(type).sql})`;
}

function written(files: readonly string[]): string {
  return readerCall('parquet', files, 'hive_partitioning = false');
}
