/** The connections that only read. */
import type postgres from 'postgres';
import { systemClock, withDeadline } from '../../../kit/index.ts';
import {
  connect,
  connectOnce,
  type ConnectionSettings,
  type Run,
  runOn,
  type Session,
} from './connection.ts';
import { breaksConnection, unavailable } from './failure.ts';
import { ReadConnections } from './read-connections.ts';

const CONNECTIONS_MAX = 4;
const IDLE_SECONDS = 60;
const SNAPSHOT = 'isolation level repeatable read read only';

const SESSION = {
  default_transaction_read_only: 'on',
  // Arrays of any length and any age to look back: a plan for unknown values is often the wrong one,
  // and planning these short statements costs less than that.
  plan_cache_mode: 'force_custom_plan',
  // Before a table has statistics, this is what the planner would rather do than follow an index in
  // its order (seen: each portion of a load read and sorted a million rows).
  enable_bitmapscan: 'off',
};

/** Generous: they are for a network that is silently gone, which TCP notices much later. */
export interface ReadLimits {
  readonly statementMs: number;
  /** For all of a snapshot: loading the jobs of a cluster takes its time. */
  readonly snapshotMs: number;
}
const LIMITS: ReadLimits = { statementMs: 30_000, snapshotMs: 300_000 };

interface Connections {
  readonly sql: postgres.Sql;
  readonly readers: ReadConnections;
}

export class ReadPool {
  readonly #settings: ConnectionSettings;
  readonly #limits: ReadLimits;
  #connections: Connections;
  #closed = false;

  constructor(settings: ConnectionSettings, limits: ReadLimits = LIMITS) {
    this.#settings = settings;
    this.#limits = limits;
    this.#connections = this.#connect();
  }

  readonly run: Run = (statement, parameters) =>
    this.#twice(() =>
      this.#inTime(this.#limits.statementMs, ({ sql, readers }) =>
        // Behind a pooler a statement needs a transaction to have its settings in.
        this.#settings.isPooled === true
          ? readers.within('read only', (run) => run(statement, parameters))
          : runOn(sql)(statement, parameters),
      ),
    );

  /** Several statements that see one moment. */
  snapshot<T>(use: (run: Run) => Promise<T>): Promise<T> {
    return this.#twice(() =>
      this.#inTime(this.#limits.snapshotMs, ({ readers }) => readers.within(SNAPSHOT, use)),
    );
  }

  /** The same for as long as the reader takes, so on a connection of its own. */
  async *stream<T>(read: (run: Run) => AsyncIterable<T>): AsyncIterable<T> {
    const connection = connectOnce(this.#settings, SESSION);
    const run: Run = (statement, parameters) =>
      connection.run(statement, parameters).catch((cause: unknown) => {
        throw unavailable(cause);
      });
    try {
      await connection.begin(SNAPSHOT).catch((cause: unknown) => {
        throw unavailable(cause);
      });
      yield* read(run);
    } finally {
      await connection.end();
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    const { sql, readers } = this.#connections;
    await Promise.all([sql.end({ timeout: 1 }), readers.close(1)]);
  }

  /** A connection of the pool may have died since it was last used; reading can simply be repeated. */
  async #twice<T>(read: () => Promise<T>): Promise<T> {
    try {
      return await this.#unlessClosed(read);
    } catch (first) {
      if (!breaksConnection(first)) throw unavailable(first);
      return this.#unlessClosed(read).catch((cause: unknown) => {
        throw unavailable(cause);
      });
    }
  }

  /** A read that `close` interrupted would otherwise open a connection that is never closed. */
  #unlessClosed<T>(read: () => Promise<T>): Promise<T> {
    return this.#closed ? Promise.reject(unavailable(new Error('the store was closed'))) : read();
  }

  #connect(): Connections {
    // The server stops a statement that is not waited for any more.
    const session: Session = { ...SESSION, statement_timeout: String(this.#limits.snapshotMs) };
    const idle = { idle_timeout: IDLE_SECONDS };
    return {
      sql: connect(this.#settings, session, { ...idle, max: CONNECTIONS_MAX }),
      readers: new ReadConnections(CONNECTIONS_MAX, () =>
        connectOnce(this.#settings, session, idle),
      ),
    };
  }

  /** After silence all connections are given up: other reads on them are repeated on new ones. */
  #inTime<T>(limitMs: number, read: (on: Connections) => Promise<T>): Promise<T> {
    const connections = this.#connections;
    return withDeadline(systemClock, limitMs, read(connections), () => {
      this.#replace(connections);
      return unavailable(new Error(`no answer within ${limitMs} ms`));
    });
  }

  #replace(connections: Connections): void {
    if (this.#closed || this.#connections !== connections) return;
    this.#connections = this.#connect();
    void connections.sql.end({ timeout: 0 });
    void connections.readers.close(0);
  }
}
