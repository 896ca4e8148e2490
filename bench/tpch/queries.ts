/** The 22 queries of the public TPC-H specification with its default parameters, one `.sql` file each. */
import { readFileSync } from 'node:fs';

export interface TpchQuery {
  /** `q01` to `q22`. */
  readonly name: string;
  readonly sql: string;
  /** Positions, from 1, of the columns that the answer is ordered by; rows equal in them may come in any order. */
  readonly order: readonly number[];
  /** It has a LIMIT, and rows that are equal in the order may be on either side of it. */
  readonly ties: boolean;
}

/** By number; a query that is not here has no order. */
const ORDER: Readonly<Record<number, readonly number[]>> = {
  ...{ 1: [1, 2], 2: [1, 3, 2, 4], 3: [2, 3], 4: [1], 5: [2], 7: [1, 2, 3], 8: [1], 9: [1, 2] },
  ...{ 10: [3], 11: [2], 12: [1], 13: [2, 1], 15: [1], 16: [4, 1, 2, 3], 18: [5, 4], 20: [1] },
  ...{ 21: [2, 1], 22: [1] },
};
const LIMITED = new Set([2, 3, 10, 18, 21]);

const QUERIES = 22;

/** The scale only changes the share that query 11 asks for. */
export function tpchQueries(scale: number): readonly TpchQuery[] {
  return Array.from({ length: QUERIES }, (_, at) => {
    const number = at + 1;
    const name = `q${String(number).padStart(2, '0')}`;
    const text = readFileSync(new URL(`queries/${name}.sql`, import.meta.url), 'utf8');
    const sql = number === 11 ? text.replace(' * 0.0001\n', ` * ${share(scale)}\n`) : text;
    return { name, sql: sql.trim(), order: ORDER[number] ?? [], ties: LIMITED.has(number) };
  });
}

/** Written out: DuckDB would read 1e-5 as a float. */
function share(scale: number): string {
  return (0.0001 / scale).toFixed(10);
}
