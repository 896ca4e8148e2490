/** Which store a command means: a PostgreSQL database, or the DuckDB file of a single node. */
import { existsSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Command } from 'commander';
import { MillraceError } from '../scheduler/core/index.ts';
import { pathError } from './local-path.ts';
import type { Migrations, MigrationStatus, Store } from '../scheduler/store/index.ts';
import type { StorePlace } from '../node/thread/index.ts';
import { makePrivateFolder } from '../kit/index.ts';

/** One that other processes can find. */
export type LastingPlace = Exclude<StorePlace, { readonly kind: 'memory' }>;

const DATA = './.millrace';
const FILE = 'millrace.duckdb';

export function declareStore(command: Command): void {
  command
    .option('--database <url>', 'a PostgreSQL database (or MILLRACE_DATABASE)')
    .option('--data <dir>', `the data folder of a single node (or MILLRACE_DATA; default ${DATA})`);
}

/** Flags win over the environment; naming both kinds with flags is a mistake. */
export function storePlace(
  options: { readonly database?: string; readonly data?: string },
  environment: NodeJS.ProcessEnv,
): LastingPlace {
  if (options.database !== undefined && options.data !== undefined) {
    throw new MillraceError({
      code: 'bad_input',
      what: '--database and --data cannot be combined: they select different stores.',
      todo: 'Use only one of them.',
    });
  }
  const url =
    options.database ?? (options.data === undefined ? environment['MILLRACE_DATABASE'] : undefined);
  if (url !== undefined && url !== '') return { kind: 'postgres', url: checkedUrl(url) };
  return { kind: 'duckdb', path: join(options.data ?? environment['MILLRACE_DATA'] ?? DATA, FILE) };
}

function checkedUrl(url: string): string {
  if (/^postgres(ql)?:\/\//.test(url)) return url;
  // The text may contain a password, so it is not repeated.
  throw new MillraceError({
    code: 'bad_input',
    what: 'The database is not a PostgreSQL URL.',
    todo: 'Use the form postgres://user@host:5432/name.',
  });
}

/** A store that must be there already: looking at one must not make an empty one. */
export async function openExisting(place: LastingPlace): Promise<Store> {
  if (place.kind === 'duckdb') requireFile(place.path);
  return open(place, false);
}

/** A store to write to: made and brought up to date if need be. */
export async function openOrCreate(place: LastingPlace): Promise<{
  readonly store: Store;
  /** Once closed: takes away a file that was made here. */ readonly discard: () => void;
}> {
  makeFolderFor(place);
  if (place.kind === 'postgres') return { store: await open(place, true), discard: () => {} };
  const { path } = place;
  const isNew = !existsSync(path);
  const store = await open(place, true);
  const discard = (): void => {
    if (isNew) for (const file of [path, `${path}.wal`]) rmSync(file, { force: true });
  };
  return { store, discard };
}

async function open(place: LastingPlace, migrate: boolean): Promise<Store> {
  const { openDuckdbStore, openPostgresStore } = await import('../scheduler/store/index.ts');
  if (place.kind === 'postgres') return openPostgresStore({ url: place.url, migrate });
  return openDuckdbStore({ path: place.path, migrate });
}

export async function migrateStore(
  place: LastingPlace,
  mayCreate: boolean,
  use: (migrations: Migrations) => Promise<MigrationStatus>,
): Promise<MigrationStatus> {
  const { migrateDuckdb, migratePostgres } = await import('../scheduler/store/index.ts');
  if (place.kind === 'postgres') return migratePostgres({ url: place.url }, use);
  if (mayCreate) makeFolder(dirname(place.path));
  else requireFile(place.path);
  return migrateDuckdb({ path: place.path }, use);
}

/** Of a store that may be made. */
export function makeFolderFor(place: LastingPlace): void {
  if (place.kind === 'duckdb') makeFolder(dirname(place.path));
}

function makeFolder(folder: string): void {
  try {
    makePrivateFolder(folder);
  } catch (error) {
    throw pathError(error, `Cannot use ${folder} as the folder of a store`);
  }
}

function requireFile(path: string): void {
  if (existsSync(path)) return;
  throw new MillraceError({
    code: 'bad_input',
    what: `No store exists at ${path}.`,
    todo: 'Give its folder with --data, or a PostgreSQL database with --database.',
  });
}
