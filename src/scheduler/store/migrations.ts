/**
 * Numbered migrations and the ledger of those that a database has had. Decides what is the same for every dialect:
 * which to run, in which order, and whether this build fits. A dialect brings its `Ledger`: how to lock, and how to
 * run one script and record it in one transaction.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { MillraceError } from '../core/index.ts';

export interface Migration {
  readonly version: number;
  readonly name: string;
  readonly up: string;
  readonly down: string;
}

/** Versions are numbered from 1 without gaps; 0 is an empty database. */
export interface MigrationStatus {
  readonly current: number;
  /** The newest that this build knows. */
  readonly latest: number;
  readonly pending: readonly string[];
}

export interface Migrations {
  status(): Promise<MigrationStatus>;
  /** Forward to `to`, by default to the latest. Does nothing when there already. */
  up(to?: number): Promise<MigrationStatus>;
  /** Back to `to`, by default one step. Rows of the tables that go are lost. */
  down(to?: number): Promise<MigrationStatus>;
}

export interface Ledger {
  /** Runs `fn` while no other process migrates this database. */
  locked<T>(fn: () => Promise<T>): Promise<T>;
  /** The version the database is at; 0 when it has no ledger yet. */
  version(): Promise<number>;
  /** The script and its entry in the ledger, in one transaction. */
  apply(migration: Migration): Promise<void>;
  revert(migration: Migration): Promise<void>;
}

/** Reads `0001-name.up.sql` and `0001-name.down.sql` from a folder, in order. */
export function readMigrations(folder: URL): readonly Migration[] {
  const names = readdirSync(folder)
    .filter((file) => file.endsWith('.up.sql'))
    .map((file) => file.slice(0, -'.up.sql'.length))
    .toSorted();
  return names.map((name, at) => {
    if (Number(name.slice(0, 4)) !== at + 1) throw badTarget(`${name} is not number ${at + 1}`);
    const read = (way: string): string =>
      readFileSync(new URL(`${name}.${way}.sql`, folder), 'utf8');
    return { version: at + 1, name, up: read('up'), down: read('down') };
  });
}

export function migrationsOf(all: readonly Migration[], ledger: Ledger): Migrations {
  const at = (current: number): MigrationStatus => {
    const pending = all.slice(current).map((migration) => migration.name);
    return { current, latest: all.length, pending };
  };
  const checked = (to: number): void => {
    if (Number.isInteger(to) && to >= 0 && to <= all.length) return;
    throw badTarget(`there is no version ${to}, this build knows 0 to ${all.length}`);
  };
  return {
    status: async () => at(await ledger.version()),
    up: async (to = all.length) => {
      checked(to);
      return ledger.locked(async () => {
        const current = await ledger.version();
        refuseNewer(at(current));
        for (const migration of all.slice(current, to)) await ledger.apply(migration);
        return at(Math.max(current, to));
      });
    },
    down: async (to) => {
      if (to !== undefined) checked(to);
      return ledger.locked(async () => {
        const current = await ledger.version();
        refuseNewer(at(current));
        const target = Math.min(current, to ?? Math.max(0, current - 1));
        for (const migration of all.slice(target, current).toReversed()) {
          await ledger.revert(migration);
        }
        return at(target);
      });
    },
  };
}

/** The check at boot: `store_version` unless the database is exactly what this build expects. */
export function requireCurrent(status: MigrationStatus): void {
  refuseNewer(status);
  if (status.current === status.latest) return;
  throw new MillraceError({
    code: 'store_version',
    what: `The database is at version ${status.current}, this build needs ${status.latest}.`,
    todo: 'Run `millrace migrate up`.',
  });
}

function refuseNewer({ current, latest }: MigrationStatus): void {
  if (current <= latest) return;
  throw new MillraceError({
    code: 'store_version',
    what: `The database is at version ${current}, newer than this build, which knows ${latest}.`,
    why: 'A newer Millrace has migrated it.',
    todo: 'Start that version, or take the database back with its `millrace migrate down`.',
  });
}

function badTarget(why: string): MillraceError {
  return new MillraceError({ code: 'bad_input', what: 'Not a migration target:', why: `${why}.` });
}
