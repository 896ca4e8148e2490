/**
 * Where the state of the scheduler is kept: one port and its adapters (memory, DuckDB, PostgreSQL), their
 * migrations, and moving the content of one store to another. Decisions are not made here, they are only made
 * durable; nothing outside this room speaks SQL about jobs and tasks.
 */
export { migrateDuckdb, migratePostgres, openDuckdbStore, openPostgresStore } from './adapters.ts';
export { journaled } from './journal/journaled-store.ts';
export { unpackBatch } from './journal/pack.ts';
export type { NewRecord } from './journal/port.ts';
export { type MemoryStore, openMemoryStore } from './memory/memory.ts';
export type { Migrations, MigrationStatus } from './migrations.ts';
export { exportStore, importStore } from './move.ts';
export type { PostgresStore } from './postgres/open.ts';
export { rewound } from './refusals.ts';
export * from './store.ts';
export { LOG_LEVELS } from './task-log.ts';
export type { LogRow, NumberedLogRow } from './task-log.ts';
