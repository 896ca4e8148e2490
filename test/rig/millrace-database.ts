import { onTestFinished } from 'vitest';
import { openPostgresStore, type PostgresStore } from '../../src/scheduler/store/index.ts';
import { type FreshDatabase, freshDatabase, type Template } from './postgres.ts';

const migrated: Template = {
  name: 'millrace_migrated',
  prepare: async (url) => (await openPostgresStore({ url, migrate: true })).close(),
};

/** A database of this build's version, with nothing in it. */
export function millraceDatabase(): Promise<FreshDatabase> {
  return freshDatabase(migrated);
}

/** A store on a database of its own; both go with the test. */
export async function openTestStore(
  options: { readonly ttlHintMs?: number } = {},
): Promise<{ readonly store: PostgresStore; readonly url: string }> {
  const database = await millraceDatabase();
  onTestFinished(() => database.drop());
  const store = await openPostgresStore({ url: database.url, ...options });
  onTestFinished(() => store.close());
  return { store, url: database.url };
}
