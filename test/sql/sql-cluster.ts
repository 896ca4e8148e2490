/** A real cluster for queries: a leader on PostgreSQL and worker processes, asked over HTTP. */
import { onTestFailed, onTestFinished } from 'vitest';
import { defaultSettings } from '../../src/scheduler/core/index.ts';
import { startCluster } from '../rig/cluster/cluster.ts';
import type { Cluster } from '../rig/cluster/cluster.ts';
import { freshDatabase } from '../rig/postgres.ts';
import type { Run } from './trial.ts';
import { QueryFailure, runQuery } from './query-client.ts';
import type { TestTables } from './tables.ts';

export interface SqlCluster {
  readonly cluster: Cluster;
  /** Runs queries with these settings. */
  readonly settings: (chosen: Readonly<Record<string, number>>) => Run;
  /** Tasks that were run again because what they had made was lost, so far. */
  readonly recomputed: () => number;
}

/** Resolves when the next task of a first stage has ended: from then on there is something to lose. */
export async function nextOutput({ client }: Cluster): Promise<void> {
  const page = await client.call({ method: 'GET', path: '/api/v1/jobs?limit=1' });
  const { asOf } = page as { readonly asOf: { readonly seq: number } };
  const events = client.events({ after: asOf.seq, signal: AbortSignal.timeout(OUTPUT_MS) });
  for await (const { event, data } of events)
    if (event === 'completed' && /"s0\.\d+"/.test(data)) return;
}

/** Nothing is small enough to stay whole or to be sent to everybody, and every task reads one partition. */
export const FORCED = {
  broadcastThresholdBytes: 0,
  singleFragmentBytes: 0,
  targetPartitionBytes: 0,
} as const;
/** The same, but a task reads as many partitions as this: some of them, or all, or one that is larger. */
export const COALESCED = { ...FORCED, targetPartitionBytes: 4_096 } as const;
/** The same, and a partition that has more than half of the others is split where that is possible. */
export const SPLIT = { ...COALESCED, skewFactor: 1, skewThresholdBytes: 1 } as const;
/** The same, and scans are filtered by the keys of other stages wherever that is allowed. */
export const FILTERED = { ...COALESCED, runtimeFilters: 2 } as const;

/** As users have them: queries take all cores, and who asks here asks once. Kills are noticed without them. */
const { leaderTtlMs, sessionTtlMs, nodeDeadMs } = defaultSettings;
const PATIENT = { leaderTtlMs, sessionTtlMs, nodeDeadMs };

const OUTPUT_MS = 60_000;
/** How often a result may be lost together with its node, before that is an error. */
const LOST_MAX = 3;

export async function startSqlCluster(
  tables: Pick<TestTables, 'specs'>,
  workers: number,
  slots = 2,
): Promise<SqlCluster> {
  const database = await freshDatabase();
  onTestFinished(() => database.drop());
  const cluster = await startCluster({
    database: database.url,
    workers: 0,
    slots,
    modules: [],
    settings: PATIENT,
  });
  // All run on one machine: without this they would read each other's files and never fetch anything.
  const args = ['--shuffle-by-network'];
  for (let at = 0; at < workers; at += 1) await cluster.planWorker({ args });
  await Promise.all(cluster.workers.map((worker) => worker.start()));
  onTestFailed(() => {
    for (const node of [...cluster.nodes, ...cluster.workers])
      console.error(`--- ${node.id}\n${node.output}`);
  });
  let recomputed = 0;
  const once = (sql: string, settings: Readonly<Record<string, number>>): ReturnType<Run> =>
    runQuery(cluster.urls[0]!, { sql, tables: tables.specs, settings }, ({ stages }) => {
      for (const { tasks } of stages) recomputed += tasks.recomputed;
    });
  return {
    cluster,
    recomputed: () => recomputed,
    settings: (chosen) => async (sql) => {
      for (let lost = 0; ; lost += 1) {
        try {
          return await once(sql, chosen);
        } catch (error) {
          // Its node was killed after the end and before the rows were read: the user asks again.
          const isLost = error instanceof QueryFailure && error.code === 'result_lost';
          if (!isLost || lost === LOST_MAX) throw error;
        }
      }
    },
  };
}
