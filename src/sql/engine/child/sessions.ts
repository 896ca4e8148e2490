/** Connections that are reused between calls. Nothing but the time zone was ever set on them. */
import type { DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';

export interface Session {
  readonly connection: DuckDBConnection;
  /** Null if it was never set. */
  timeZone: string | null;
}

/** Not counting those in use. */
const IDLE_MAX = 4;

export class Sessions {
  readonly #instance: DuckDBInstance;
  readonly #idle: Session[] = [];

  constructor(instance: DuckDBInstance) {
    this.#instance = instance;
  }

  /** For the caller alone, until it is given back or closed. */
  async take(): Promise<Session> {
    return this.#idle.pop() ?? { connection: await this.#instance.connect(), timeZone: null };
  }

  giveBack(session: Session): void {
    if (this.#idle.length < IDLE_MAX) this.#idle.push(session);
    else session.connection.closeSync();
  }

  /** Connections in use are closed by their callers. */
  close(): void {
    for (const { connection } of this.#idle.splice(0)) connection.closeSync();
  }
}
