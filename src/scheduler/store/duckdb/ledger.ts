/** The ledger of migrations in a DuckDB file. One process owns it, so no further lock is needed. */
import type { Ledger, Migration, Migrations } from '../migrations.ts';
import { migrationsOf, readMigrations } from '../migrations.ts';
import { type Session } from './session.ts';
import { inTransaction } from './transaction.ts';

const LEDGER = 'millrace_migration';

export function migrationsIn(session: Session): Migrations {
  return migrationsOf(readMigrations(new URL('./migrations/', import.meta.url)), ledgerOf(session));
}

function ledgerOf(session: Session): Ledger {
  const entry = (migration: Migration) => [migration.version, migration.name];
  return {
    locked: (fn) => session.exclusively(fn),
    version: async () => {
      const tables = await session.rows(
        `select count(*) from duckdb_tables() where table_name = '${LEDGER}'`,
      );
      if (tables[0]?.[0] === 0) return 0;
      const rows = await session.rows(`select coalesce(max(version), 0) from ${LEDGER}`);
      return rows[0]?.[0] as number;
    },
    apply: async (migration) => {
      await change(session, async () => {
        await session.script(
          `create table if not exists ${LEDGER} (version integer not null, name varchar not null)`,
        );
        await session.script(migration.up);
        await session.run(`insert into ${LEDGER} values ($1, $2)`, ...entry(migration));
      });
    },
    revert: async (migration) => {
      await change(session, async () => {
        await session.script(migration.down);
        await session.run(
          `delete from ${LEDGER} where version = $1 and name = $2`,
          ...entry(migration),
        );
      });
    },
  };
}

/** Ends with a checkpoint: the log is not left with changed tables and rows to be replayed. */
async function change(session: Session, make: () => Promise<void>): Promise<void> {
  await inTransaction(session, make);
  await session.script('checkpoint');
}
