/** The connections that only read. */
import type postgres from 'postgres';
import { connect, type ConnectionSettings, type Run, runOn } from './connection.ts';
import { breaksConnection, unavailable } from './failure.ts';

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

export class ReadPool {
  readonly #settings: ConnectionSettings;
  readonly #sql: postgres.Sql;

  constructor(settings: ConnectionSettings) {
    this.#settings = settings;
    this.#sql = connect(settings, SESSION, { max: CONNECTIONS_MAX, idle_timeout: IDLE_SECONDS });
  }

  readonly run: Run = (statement, parameters) =>
    twice(() => runOn(this.#sql)(statement, parameters));

  /** Several statements that see one moment. */
  snapshot<T>(use: (run: Run) => Promise<T>): Promise<T> {
    return twice(
      async () => (await this.#sql.begin(SNAPSHOT, (sql) => use(runOn(sql)))) as unknown as T,
    );
  }

  /** The same for as long as the reader takes, so on a connection of its own. */
  async *stream<T>(read: (run: Run) => AsyncIterable<T>): AsyncIterable<T> {
    const sql = connect(this.#settings, SESSION, { max: 1 });
    const run: Run = (statement, parameters) =>
      runOn(sql)(statement, parameters).catch((cause: unknown) => {
        throw unavailable(cause);
      });
    try {
      await run(`begin ${SNAPSHOT}`, []);
      yield* read(run);
    } finally {
      await sql.end({ timeout: 1 });
    }
  }

  close(): Promise<void> {
    return this.#sql.end({ timeout: 1 });
  }
}

/** A connection of the pool may have died since it was last used; reading can simply be repeated. */
async function twice<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (first) {
    if (!breaksConnection(first)) throw unavailable(first);
    return read().catch((cause: unknown) => {
      throw unavailable(cause);
    });
  }
}
