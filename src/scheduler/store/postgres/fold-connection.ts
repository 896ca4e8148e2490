/** The connection on which the tables follow the journal, so that commits do not wait for that. */
import { systemClock, withDeadline } from '../../../kit/index.ts';
import type { Values } from './codec.ts';
import {
  connectOnce,
  type ConnectionSettings,
  type OneConnection,
  type Parameters,
  type Session,
} from './connection.ts';
import { unavailable } from './failure.ts';
import { BY_KEY } from './leader-connection.ts';

/** Generous: a fold has up to a hundred thousand rows. After this long the network is gone. */
const LIMIT_MS = 60_000;
/** A process that is stopped between a statement and the commit holds the row that says how far the tables are. The next
 * leader waits for that row, so PostgreSQL ends such a transaction well before a term can be over. */
const idleMs = (ttlMs: number): number => Math.max(1, Math.floor(ttlMs * 0.4));
const session = (ttlMs: number): Session => ({
  ...BY_KEY,
  statement_timeout: String(LIMIT_MS / 2),
  idle_in_transaction_session_timeout: String(idleMs(ttlMs)),
});
/** What a slow server may take for a byte. */
const MS_A_BYTE = 1 / 500;
const IDLE_SECONDS = 60;

export class FoldConnection {
  readonly #settings: ConnectionSettings;
  #connection: OneConnection | null = null;
  #turn: Promise<unknown> = Promise.resolve();
  #isClosed = false;

  constructor(settings: ConnectionSettings) {
    this.#settings = settings;
  }

  /** One statement as a transaction. One at a time. */
  run(statement: string, parameters: Parameters): Promise<readonly Values[]> {
    // Behind a pooler the transaction is ours to open.
    if (this.#settings.isPooled === true) {
      return this.transaction(({ run }) => run(statement, parameters));
    }
    return this.#inTurn(({ run }) => run(statement, parameters));
  }

  /** One at a time. */
  transaction<T>(act: (connection: OneConnection) => Promise<T>): Promise<T> {
    return this.#inTurn(async (connection) => {
      const { begin, run } = connection;
      await begin();
      try {
        const answer = await act(connection);
        await run('commit', []);
        return answer;
      } catch (cause) {
        await run('rollback', []).catch(() => {});
        throw cause;
      }
    });
  }

  /** One that is stopped while it sends rows is not idle to PostgreSQL, and holds the same row. */
  statementMs(bytes: number): number {
    return Math.min(LIMIT_MS / 2, idleMs(this.#settings.ttlMs) + Math.ceil(bytes * MS_A_BYTE));
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#connection?.end();
  }

  #inTurn<T>(act: (connection: OneConnection) => Promise<T>): Promise<T> {
    const answer = this.#turn.then(() => this.#connected(act));
    this.#turn = answer.catch(() => {});
    return answer;
  }

  async #connected<T>(act: (connection: OneConnection) => Promise<T>): Promise<T> {
    if (this.#isClosed) throw unavailable(new Error('the store was closed'));
    if (this.#connection?.isLost() !== false) {
      this.#connection = connectOnce(this.#settings, session(this.#settings.ttlMs), {
        idle_timeout: IDLE_SECONDS,
      });
    }
    const connection = this.#connection;
    const tooLong = (): Error => {
      void connection.end(0);
      return new Error(`no answer within ${LIMIT_MS} ms`);
    };
    return withDeadline(systemClock, LIMIT_MS, act(connection), tooLong);
  }
}
