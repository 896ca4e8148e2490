/**
 * The store of a single node: a DuckDB file that this process owns, behind a journal. A commit is a line in the journal,
 * on disk before it is answered; the tables follow behind.
 */
import { systemClock } from '../../../kit/index.ts';
import { type Instant, instant } from '../../core/index.ts';
import { journaled } from '../journal/journaled-store.ts';
import type { JournalTables } from '../journal/port.ts';
import { requireCurrent } from '../migrations.ts';
import type { Store } from '../store.ts';
import { DuckdbTables } from './duckdb-tables.ts';
import type { OpenedFile } from './file.ts';
import { Journal } from './journal.ts';
import { migrationsIn } from './ledger.ts';
import { Shards } from './shards.ts';
import { StoreFile } from './store-file.ts';

export interface DuckdbOptions {
  /** A file, or `:memory:` for a store that ends with the process. */
  readonly path: string;
  /** Brings the tables up to date first; otherwise an older file is refused. Default: true. */
  readonly migrate?: boolean;
  /** How long the log may get before it is folded into the file. Default: 4 MiB. */
  readonly logBytes?: number;
  /** How long a commit may wait before the tables follow, unless somebody asks for them before. Default: a second. */
  readonly foldAfterMs?: number;
  /** The machine's clock, unless a test has its own. */
  readonly now?: () => Instant;
}

/** Nobody else can read the file, and what this process reads it brings up to date first. The longer it may wait, the more
 * jobs are written once and for all: an update costs DuckDB several times what an insert does. */
const FOLD_AFTER_MS = 5_000;

/** Some 2,000 jobs of one task. The tables follow while others come, and whoever wants to read them does not wait for long. */
const ROWS_WORTH = 16_000;

/** Some 15,000 jobs of one task, and some tens of megabytes. */
const READABLE_ROWS = 120_000;

export async function openDuckdbStore(options: DuckdbOptions): Promise<Store> {
  const tables = await openTables(options);
  const { foldAfterMs = FOLD_AFTER_MS } = options;
  return journaled(tables, {
    ...{ clock: systemClock, foldAfterMs, rowsWorth: ROWS_WORTH },
    ...{ readableRows: READABLE_ROWS, chunkForm: 'blocks', defersJobs: true },
  });
}

export async function openTables(options: DuckdbOptions): Promise<JournalTables> {
  const { path, logBytes, migrate = true, now = () => instant(Date.now()) } = options;
  const shards = new Shards();
  const journal = new Journal(shards);
  const prepare = async ({ writer, path: real }: OpenedFile): Promise<void> => {
    const migrations = migrationsIn(writer);
    requireCurrent(migrate ? await migrations.up() : await migrations.status());
    await shards.load(writer);
    await journal.exclusively(() => journal.load(real));
  };
  const file = await StoreFile.open({ path, logBytes, prepare });
  return new DuckdbTables(file, shards, journal, now);
}
