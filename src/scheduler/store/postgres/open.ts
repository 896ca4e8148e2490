/** The PostgreSQL store: for clusters, and for a single node that has a server anyway. */
import { systemClock } from '../../../kit/index.ts';
import { catchUp } from '../journal/catch-up.ts';
import { journaled } from '../journal/journaled-store.ts';
import type { JournalTables } from '../journal/port.ts';
import type { Store } from '../store.ts';
import { type MigrationStatus, type Migrations, requireCurrent } from '../migrations.ts';
import type { ConnectionSettings } from './connection.ts';
import { named, namingDatabase } from './database-name.ts';
import { dumpAll } from './dump.ts';
import { fillEmpty } from './fill.ts';
import { fold } from './fold.ts';
import { FoldConnection } from './fold-connection.ts';
import { listenToInbox } from './inbox.ts';
import * as journal from './journal.ts';
import { campaign, leaderOf, renew, resign, termEnd, whileLeading } from './leadership.ts';
import { withMigrations } from './ledger.ts';
import { JobRows, jobIds, takenIds } from './job-rows.ts';
import { LeaderConnection } from './leader-connection.ts';
import { loadBusyJobs, loadCluster, loadJob, loadJobs } from './load.ts';
import { eventsAfter } from './log.ts';
import { countJobs, deadTasks, logHead, nodeViews, schedulesOf } from './listings.ts';
import { ReadPool } from './pool.ts';
import { isPooled } from './pooler.ts';
import { changeDeclarations, declarationsOf } from './declarations.ts';
import { prune } from './prune.ts';
import { taskLogOn } from './task-log.ts';
import { whenVacant } from './leader-vacancy.ts';
import {
  inboxOf,
  inputsOf,
  jobIdForKey,
  jobView,
  keysOf,
  listJobs,
  resultsOf,
  stepsOf,
  taskRowsOf,
  taskView,
} from './views.ts';

export interface PostgresOptions {
  readonly url: string;
  /** Bring the database to this build's version first. Otherwise it must be there already. */
  readonly migrate?: boolean;
  /** The leader's TTL; timeouts on the leader's connection follow from it. */
  readonly ttlHintMs?: number;
  /** How the connections show in `pg_stat_activity`. */
  readonly applicationName?: string;
  /** How long a commit may wait before the tables follow, unless somebody asks for them before. Default: a second, and
   * 50 ms when no other commit has come after it. */
  readonly foldAfterMs?: number;
}

export interface PostgresStore extends Store {
  readonly kind: 'postgres';
  onInbox(fn: () => void): Promise<() => Promise<void>>;
  whenVacant(shard: number, signal: AbortSignal): Promise<number | null>;
}

const TTL_MS = 10_000;
const FOLD_AFTER_MS = 1_000;
const FOLD_WHEN_QUIET_MS = 50;
/** One that is made, and others that follow at once: the leader's connection sends them in order. */
const COMMITS_AT_ONCE = 4;
/** The migration that brought the journal. */
const JOURNAL_VERSION = 20;

export async function openPostgresStore(options: PostgresOptions): Promise<PostgresStore> {
  return named(options.url, async () => {
    const settings = await wayTo(settingsOf(options));
    await withMigrations(settings, async (migrations) => {
      requireCurrent(await (options.migrate === true ? migrations.up() : migrations.status()));
    });
    const tables = tablesOn(settings);
    const { foldAfterMs = FOLD_AFTER_MS } = options;
    const foldWhenQuietMs = options.foldAfterMs ?? FOLD_WHEN_QUIET_MS;
    const store = journaled(tables, {
      ...{ clock: systemClock, foldAfterMs, foldWhenQuietMs },
      ...{ chunkForm: 'blocks', defersJobs: true },
    });
    const { onInbox, whenVacant: vacant } = tables;
    return namingDatabase({ ...store, kind: 'postgres', onInbox, whenVacant: vacant }, options.url);
  });
}

/** For `millrace migrate`: opens, does one thing, closes. */
export async function migratePostgres(
  options: Pick<PostgresOptions, 'url'>,
  use: (migrations: Migrations) => Promise<MigrationStatus>,
): Promise<MigrationStatus> {
  return named(options.url, async () => {
    const settings = await wayTo(settingsOf(options));
    return withMigrations(settings, (migrations) =>
      use({
        ...migrations,
        down: async (to) => {
          const { current, latest } = await migrations.status();
          // Older builds know nothing of a journal, and folds write the tables of this one.
          const mayFold = current >= JOURNAL_VERSION && current <= latest;
          if (!mayFold || !(await isBehind(settings))) return migrations.down(to);
          await migrations.up();
          await foldAll(settings);
          return migrations.down(to ?? current - 1);
        },
      }),
    );
  });
}

