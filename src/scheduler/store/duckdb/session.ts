/**
 * One connection, one thing at a time: statements, parameters, and rows straight into tables. What
 * they say is the business of others.
 *
 * DuckDB 1.5 keeps the plan of a prepared statement without parameters, and with it what it knew of
 * the tables when the plan was made: a row outside the minimum and maximum of then is not found
 * (duckdb issues 23704, 24182), and a join that was planned while a table was empty builds its hash
 * table on all of it for ever after (measured: 43 ms instead of 0.7 among a million rows). With
 * parameters it plans anew each time. So statements without any are not kept, and file.ts turns off
 * the pass that looks at minimum and maximum, as later versions do for all prepared statements.
 */
import { setImmediate as turnOfOthers } from 'node:timers/promises';
import {
  type DuckDBConnection,
  DuckDBDataChunk,
  type DuckDBPreparedStatement,
  type DuckDBType,
  LIST,
  type DuckDBMaterializedResult,
} from '@duckdb/node-api';
import {
  type Cell,
  type CellType,
  type Column,
  duckdbType,
  fromDuckdb,
  toDuckdb,
} from './columns.ts';

/** A list of cells of any type, to be unnested by the statement. */
export interface TypedList {
  readonly type: CellType;
  readonly cells: readonly Cell[];
}

/** Numbers are bound as BIGINT and lists by their first item; the statement casts where that matters. */
export type Parameter =
  | number
  | string
  | null
  | readonly (number | null)[]
  | readonly string[]
  | TypedList;

const WITHOUT_PLAN: ReadonlySet<string> = new Set(['begin', 'commit', 'rollback']);

/** Rows of a portion: 256 without large texts take about a millisecond. */
const PORTION_ROWS = 256;
/** How long a portion should keep the thread. */
const PORTION_MS = 1;
/** Flushed after so much time: to flush takes as long again if texts are large, and 0.3 to 0.6 ms in any case. */
const FLUSH_MS = 3;

export class Session {
  readonly #connection: DuckDBConnection;
  readonly #catalog: string;
  readonly #statements = new Map<string, DuckDBPreparedStatement>();
  /** What lies in its temporary tables, see rows.ts. */
  readonly stages: Map<string, { readonly turn: number; readonly stale: number }> = new Map();
  #turn: Promise<unknown> = Promise.resolve();

  constructor(connection: DuckDBConnection, catalog: string) {
    this.#connection = connection;
    this.#catalog = catalog;
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

  /**
   * Rows go straight into a table: all its columns, in order. It is done by this thread, which also commits and answers,
   * so it is done in portions of about a millisecond.
   */
  async append<Row>(
    table: string,
    catalog: string | null,
    columns: readonly Pick<Column<Row>, 'type' | 'get'>[],
    rows: readonly Row[],
  ): Promise<void> {
    const appender = await this.#connection.createAppender(table, null, catalog ?? this.#catalog);
    const types = columns.map(({ type }) => duckdbType(type));
    let size = PORTION_ROWS;
    let filledMs = 0;
    try {
      for (let from = 0; from < rows.length;) {
        const portion = rows.slice(from, from + size);
        const beganAtMs = performance.now();
        appender.appendDataChunk(chunkOf(types, columns, portion));
        const tookMs = performance.now() - beganAtMs;
        from += portion.length;
        size = nextSize(size, tookMs);
        filledMs += tookMs;
        if (filledMs >= FLUSH_MS || from === rows.length) {
          appender.flushSync();
          filledMs = 0;
        }
        // Whatever else waits for this thread comes first.
        if (from < rows.length) await turnOfOthers();
      }
    } finally {
      appender.closeSync();
    }
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
    if (parameters.length > 0 || WITHOUT_PLAN.has(sql)) this.#statements.set(sql, statement);
    for (const [at, parameter] of parameters.entries()) bind(statement, at + 1, parameter);
    return statement;
  }
}

function chunkOf<Row>(
  types: readonly DuckDBType[],
  columns: readonly Pick<Column<Row>, 'type' | 'get'>[],
  rows: readonly Row[],
): DuckDBDataChunk {
  const chunk = DuckDBDataChunk.create(types, rows.length);
  for (const [at, { type, get }] of columns.entries()) {
    const vector = chunk.getColumnVector(at);
    for (const [row, item] of rows.entries()) vector.setItem(row, toDuckdb(type, get(item)));
    vector.flush();
  }
  return chunk;
}

/** Rows differ by a factor of a thousand in what they take, so the last portion tells how many the next one has. */
function nextSize(size: number, tookMs: number): number {
  if (tookMs > PORTION_MS) return Math.max(1, size >> 1);
  return tookMs < PORTION_MS / 2 ? Math.min(PORTION_ROWS, size * 2) : size;
}

function bind(statement: DuckDBPreparedStatement, at: number, parameter: Parameter): void {
  if (parameter === null) return statement.bindNull(at);
  if (typeof parameter !== 'object') {
    const type = typeOf(parameter);
    return statement.bindValue(at, toDuckdb(type, parameter), duckdbType(type));
  }
  const { type, cells } = isTypedList(parameter)
    ? parameter
    : { type: typeOf(parameter[0]), cells: parameter };
  const values = cells.map((cell) => toDuckdb(type, cell));
  statement.bindList(at, values, LIST(duckdbType(type)));
}

const typeOf = (cell: number | string | null | undefined): CellType =>
  typeof cell === 'string' ? 'varchar' : 'bigint';

function isTypedList(parameter: readonly unknown[] | TypedList): parameter is TypedList {
  return !Array.isArray(parameter);
}
