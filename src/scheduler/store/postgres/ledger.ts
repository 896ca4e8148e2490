/** Migrations of a PostgreSQL database: one process at a time, each script in one transaction. */
import type postgres from 'postgres';
import { MillraceError } from '../../core/index.ts';
import {
  type Ledger,
  type Migration,
  type Migrations,
  migrationsOf,
  readMigrations,
} from '../migrations.ts';
import { connect, type ConnectionSettings, localSettings } from './connection.ts';
import { migrationFailure } from './failure.ts';

/** Any number that no other program uses: "millrace" read as bytes. */
const LOCK = '7883951835720016741';

const SESSION = { statement_timeout: '0', lock_timeout: '0' };

const LEDGER = `
  create schema if not exists millrace;
  create table if not exists millrace.migration (
    version integer primary key,
    name text not null,
    applied_at timestamptz not null default now()
  );`;

/** Opens a connection for the migrations, and closes it after `use`. */
export async function withMigrations<T>(
  settings: ConnectionSettings,
  use: (migrations: Migrations) => Promise<T>,
): Promise<T> {
  const sql = connect(settings, SESSION, { max: 1 });
  const all = readMigrations(new URL('migrations/', import.meta.url));
  try {
    return await use(migrationsOf(all, new PostgresLedger(sql, settings.isPooled === true)));
  } catch (cause) {
    throw migrationFailure(cause);
  } finally {
    await sql.end({ timeout: 1 });
  }
}

class PostgresLedger implements Ledger {
  readonly #sql: postgres.Sql;
  readonly #isPooled: boolean;

  constructor(sql: postgres.Sql, isPooled: boolean) {
    this.#sql = sql;
    this.#isPooled = isPooled;
  }

  /** The lock belongs to the session: the server frees it when the process dies. */
  async locked<T>(fn: () => Promise<T>): Promise<T> {
    if (this.#isPooled) return this.#lockedWithin(fn);
    await this.#sql.unsafe(`select pg_advisory_lock(${LOCK})`);
    try {
      return await fn();
    } finally {
      await this.#sql.unsafe(`select pg_advisory_unlock(${LOCK})`);
    }
  }

  /** Behind a pooler a session's lock would be left on some connection, out of reach: there all scripts
   * are one transaction, which the lock ends with. */
  async #lockedWithin<T>(fn: () => Promise<T>): Promise<T> {
    await this.#sql.unsafe(
      `begin; ${localSettings(SESSION)} select pg_advisory_xact_lock(${LOCK})`,
    );
    try {
      const answer = await fn();
      await this.#sql.unsafe('commit');
      return answer;
    } catch (cause) {
      await this.#sql.unsafe('rollback').catch(() => {});
      throw cause;
    }
  }

  async version(): Promise<number> {
    const [ledger] = await this.#sql.unsafe(`select to_regclass('millrace.migration') as it`);
    if (ledger?.['it'] === null) return 0;
    const [row] = await this.#sql.unsafe(
      'select coalesce(max(version), 0) as version from millrace.migration',
    );
    return row?.['version'] as number;
  }

  /**
   * A script is one message, which makes it one transaction. The entry in the ledger comes first: if
   * the lock was lost with the connection, the other process's entry is in the way.
   */
  async apply({ version, name, up }: Migration): Promise<void> {
    if (version > 1) await this.#refuseUnderLeader();
    await this.#sql.unsafe(`${version === 1 ? LEDGER : ''}
      insert into millrace.migration (version, name) values (${version}, '${name}');
      ${up}`);
  }

  async revert({ version, down }: Migration): Promise<void> {
    await this.#refuseUnderLeader();
    const last = version === 1 ? 'drop table millrace.migration; drop schema millrace;' : '';
    await this.#sql.unsafe(`delete from millrace.migration where version = ${version};
      ${down};
      ${last}`);
  }

  /** An active leader expects the version that it started with. */
  async #refuseUnderLeader(): Promise<void> {
    const [leader] = await this.#sql.unsafe(
      'select node_id from millrace.leader where not released and expires_at > now()',
    );
    if (leader === undefined) return;
    throw new MillraceError({
      code: 'conflict',
      what: `Node ${String(leader['node_id'])} is the leader on this database and uses its current version.`,
      todo: 'Stop it, then migrate.',
    });
  }
}