async function isBehind(settings: ConnectionSettings): Promise<boolean> {
  const pool = new ReadPool(settings);
  try {
    return (await journal.shardsBehind(pool.run)).length > 0;
  } finally {
    await pool.close();
  }
}

async function foldAll(settings: ConnectionSettings): Promise<void> {
  const tables = tablesOn(settings);
  try {
    for (const shard of await tables.shardsBehind()) await catchUp(tables, shard);
  } finally {
    await tables.close();
  }
}

async function wayTo(settings: ConnectionSettings): Promise<ConnectionSettings> {
  return { ...settings, isPooled: await isPooled(settings) };
}

function settingsOf(options: PostgresOptions): ConnectionSettings {
  const { url, applicationName = 'millrace', ttlHintMs: ttlMs = TTL_MS } = options;
  return { url, applicationName, ttlMs };
}

type PostgresTables = JournalTables & Pick<PostgresStore, 'onInbox' | 'whenVacant'>;

function tablesOn(settings: ConnectionSettings): PostgresTables {
  const pool = new ReadPool(settings);
  const leader = new LeaderConnection(settings, [journal.appendStatement]);
  const folds = new FoldConnection(settings);
  const parts = new journal.JournalParts();
  const [read, write] = [pool.run, leader.run.bind(leader)];
  const taskLog = taskLogOn(settings, read);
  const jobRows = new JobRows(read);
  return {
    kind: 'postgres',
    clustered: true,
    commitsAtOnce: COMMITS_AT_ONCE,
    campaign: (candidacy) => campaign(leader, candidacy),
    renew: (term, ttlMs, commitNo) =>
      whileLeading(leader, term, () => renew(write, term, ttlMs, commitNo)),
    resign: (term) => resign(leader, term),
    leader: (shard) => leaderOf(read, shard),
    termEnd: (shard, term) => termEnd(read, shard, term),
    whenVacant: (shard, signal) => whenVacant(read, shard, signal),
    append: (term, ttlMs, record, unproven) =>
      // On this connection, because there rows are found by key whatever the planner knows of the tables.
      whileLeading(leader, term, () => journal.append(write, parts, term, ttlMs, record, unproven)),
    fold: async (shard, commits) => {
      const isFolded = await fold(folds, shard, commits);
      if (isFolded) await parts.trim(folds, commits.settledNo);
      return isFolded;
    },
    shardsBehind: () => journal.shardsBehind(read),
    journalState: (shard) => journal.journalState(read, shard),
    journal: (shard, after, limit) => journal.journalOf(read, shard, after, limit),
    storedJobs: (shard, numbers) => journal.storedJobs(read, shard, numbers),
    prune: (term, retention, alone) =>
      whileLeading(leader, term, () => prune({ read, write, settings, alone }, term, retention)),
    changeDeclarations: (term, kind, change) =>
      whileLeading(leader, term, () => changeDeclarations(write, term, kind, change)),
    declarations: (shard, kind) => declarationsOf(read, shard, kind),
    taskLog,
    loadCluster: (shard) => loadCluster(pool, shard),
    loadBusyJobs: (shard) => loadBusyJobs(pool, shard),
    loadJobs: (shard, priority, from, limit) => loadJobs(pool, shard, priority, from, limit),
    loadJob: (shard, id) => loadJob(pool, shard, id),
    inputs: (shard, refs) => inputsOf(read, shard, refs),
    results: (shard, refs) => resultsOf(read, shard, refs),
    steps: (shard, ref, run) => stepsOf(read, shard, ref, run),
    keys: (shard, scopes) => keysOf(read, shard, scopes),
    jobIdForKey: (shard, key) => jobIdForKey(read, shard, key),
    taskRows: (shard, refs) => taskRowsOf(read, shard, refs),
    task: (shard, id, taskId) => taskView(pool, shard, id, taskId),
    jobRow: (shard, id) => jobRows.find(shard, id),
    takenIds: (shard, ids) => takenIds(read, shard, ids),
    jobIds: (after, limit) => jobIds(read, after, limit),
    job: (shard, id) => jobView(pool, shard, id),
    jobs: (shard, filter) => listJobs(read, shard, filter),
    countJobs: (shard, newest) => countJobs(read, shard, newest),
    events: (shard, after, limit, jobId) => eventsAfter(pool, shard, after, limit, jobId),
    lastSeq: (shard) => logHead(read, shard),
    nodes: (shard, holds) => nodeViews(pool, shard, holds),
    schedules: (shard) => schedulesOf(read, shard),
    deadTasks: (shard, filter) => deadTasks(read, shard, filter),
    inbox: (shard, limit) => inboxOf(read, shard, limit),
    dump: () => pool.stream(dumpAll),
    fill: (rows) => fillEmpty(settings, rows),
    onInbox: (fn) => listenToInbox(settings, fn),
    close: async () => {
      await Promise.all([pool.close(), leader.close(), folds.close(), taskLog.close()]);
    },
  };
}
