/**
 * The fixture of cluster tests: real processes on a database of their own, from their start to the audit of the event
 * log with which every case ends. What a failed test leaves behind is printed.
 */
import postgres from 'postgres';
import { expect, onTestFailed, onTestFinished, vi } from 'vitest';
import { openPostgresStore } from '../../../src/scheduler/store/index.ts';
import { freshDatabase } from '../postgres.ts';
import { expectSoon } from '../until.ts';
import { expectCleanAudit } from './audit.ts';
import type { TestClient } from './client.ts';
import type { ClusterNode } from './cluster-node.ts';
import { startCluster } from './cluster.ts';
import type { Cluster, ClusterOptions } from './cluster.ts';
import type { Effect } from './effects-log.ts';

// Real processes on a machine that may be busy with others: what hangs is found by the limits within.
vi.setConfig({ testTimeout: 180_000 });

const END_MS = 60_000;

/** For tests that count executions: a session that outlasts what happens here, on any machine. */
export const LONG_SESSIONS = { sessionTtlMs: 30_000, nodeDeadMs: 40_000 };
/** Also with a leader's TTL that no test would wait for: one is replaced because it gave up or is seen to be gone,
 * never because a busy machine kept it from a renewal. */
export const LONG_TTLS = { ...LONG_SESSIONS, leaderTtlMs: 20_000 };

export interface TestCluster {
  readonly cluster: Cluster;
  readonly client: TestClient;
  /** Straight to the server, whatever route the nodes take. */
  readonly database: string;
  readonly sql: postgres.Sql;
}

export type TestClusterOptions = Omit<ClusterOptions, 'database'> & {
  /** A database that is there already; otherwise one of its own. */
  readonly database?: string;
  /** Returns the URL by which the nodes reach the database, through a proxy for instance. */
  readonly route?: (database: string) => Promise<string>;
};

/** Starts one node that leads, and workers; `leaders: 0` starts nothing but a database. */
export async function startTestCluster(options: TestClusterOptions = {}): Promise<TestCluster> {
  const { route, ...rest } = options;
  const database = options.database ?? (await ownDatabase());
  const sql = postgres(database, { max: 4, onnotice: () => {} });
  onTestFinished(() => sql.end({ timeout: 0 }));
  const reached = route === undefined ? database : await route(database);
  const cluster = await startCluster({ ...rest, database: reached });
  onTestFailed(() => console.error(outputOf(cluster)));
  return { cluster, client: cluster.client, database, sql };
}

export async function ownDatabase(): Promise<string> {
  const database = await freshDatabase();
  onTestFinished(() => database.drop());
  return database.url;
}

/** Stops what still runs, in order, and audits what the database holds. */
export async function expectCleanEnd({
  cluster,
  client,
  database,
}: Pick<TestCluster, 'cluster' | 'client' | 'database'>): Promise<void> {
  await cluster.stop();
  const store = await openPostgresStore({ url: database });
  try {
    await expectCleanAudit(store, client.acknowledged);
  } finally {
    await store.close();
  }
}

/** Waits until every job has ended, then stops the processes and audits what the database holds. */
export async function expectAllEnded(fixture: TestCluster): Promise<void> {
  const { cluster, sql } = fixture;
  await expectSoon(
    async () => {
      const [row] = await sql`
        select (select count(*) from millrace.job where state < 2)::int as live,
               (select count(*) from millrace.inbox)::int as inbox,
               (select count(*) from millrace.leader l left join millrace.journal_fold f on f.shard = l.shard
                 where l.commit_no > coalesce(f.settled_no, f.commit_no, 0))::int as behind`;
      expect(row).toEqual({ live: 0, inbox: 0, behind: 0 });
    },
    END_MS,
    () => outputOf(cluster),
  );
  await expectCleanEnd(fixture);
}

function outputOf(cluster: Cluster): string {
  const all = [...cluster.nodes, ...cluster.workers];
  return all.map(({ id, output }) => `\n--- ${id}\n${output}`).join('');
}

/** Waits until all these jobs have succeeded. */
export async function expectSucceeded(
  { sql, cluster }: TestCluster,
  ids: readonly string[],
): Promise<void> {
  await expectSoon(
    async () => {
      const states = await sql`
        select state, count(*)::int from millrace.job where id = any(${[...ids]}) group by 1`;
      expect([...states]).toEqual([{ state: 2, count: ids.length }]);
    },
    END_MS,
    () => outputOf(cluster),
  );
}

/** No task was started twice: neither lost and assigned again, nor given to two workers. */
export function expectOnce({ cluster }: TestCluster): void {
  const first = new Map<string, Effect>();
  const twice: Effect[] = [];
  for (const effect of cluster.effects.all({ what: 'begin' })) {
    const before = first.get(`${effect.job}/${effect.task}`);
    if (before === undefined) first.set(`${effect.job}/${effect.task}`, effect);
    else twice.push(before, effect);
  }
  if (twice.length === 0) return;
  expect.fail(`Started twice: ${JSON.stringify(twice, null, 2)}${outputOf(cluster)}`);
}

/** Leader terms by the log, oldest first. While all nodes end, one may lead for a moment that is about to end too. */
export async function terms({ sql }: TestCluster): Promise<{ nodeId: string; epoch: number }[]> {
  const store = await openPostgresStore({ url: urlOf(sql) });
  try {
    const found: { nodeId: string; epoch: number }[] = [];
    for await (const dumped of store.dump()) {
      if (dumped.table !== 'event' || dumped.row.kind !== 'leader.elected') continue;
      const { nodeId, epoch } = JSON.parse(dumped.row.detail ?? '{}') as (typeof found)[number];
      found.push({ nodeId, epoch });
    }
    return found;
  } finally {
    await store.close();
  }
}

/** The tables follow the journal a moment later. Settles when they have what was committed before the call. */
export async function tablesFollow(sql: postgres.Sql): Promise<void> {
  const store = await openPostgresStore({ url: urlOf(sql) });
  try {
    await store.nodes(0);
  } finally {
    await store.close();
  }
}

function urlOf(sql: postgres.Sql): string {
  const { host, port, user, database } = sql.options;
  return `postgres://${user}@${host[0]}:${port[0]}/${database}`;
}

/** Returns the current leader, by the database. */
export async function leaderRow({
  sql,
}: Pick<TestCluster, 'sql'>): Promise<{ nodeId: string; epoch: number }> {
  const [row] = await sql`select node_id, epoch::int from millrace.leader where shard = 0`;
  return { nodeId: row?.['node_id'] as string, epoch: row?.['epoch'] as number };
}

/** Resolves when another node than this one has taken over. */
export async function takenFrom(
  fixture: TestCluster,
  node: ClusterNode,
): Promise<{ nodeId: string; epoch: number }> {
  return expectSoon(async () => {
    const leader = await leaderRow(fixture);
    expect(leader.nodeId).not.toBe(node.id);
    return leader;
  });
}

interface JobEvent {
  readonly kind: string;
  readonly seq: number;
  readonly at: string;
  readonly node: string | null;
  readonly attempt: number | null;
  readonly fence: number | null;
  readonly detail: unknown;
}

/** Returns the events of a job up to its end, oldest first. */
export async function eventsOf(cluster: Cluster, job: string): Promise<readonly JobEvent[]> {
  const events: JobEvent[] = [];
  const limit = AbortSignal.timeout(20_000);
  for await (const { event, data } of cluster.client.events({ job, signal: limit })) {
    events.push(JSON.parse(data) as JobEvent);
    if (['job.succeeded', 'job.failed', 'job.cancelled'].includes(event)) return events;
  }
  return events;
}
