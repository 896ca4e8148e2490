/**
 * Where the state of the scheduler is kept: one port and its adapters (memory, DuckDB, PostgreSQL), their
 * migrations, and moving the content of one store to another. Decisions are not made here, they are only made
 * durable; nothing outside this room speaks SQL about jobs and tasks.
 */
export { migrateDuckdb, migratePostgres, openDuckdbStore, openPostgresStore } from './adapters.ts';
export type { DuckdbOptions } from './duckdb/duckdb.ts';
export { type MemoryOptions, type MemoryStore, openMemoryStore } from './memory/memory.ts';
export type { Migrations, MigrationStatus } from './migrations.ts';
export { exportStore, importStore, type RowCounts } from './move.ts';
export type { PostgresOptions, PostgresStore } from './postgres/open.ts';
export { assertClusterable, rewound } from './refusals.ts';
export * from './store.ts';
