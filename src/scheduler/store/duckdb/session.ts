/**
 * One connection, one thing at a time: statements and their parameters. What they say is the business of
 * others.
 *
 * DuckDB 1.5 keeps the plan of a prepared statement without parameters, and with it what it knew of
 * the tables when the plan was made: a row outside the minimum and maximum of then is not found
 * (duckdb issues 23704, 24182), and a join that was planned while a table was empty builds its hash
 * table on all of it for ever after (measured: 43 ms instead of 0.7 among a million rows). With
 * parameters it plans anew each time. So statements without any are not kept, and file.ts turns off
 * the pass that looks at minimum and maximum, as later versions do for all prepared statements.
 */
import {
  type DuckDBConnection,
  type DuckDBPreparedStatement,
  LIST,
  type DuckDBMaterializedResult,
} from '@duckdb/node-api';
import { type Cell, type CellType, duckdbType, fromDuckdb, toDuckdb } from './columns.ts';

/** Numbers are bound as BIGINT and lists by their first item; the statement casts where that matters. */
export type Parameter = number | string | null | readonly (number | null)[] | readonly string[];

const WITHOUT_PLAN: ReadonlySet<string> = new Set(['begin', 'commit', 'rollback']);

/** Those that were used last are kept: the text of a statement that writes rows says which columns are constant. */
const STATEMENTS_MAX = 200;

export class Session {
  readonly #connection: DuckDBConnection;
  readonly #statements = new Map<string, DuckDBPreparedStatement>();
  #turn: Promise<unknown> = Promise.resolve();

  constructor(connection: DuckDBConnection) {
    this.#connection = connection;
  }

  /** Waits for all earlier uses of the connection, whatever became of them. */
  async exclusively<T>(use: () => Promise<T>): Promise<T> {
    const turn = this.#turn.then(use, use);
    this.#turn = turn.catch(() => {});
    return turn;
  }

  /** Runs a statement and answers the number of rows it changed. */
  async run(sql: string, ...parameters: readonly Parameter[]): Promise<number> {
    return (await this.#result(sql, parameters)).rowsChanged;
  }

  async rows(sql: string, ...parameters: readonly Parameter[]): Promise<Cell[][]> {
    const result = await this.#result(sql, parameters);
    const rows: Cell[][] = [];
    for (let at = 0; at < result.chunkCount; at += 1) {
      for (const row of result.getChunk(at).getRows()) rows.push(row.map(fromDuckdb));
    }
    return rows;
  }

  /** Portions of rows, read as they are asked for. No other statement may run meanwhile. */
  async *stream(sql: string, ...parameters: readonly Parameter[]): AsyncGenerator<Cell[][]> {
    const statement = await this.#bound(sql, parameters);
    const result = await statement.stream();
    for (;;) {
      const chunk = await result.fetchChunk();
      if (chunk === null || chunk.rowCount === 0) return;
      yield chunk.getRows().map((row) => row.map(fromDuckdb));
    }
  }

  /** Several statements without parameters, as a migration has them. */
  async script(sql: string): Promise<void> {
    await this.#connection.run(sql);
  }

  close(): void {
    for (const statement of this.#statements.values()) statement.destroySync();
    this.#statements.clear();
    this.#connection.closeSync();
  }

  async #result(sql: string, parameters: readonly Parameter[]): Promise<DuckDBMaterializedResult> {
    const statement = await this.#bound(sql, parameters);
    try {
      return await statement.run();
    } finally {
      if (!this.#statements.has(sql)) statement.destroySync();
    }
  }

  async #bound(sql: string, parameters: readonly Parameter[]): Promise<DuckDBPreparedStatement> {
    const statement = this.#statements.get(sql) ?? (await this.#connection.prepare(sql));
    if (parameters.length > 0 || WITHOUT_PLAN.has(sql)) this.#keep(sql, statement);
    for (const [at, parameter] of parameters.entries()) bind(statement, at + 1, parameter);
    return statement;
  }

  #keep(sql: string, statement: DuckDBPreparedStatement): void {
    // The last one used stands last.
    this.#statements.delete(sql);
    this.#statements.set(sql, statement);
    const [oldest] = this.#statements;
    if (this.#statements.size <= STATEMENTS_MAX || oldest === undefined) return;
    this.#statements.delete(oldest[0]);
    oldest[1].destroySync();
  }
}

function bind(statement: DuckDBPreparedStatement, at: number, parameter: Parameter): void {
  if (parameter === null) return statement.bindNull(at);
  if (typeof parameter !== 'object') {
    const type = typeOf(parameter);
    return statement.bindValue(at, toDuckdb(type, parameter), duckdbType(type));
  }
  const type = typeOf(parameter[0]);
  const values = parameter.map((cell) => toDuckdb(type, cell));
  statement.bindList(at, values, LIST(duckdbType(type)));
}

const typeOf = (cell: number | string | null | undefined): CellType =>
  typeof cell === 'string' ? 'varchar' : 'bigint';
