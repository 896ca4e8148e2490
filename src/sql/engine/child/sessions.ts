/** Connections that one call leaves to the next. Nothing but the time zone was ever set on any of them. */
import type { DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';

export interface Session {
  readonly connection: DuckDBConnection;
  /** Null while nobody has set it. */
  timeZone: string | null;
}

/** Those that are at work do not count. */
const IDLE_MAX = 4;

export class Sessions {
  readonly #instance: DuckDBInstance;
  readonly #idle: Session[] = [];

  constructor(instance: DuckDBInstance) {
    this.#instance = instance;
  }

  /** For the one who asks alone, until it is given back or closed. */
  async take(): Promise<Session> {
    return this.#idle.pop() ?? { connection: await this.#instance.connect(), timeZone: null };
  }

  giveBack(session: Session): void {
    if (this.#idle.length < IDLE_MAX) this.#idle.push(session);
    else session.connection.closeSync();
  }

  /** Those at work are closed by whoever has them. */
  close(): void {
    for (const { connection } of this.#idle.splice(0)) connection.closeSync();
  }
}
