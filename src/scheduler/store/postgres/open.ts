/** The PostgreSQL store: for clusters, and for a single node that has a server anyway. */
import type { Store } from '../store.ts';
import { type MigrationStatus, type Migrations, requireCurrent } from '../migrations.ts';
import { commit, commitStatement } from './commit.ts';
import type { ConnectionSettings } from './connection.ts';
import { named, namingDatabase } from './database-name.ts';
import { dumpAll } from './dump.ts';
import { fillEmpty } from './fill.ts';
import { listenToInbox } from './inbox.ts';
import { campaign, leaderOf, renew, resign, termEnd, whileLeading } from './leadership.ts';
import { withMigrations } from './ledger.ts';
import { JobRows } from './job-rows.ts';
import { LeaderConnection } from './leader-connection.ts';
import { loadBusyJobs, loadCluster, loadJob, loadJobs } from './load.ts';
import { eventsAfter } from './log.ts';
import { deadTasks, logHead, nodeViews, schedulesOf } from './listings.ts';
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
}

export interface PostgresStore extends Store {
  readonly kind: 'postgres';
  onInbox(fn: () => void): Promise<() => Promise<void>>;
  whenVacant(shard: number, signal: AbortSignal): Promise<number | null>;
}

const TTL_MS = 10_000;

export async function openPostgresStore(options: PostgresOptions): Promise<PostgresStore> {
  return named(options.url, async () => {
    const settings = await wayTo(settingsOf(options));
    await withMigrations(settings, async (migrations) => {
      requireCurrent(await (options.migrate === true ? migrations.up() : migrations.status()));
    });
    return namingDatabase(storeOn(settings), options.url);
  });
}

/** For `millrace migrate`: opens, does one thing, closes. */
export async function migratePostgres(
  options: Pick<PostgresOptions, 'url'>,
  use: (migrations: Migrations) => Promise<MigrationStatus>,
): Promise<MigrationStatus> {
  return named(options.url, async () => withMigrations(await wayTo(settingsOf(options)), use));
}

async function wayTo(settings: ConnectionSettings): Promise<ConnectionSettings> {
  return { ...settings, isPooled: await isPooled(settings) };
}

function settingsOf(options: PostgresOptions): ConnectionSettings {
  const { url, applicationName = 'millrace', ttlHintMs: ttlMs = TTL_MS } = options;
  return { url, applicationName, ttlMs };
}

function storeOn(settings: ConnectionSettings): PostgresStore {
  const pool = new ReadPool(settings);
  const leader = new LeaderConnection(settings, [commitStatement]);
  const read = pool.run;
  const taskLog = taskLogOn(settings, read);
  const jobRows = new JobRows(read);
  const write = leader.run.bind(leader);
  return {
    kind: 'postgres',
    clustered: true,
    campaign: (candidacy) => campaign(leader, candidacy),
    renew: (term, ttlMs, commitNo) =>
      whileLeading(leader, term, () => renew(write, term, ttlMs, commitNo)),
    resign: (term) => resign(leader, term),
    leader: (shard) => leaderOf(read, shard),
    termEnd: (shard, term) => termEnd(read, shard, term),
    whenVacant: (shard, signal) => whenVacant(read, shard, signal),
    commit: (term, ttlMs, batch) =>
      whileLeading(leader, term, () => commit(write, term, ttlMs, batch)),
    prune: (term, retention) =>
      whileLeading(leader, term, () => prune({ read, write, settings }, term, retention)),
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
    job: (shard, id) => jobView(pool, shard, id),
    jobs: (shard, filter) => listJobs(read, shard, filter),
    events: (shard, after, limit, jobId) => eventsAfter(pool, shard, after, limit, jobId),
    lastSeq: (shard) => logHead(read, shard),
    nodes: (shard) => nodeViews(pool, shard),
    schedules: (shard) => schedulesOf(read, shard),
    deadTasks: (shard, filter) => deadTasks(read, shard, filter),
    inbox: (shard, limit) => inboxOf(read, shard, limit),
    dump: () => pool.stream(dumpAll),
    fill: (rows) => fillEmpty(settings, rows),
    onInbox: (fn) => listenToInbox(settings, fn),
    close: async () => {
      await Promise.all([pool.close(), leader.close(), taskLog.close()]);
    },
  };
}
