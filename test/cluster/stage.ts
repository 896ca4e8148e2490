/** What the tests with faults of leaders and databases share: a cluster on a database of its own, load, and the end. */
import postgres from 'postgres';
import { expect, onTestFinished, vi } from 'vitest';
import { deferred, systemClock } from '../../src/kit/index.ts';
import type { Deferred } from '../../src/kit/index.ts';
import { openPostgresStore } from '../../src/scheduler/store/index.ts';
import { expectCleanAudit } from '../rig/cluster/audit.ts';
import type { TestClient } from '../rig/cluster/client.ts';
import type { ClusterNode } from '../rig/cluster/cluster-node.ts';
import { startCluster } from '../rig/cluster/cluster.ts';
import type { Cluster, ClusterOptions } from '../rig/cluster/cluster.ts';
import type { Effect } from '../rig/cluster/effects-log.ts';
import { pauseMs, within } from '../rig/cluster/deadline.ts';
import { freshDatabase } from '../rig/postgres.ts';

// Real processes on a machine that may be busy with others: what hangs is found by the limits within.
vi.setConfig({ testTimeout: 180_000 });

const REST_MS = 60_000;
const TURN_MS = 40;

/** For tests that count executions: a session that outlasts what happens here, on any machine. */
export const OUTLASTING = { sessionTtlMs: 30_000, nodeDeadMs: 40_000 };
/** Also with a leader's TTL that no test would wait for: one is replaced because it gave up or is seen to be gone,
 * never because a busy machine kept it from a renewal. */
export const PATIENT = { ...OUTLASTING, leaderTtlMs: 20_000 };

export interface Stage {
  readonly cluster: Cluster;
  readonly client: TestClient;
  /** Straight to the server, whatever way the nodes take. */
  readonly database: string;
  readonly sql: postgres.Sql;
}

export type StageOptions = Omit<ClusterOptions, 'database'> & {
  /** A database that is there already; otherwise one of its own. */
  readonly database?: string;
  /** How the nodes reach it. */
  readonly way?: (database: string) => Promise<string>;
};

export async function stage(options: StageOptions = {}): Promise<Stage> {
  const { way, ...rest } = options;
  const database = options.database ?? (await ownDatabase());
  const sql = postgres(database, { max: 4, onnotice: () => {} });
  onTestFinished(() => sql.end({ timeout: 0 }));
  const reached = way === undefined ? database : await way(database);
  const cluster = await startCluster({ ...rest, database: reached });
  return { cluster, client: cluster.client, database, sql };
}

export async function ownDatabase(): Promise<string> {
  const database = await freshDatabase();
  onTestFinished(() => database.drop());
  return database.url;
}

/** Everything comes to its end, the processes too, and the books are right. */
export async function expectRest({ cluster, client, database, sql }: Stage): Promise<void> {
  await expectSoon(
    async () => {
      const [row] = await sql`
        select (select count(*) from millrace.job where state < 2)::int as live,
               (select count(*) from millrace.inbox)::int as inbox`;
      expect(row).toEqual({ live: 0, inbox: 0 });
    },
    REST_MS,
    () => outputOf(cluster),
  );
  await cluster.stop();
  await expectBooks(database, client.acknowledged);
}

async function expectBooks(database: string, acknowledged: Iterable<string>): Promise<void> {
  const store = await openPostgresStore({ url: database });
  try {
    await expectCleanAudit(store, acknowledged);
  } finally {
    await store.close();
  }
}

/** Asks again until the check holds; what gives no signal has to be asked. */
export async function expectSoon<T>(
  check: () => Promise<T>,
  limitMs = 30_000,
  more: () => string = () => '',
): Promise<T> {
  const untilMs = systemClock.monotonicMs() + limitMs;
  for (;;) {
    try {
      return await check();
    } catch (error) {
      if (systemClock.monotonicMs() < untilMs) await pauseMs(TURN_MS);
      else throw new Error(`Not within ${limitMs} ms. ${more()}`, { cause: error });
    }
  }
}

