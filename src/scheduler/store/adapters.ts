/**
 * The adapters for databases, loaded when one is opened: each brings a library that takes longer to load
 * than everything else that a process in memory, or on the other database, needs.
 */
import type { DuckdbOptions } from './duckdb/duckdb.ts';
import type { Migrations, MigrationStatus } from './migrations.ts';
import type { PostgresOptions, PostgresStore } from './postgres/open.ts';
import type { Store } from './store.ts';

type Use = (migrations: Migrations) => Promise<MigrationStatus>;

export async function openDuckdbStore(options: DuckdbOptions): Promise<Store> {
  return (await import('./duckdb/duckdb.ts')).openDuckdbStore(options);
}

export async function migrateDuckdb(
  place: { readonly path: string },
  use: Use,
): Promise<MigrationStatus> {
  return (await import('./duckdb/migrate.ts')).migrateDuckdb(place, use);
}

export async function openPostgresStore(options: PostgresOptions): Promise<PostgresStore> {
  return (await import('./postgres/open.ts')).openPostgresStore(options);
}

export async function migratePostgres(
  place: Pick<PostgresOptions, 'url'>,
  use: Use,
): Promise<MigrationStatus> {
  return (await import('./postgres/open.ts')).migratePostgres(place, use);
}
