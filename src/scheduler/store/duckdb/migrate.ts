/** For `millrace migrate`: opens the file, does one thing with its migrations, closes it. */
import type { Migrations, MigrationStatus } from '../migrations.ts';
import { openFile } from './file.ts';
import { migrationsIn } from './ledger.ts';

export async function migrateDuckdb(
  { path }: { readonly path: string },
  use: (migrations: Migrations) => Promise<MigrationStatus>,
): Promise<MigrationStatus> {
  const file = await openFile(path);
  try {
    return await use(migrationsIn(file.writer));
  } finally {
    await file.close();
  }
}