function outputOf(cluster: Cluster): string {
  const all = [...cluster.nodes, ...cluster.workers];
  return all.map(({ id, output }) => `\n--- ${id}\n${output}`).join('');
}

/** What a number of clients submit, each one job after the other, whatever happens meanwhile. */
export class Load {
  /** All are acknowledged. */
  readonly done: Promise<readonly string[]>;
  readonly #marks: Map<number, Deferred<void>> = new Map();
  readonly #ids: string[] = [];

  constructor(client: TestClient, options: { jobs: number; lanes?: number; tasks?: object[] }) {
    const { jobs, lanes = 6, tasks = [{ id: 'a', executor: 'note' }] } = options;
    let left = jobs;
    const lane = async (): Promise<void> => {
      while (left > 0) {
        left -= 1;
        this.#add((await client.submit({ tasks })).id);
      }
    };
    const all = Promise.all(Array.from({ length: lanes }, lane));
    this.done = all.then(() => this.#ids);
    // Whoever waits hears of it; the test may still be busy elsewhere.
    this.done.catch(() => {});
  }

  get ids(): readonly string[] {
    return this.#ids;
  }

  /** Resolves when so many are acknowledged. */
  reached(count: number): Promise<void> {
    const mark = this.#marks.get(count) ?? deferred();
    this.#marks.set(count, mark);
    if (this.#ids.length >= count) mark.resolve();
    const early = this.done.then(() => mark.promise);
    return within(60_000, Promise.race([mark.promise, early]), () => {
      return `${count} jobs acknowledged; so far ${this.#ids.length}`;
    });
  }

  #add(id: string): void {
    this.#ids.push(id);
    this.#marks.get(this.#ids.length)?.resolve();
  }
}

/** All of them ended well. */
export async function expectSucceeded(
  { sql, cluster }: Stage,
  ids: readonly string[],
): Promise<void> {
  await expectSoon(
    async () => {
      const states = await sql`
        select state, count(*)::int from millrace.job where id = any(${[...ids]}) group by 1`;
      expect([...states]).toEqual([{ state: 2, count: ids.length }]);
    },
    REST_MS,
    () => outputOf(cluster),
  );
}

/** No task was begun twice: neither lost and given out anew, nor given to two. */
export function expectOnce({ cluster }: Stage): void {
  const first = new Map<string, Effect>();
  const twice: Effect[] = [];
  for (const effect of cluster.effects.all({ what: 'begin' })) {
    const before = first.get(`${effect.job}/${effect.task}`);
    if (before === undefined) first.set(`${effect.job}/${effect.task}`, effect);
    else twice.push(before, effect);
  }
  if (twice.length === 0) return;
  expect.fail(`Begun twice: ${JSON.stringify(twice, null, 2)}${outputOf(cluster)}`);
}

/** Leader terms by the log, oldest first. While all nodes end, one may lead for a moment that is about to end too. */
export async function terms({ sql }: Stage): Promise<{ nodeId: string; epoch: number }[]> {
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

function urlOf(sql: postgres.Sql): string {
  const { host, port, user, database } = sql.options;
  return `postgres://${user}@${host[0]}:${port[0]}/${database}`;
}

/** The node that leads now, by the database. */
export async function leaderRow({
  sql,
}: Pick<Stage, 'sql'>): Promise<{ nodeId: string; epoch: number }> {
  const [row] = await sql`select node_id, epoch::int from millrace.leader where shard = 0`;
  return { nodeId: row?.['node_id'] as string, epoch: row?.['epoch'] as number };
}

/** Resolves when another node than this one has taken over. */
export async function takenFrom(
  stage: Stage,
  node: ClusterNode,
): Promise<{ nodeId: string; epoch: number }> {
  return expectSoon(async () => {
    const leader = await leaderRow(stage);
    expect(leader.nodeId).not.toBe(node.id);
    return leader;
  });
}
