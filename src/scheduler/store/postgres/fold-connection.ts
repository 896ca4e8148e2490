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
/** A process that is stopped between its statement and the commit holds the row that says how far the tables are. The next
 * leader waits for that row, so PostgreSQL ends such a transaction well before a term can be over. */
const session = (ttlMs: number): Session => ({
  ...BY_KEY,
  statement_timeout: String(LIMIT_MS / 2),
  idle_in_transaction_session_timeout: String(Math.max(1, Math.floor(ttlMs * 0.4))),
});
const IDLE_SECONDS = 60;

export class FoldConnection {
  readonly #settings: ConnectionSettings;
  #connection: OneConnection | null = null;
  #turn: Promise<unknown> = Promise.resolve();
  #isClosed = false;

  constructor(settings: ConnectionSettings) {
    this.#settings = settings;
  }

  /** One statement, one transaction. One at a time: behind a pooler the transaction is ours to open. */
  run(statement: string, parameters: Parameters): Promise<readonly Values[]> {
    const answer = this.#turn.then(() => this.#run(statement, parameters));
    this.#turn = answer.catch(() => {});
    return answer;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#connection?.end();
  }

  async #run(statement: string, parameters: Parameters): Promise<readonly Values[]> {
    if (this.#isClosed) throw unavailable(new Error('the store was closed'));
    if (this.#connection?.isLost() !== false) {
      this.#connection = connectOnce(this.#settings, session(this.#settings.ttlMs), {
        idle_timeout: IDLE_SECONDS,
      });
    }
    const connection = this.#connection;
    const answer = this.#send(connection, statement, parameters);
    const tooLong = (): Error => {
      void connection.end(0);
      return new Error(`no answer within ${LIMIT_MS} ms`);
    };
    return withDeadline(systemClock, LIMIT_MS, answer, tooLong);
  }

  async #send(
    { begin, run }: OneConnection,
    statement: string,
    parameters: Parameters,
  ): Promise<readonly Values[]> {
    if (this.#settings.isPooled !== true) return run(statement, parameters);
    await begin();
    try {
      const rows = await run(statement, parameters);
      await run('commit', []);
      return rows;
    } catch (cause) {
      await run('rollback', []).catch(() => {});
      throw cause;
    }
  }
}
