/** The connections that only read. */
import { systemClock, withDeadline } from '../../../kit/index.ts';
import { connectOnce, type ConnectionSettings, type Run, type Session } from './connection.ts';
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

/** Apart, because a snapshot may hold its connection for minutes. */
interface Connections {
  readonly statements: ReadConnections;
  readonly snapshots: ReadConnections;
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
      this.#inTime(this.#limits.statementMs, ({ statements }) =>
        // Behind a pooler a statement needs a transaction to have its settings in.
        this.#settings.isPooled === true
          ? statements.within('read only', (run) => run(statement, parameters))
          : statements.on(({ run }) => run(statement, parameters)),
      ),
    );

  /** Several statements that see one moment. */
  snapshot<T>(use: (run: Run) => Promise<T>): Promise<T> {
    return this.#twice(() =>
      this.#inTime(this.#limits.snapshotMs, ({ snapshots }) => snapshots.within(SNAPSHOT, use)),
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
    const { statements, snapshots } = this.#connections;
    await Promise.all([statements.close(1), snapshots.close(1)]);
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
    const open = () => connectOnce(this.#settings, session, { idle_timeout: IDLE_SECONDS });
    return {
      statements: new ReadConnections(CONNECTIONS_MAX, open),
      snapshots: new ReadConnections(CONNECTIONS_MAX, open),
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
    void connections.statements.close(0);
    void connections.snapshots.close(0);
  }
}
