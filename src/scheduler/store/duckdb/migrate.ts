/** For `millrace migrate`: opens the file, does one thing with its migrations, closes it. */
import { catchUp } from '../journal/catch-up.ts';
import type { Migrations, MigrationStatus } from '../migrations.ts';
import { openTables } from './duckdb.ts';
import { openFile } from './file.ts';
import { filledJournal } from './journal-file.ts';
import { migrationsIn } from './ledger.ts';

export async function migrateDuckdb(
  { path }: { readonly path: string },
  use: (migrations: Migrations) => Promise<MigrationStatus>,
): Promise<MigrationStatus> {
  return use({
    status: () => within(path, (migrations) => migrations.status()),
    up: (to) => within(path, (migrations) => migrations.up(to)),
    down: async (to) => {
      // Older builds know nothing of a journal.
      if (filledJournal(path) !== undefined) await foldJournal(path);
      return within(path, (migrations) => migrations.down(to));
    },
  });
}

async function within<T>(path: string, use: (migrations: Migrations) => Promise<T>): Promise<T> {
  const file = await openFile(path);
  try {
    return await use(migrationsIn(file.writer));
  } finally {
    await file.close();
  }
}

async function foldJournal(path: string): Promise<void> {
  const tables = await openTables({ path, migrate: false });
  try {
    for (const shard of await tables.shardsBehind()) await catchUp(tables, shard);
  } finally {
    await tables.close();
  }
}
