/**
 * What DuckDB itself says: a query runs in one local instance over the same files. `expectEqual` then holds an
 * answer against it by the contract: an answer that DuckDB itself may give.
 */
import { DuckDBInstance } from '@duckdb/node-api';
import type { DuckDBConnection } from '@duckdb/node-api';
import { difference } from './compare.ts';
import { cellOf } from './contract-values.ts';
import type { Answer } from './contract-values.ts';

/** What may differ between two right answers. All positions count from 1. */
export interface Leeway {
  /** The columns that the rows are ordered by; rows equal in them come in any order. None: no order at all. */
  readonly order?: readonly number[];
  /** The query ends in LIMIT, and which of the equal rows are kept is open. */
  readonly ties?: boolean;
  /** Lists whose elements have no order. */
  readonly bags?: readonly number[];
  /** Columns of which any value that the query could have taken is right: only NULL or not is compared. */
  readonly open?: readonly number[];
  /** How far floats may be apart, relative. */
  readonly tolerance?: number;
  /** Floats that are this near to each other are the same, however small they are. */
  readonly floor?: number;
}

/** By name, how DuckDB reads it: `read_parquet('...')`. */
export type Readers = Readonly<Record<string, string>>;

export class Oracle {
  readonly #instance: DuckDBInstance;
  readonly #connection: DuckDBConnection;

  private constructor(instance: DuckDBInstance, connection: DuckDBConnection) {
    this.#instance = instance;
    this.#connection = connection;
  }

  static async open(readers: Readers, options: { threads?: number } = {}): Promise<Oracle> {
    const threads = `${options.threads ?? 1}`;
    const instance = await DuckDBInstance.create(':memory:', { threads });
    const connection = await instance.connect();
    await connection.run("SET TimeZone = 'UTC'");
    for (const [name, reader] of Object.entries(readers))
      await connection.run(`CREATE VIEW "${name}" AS SELECT * FROM ${reader}`);
    return new Oracle(instance, connection);
  }

  /** Throws what DuckDB says when it refuses or fails. */
  async answer(sql: string): Promise<Answer> {
    const reader = await this.#connection.runAndReadAll(sql);
    const types = reader.columnTypes();
    const columns = reader.columnNames().map((name, at) => ({ name, type: String(types[at]) }));
    const rows = reader.getRows().map((row) => row.map(cellOf));
    return { columns, rows };
  }

  /** The difference in words, or null when the answer is one that DuckDB may give. */
  async judge(sql: string, given: Answer, leeway: Leeway = {}): Promise<string | null> {
    const own = await this.answer(sql);
    const whole = leeway.ties === true ? await this.answer(withoutLimit(sql)) : null;
    return difference(own, given, leeway, whole);
  }

  close(): void {
    this.#connection.closeSync();
    this.#instance.closeSync();
  }
}

/** All rows of which a LIMIT at the very end keeps some. */
export function withoutLimit(sql: string): string {
  const limit =
    /\s+(LIMIT\s+[\d.]+\s*%?(\s+OFFSET\s+\d+)?|OFFSET\s+\d+|FETCH\s+FIRST\s+\d+\s+ROWS?\s+ONLY)\s*;?\s*$/i;
  if (!limit.test(sql)) throw new Error(`There is no LIMIT at the end of: ${sql}`);
  return sql.replace(limit, '');
}
