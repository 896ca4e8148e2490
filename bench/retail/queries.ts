/** 99 questions to a retailer's data, one `.sql` file each: the shapes of the public TPC-DS specification in our own words. */
import { readFileSync } from 'node:fs';

export interface RetailQuery {
  /** `q01` to `q99`. */
  readonly name: string;
  readonly sql: string;
  /** Positions, from 1, of the columns that the answer is ordered by. */
  readonly order: readonly number[];
}

const QUERIES = 99;
/** The last ORDER BY of a query counts columns, so that it can be read here. */
const ORDER = /\nORDER BY ([\w ,]+)(?:\nLIMIT \d+)?$/;

export function retailQueries(): readonly RetailQuery[] {
  return Array.from({ length: QUERIES }, (_, at) => {
    const name = `q${String(at + 1).padStart(2, '0')}`;
    const text = readFileSync(new URL(`queries/${name}.sql`, import.meta.url), 'utf8').trim();
    return { name, sql: text, order: orderOf(text) };
  });
}

function orderOf(sql: string): readonly number[] {
  const columns = ORDER.exec(sql)?.[1]?.split(', ') ?? [];
  return columns.map((column) => Number.parseInt(column, 10));
}
