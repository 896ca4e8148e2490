/**
 * Where the state of the scheduler is kept: one port and its adapters (memory, DuckDB, PostgreSQL), their
 * migrations, and moving the content of one store to another. Decisions are not made here, they are only made
 * durable; nothing outside this room speaks SQL about jobs and tasks.
 */
export { type DuckdbOptions, openDuckdbStore } from './duckdb/duckdb.ts';
export { migrateDuckdb } from './duckdb/migrate.ts';
export { type MemoryOptions, openMemoryStore } from './memory/memory.ts';
export type { Migrations, MigrationStatus } from './migrations.ts';
export { exportStore, importStore, type RowCounts } from './move.ts';
export {
  migratePostgres,
  openPostgresStore,
  type PostgresOptions,
  type PostgresStore,
} from './postgres/open.ts';
export { assertClusterable } from './refusals.ts';
export * from './store.ts';
