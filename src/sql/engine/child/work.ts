/** The connections of one call, which end with it and can be interrupted. */
import { quotedText } from '../../plan/index.ts';
import type {
  DuckDBAppender,
  DuckDBConnection,
  DuckDBDataChunk,
  DuckDBInstance,
  DuckDBMaterializedResult,
  DuckDBType,
} from '@duckdb/node-api';
import type { Fault } from '../messages.ts';
import { type Doing, faultOf } from './fault.ts';
import { typesOf } from './functions.ts';
import type { Session, Sessions } from './sessions.ts';

/** Fails a call with a fault that the parent turns into an error. */
export class Failed extends Error {
  readonly fault: Fault;

  constructor(fault: Fault) {
    super(fault.what);
    this.fault = fault;
  }
}

/** DuckDB ignores an interrupt between two statements, so it is repeated. */
const REPEAT_MS = 20;

export class Work {
  readonly #connections = new Set<DuckDBConnection>();
  #repeat: NodeJS.Timeout | null = null;
  #isAborted = false;
  #onAbort: () => void = () => {};
  #isOver = false;

  /** Opens a connection of its own: what it sets and creates is gone when the call ends. */
  async connect(instance: DuckDBInstance, doing: Doing): Promise<Connection> {
    const connection = await instance.connect();
    this.#connections.add(connection);
    return new Connection(this, connection, doing);
  }

  /**
   * Takes a connection that an earlier call may have left. `giveBack` leaves it to the next call; otherwise it is
   * closed.
   */
  async take(sessions: Sessions, doing: Doing): Promise<SessionConnection> {
    const session = await sessions.take();
    this.#connections.add(session.connection);
    const giveBack = (): void => {
      // An interrupt may still follow, and must not reach the next call.
      if (this.#isAborted || !this.#connections.delete(session.connection)) return;
      sessions.giveBack(session);
    };
    return new SessionConnection(this, session, doing, giveBack);
  }

  /** Interrupts the connections that this call still has, and no others. */
  abort(): void {
    if (this.#isAborted || this.#isOver) return;
    this.#isAborted = true;
    this.#onAbort();
    const interrupt = (): void => {
      for (const connection of this.#connections) connection.interrupt();
    };
    interrupt();
    this.#repeat = setInterval(interrupt, REPEAT_MS);
  }

  end(): void {
    this.#isOver = true;
    if (this.#repeat !== null) clearInterval(this.#repeat);
    for (const connection of this.#connections) connection.closeSync();
    this.#connections.clear();
  }

  /** Called once, when the call is aborted. */
  onAbort(act: () => void): void {
    this.#onAbort = act;
  }

  checkAborted(): void {
    if (this.#isAborted) throw new Failed({ code: 'interrupted', what: 'Interrupted.' });
  }
}

export class Connection {
  readonly #work: Work;
  readonly #connection: DuckDBConnection;
  readonly #doing: Doing;

  constructor(work: Work, connection: DuckDBConnection, doing: Doing) {
    this.#work = work;
    this.#connection = connection;
    this.#doing = doing;
  }

  run(sql: string): Promise<DuckDBMaterializedResult> {
    return this.#guarded(() => this.#connection.run(sql));
  }

  /** The rows of a small result whose columns are all VARCHAR. */
  async texts(sql: string): Promise<(string | null)[][]> {
    const chunks = chunksOf(await this.run(sql));
    return chunks.flatMap((chunk) => chunk.getRows()) as (string | null)[][];
  }

  /** All of a result that fits into memory. */
  async materialized(sql: string): Promise<readonly DuckDBDataChunk[]> {
    return chunksOf(await this.run(sql));
  }

  /** The first column of a result that fits into memory. */
  async firstColumn(sql: string): Promise<readonly unknown[]> {
    return chunksOf(await this.run(sql)).flatMap((chunk) => chunk.getColumnValues(0));
  }

  /** The first column, one chunk at a time. */
  async *column(sql: string): AsyncGenerator<readonly unknown[]> {
    const result = await this.#guarded(() => this.#connection.stream(sql));
    for (;;) {
      const chunk = await this.#guarded(() => result.fetchChunk());
      if (chunk === null || chunk.rowCount === 0) return;
      yield chunk.getColumnValues(0);
    }
  }

  /** All columns, one chunk at a time. */
  async *chunks(sql: string): AsyncGenerator<DuckDBDataChunk> {
    const result = await this.#guarded(() => this.#connection.stream(sql));
    for (;;) {
      const chunk = await this.#guarded(() => result.fetchChunk());
      if (chunk === null || chunk.rowCount === 0) return;
      yield chunk;
    }
  }

  appender(table: string): Promise<DuckDBAppender> {
    return this.#guarded(() => this.#connection.createAppender(table));
  }

  typesOf(types: readonly string[]): Promise<DuckDBType[]> {
    return this.#guarded(() => typesOf(this.#connection, types));
  }

  /** Runs something else on the connection, with errors as those of a statement. */
  guard<T>(act: () => Promise<T>): Promise<T> {
    return this.#guarded(act);
  }

  async #guarded<T>(act: () => Promise<T>): Promise<T> {
    this.#work.checkAborted();
    try {
      return await act();
    } catch (error) {
      throw new Failed(faultOf(error, this.#doing));
    }
  }
}

/** All of a result that is there already. DuckDB's own functions for that go to another thread and back for each chunk, and for the end. */
function chunksOf(result: DuckDBMaterializedResult): readonly DuckDBDataChunk[] {
  return Array.from({ length: result.chunkCount }, (_, at) => result.getChunk(at));
}

export class SessionConnection extends Connection {
  /** Declares that nothing runs on it any more, and that nothing but the time zone was set. */
  readonly giveBack: () => void;
  readonly #session: Session;

  constructor(work: Work, session: Session, doing: Doing, giveBack: () => void) {
    super(work, session.connection, doing);
    this.giveBack = giveBack;
    this.#session = session;
  }

  /** Sets the time zone if it differs, and runs `setup`, in one call. */
  async begin(timeZone: string, setup = ''): Promise<void> {
    const isSet = this.#session.timeZone === timeZone;
    const statements = isSet ? setup : `SET TimeZone = ${quotedText(timeZone)};\n${setup}`;
    if (statements === '') return;
    this.#session.timeZone = null;
    await this.run(statements);
    this.#session.timeZone = timeZone;
  }
}
