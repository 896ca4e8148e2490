/** A cluster on a database of its own, from its start to the audit that ends every case with a fault in it. */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { onTestFailed, onTestFinished, vi } from 'vitest';
import { openPostgresStore } from '../../src/scheduler/store/index.ts';
import { expectCleanAudit } from '../rig/cluster/audit.ts';
import { startCluster } from '../rig/cluster/cluster.ts';
import type { Cluster, ClusterOptions } from '../rig/cluster/cluster.ts';
import { pauseMs, within } from '../rig/cluster/deadline.ts';
import type { TestProcess } from '../rig/cluster/process.ts';
import { freshDatabase } from '../rig/postgres.ts';

// Real processes on a machine that may be busy with others: what hangs is found by the limits within.
vi.setConfig({ testTimeout: 120_000 });

const BIN = fileURLToPath(new URL('../../bin/millrace.js', import.meta.url));

export interface Scene {
  readonly cluster: Cluster;
  readonly database: string;
}

/** One node that leads, and workers; `leaders: 0` starts nothing but a database. */
export async function startScene(options: Partial<ClusterOptions> = {}): Promise<Scene> {
  const database = options.database ?? (await ownDatabase());
  const cluster = await startCluster({ ...options, database });
  onTestFailed(() => {
    for (const node of [...cluster.nodes, ...cluster.workers])
      if (node.wasStarted) console.error(`--- ${node.id}\n${node.process.output.text()}`);
  });
  return { cluster, database };
}

async function ownDatabase(): Promise<string> {
  const database = await freshDatabase();
  onTestFinished(() => database.drop());
  return database.url;
}

/** Ends what still runs, in order, and reads back what the database holds. */
export async function expectCleanEnd({ cluster, database }: Scene): Promise<void> {
  await cluster.stop();
  const store = await openPostgresStore({ url: database });
  try {
    await expectCleanAudit(store, cluster.client.acknowledged);
  } finally {
    await store.close();
  }
}

/** For what gives no signal: asked again until it is so. */
export async function until<T>(
  look: () => Promise<T | null | undefined | false>,
  missing: string,
  limitMs = 20_000,
): Promise<T> {
  let isOver = false;
  const found = async (): Promise<T> => {
    for (;;) {
      const seen = await look();
      if (seen !== null && seen !== undefined && seen !== false) return seen;
      if (isOver) throw new Error(missing);
      await pauseMs(50);
    }
  };
  try {
    return await within(limitMs, found(), () => missing);
  } finally {
    isOver = true;
  }
}

/** What a process tells people on stderr, with all it has said if it does not. */
export function complaint(of: TestProcess, pattern: RegExp): Promise<RegExpExecArray> {
  const missing = (): string => `${pattern} in\n${of.output.text()}`;
  return within(20_000, of.output.line(pattern, 'stderr'), missing);
}

export interface Said {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** One command of the command line, to its end. */
export function millrace(
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<Said> {
  return new Promise((resolve) => {
    const env = { ...process.env, ...environment };
    execFile(process.execPath, [BIN, ...args], { env, timeout: 25_000 }, (error, out, err) => {
      const code = error === null ? 0 : typeof error.code === 'number' ? error.code : -1;
      resolve({ code, out, err });
    });
  });
}

/** The events of a job by kind, attempt and fence, oldest first. */
interface JobEvent {
  readonly kind: string;
  readonly seq: number;
  readonly node: string | null;
  readonly attempt: number | null;
  readonly fence: number | null;
  readonly detail: unknown;
}

/** All that has happened to a job that has ended. */
export async function eventsOf(cluster: Cluster, job: string): Promise<readonly JobEvent[]> {
  const events: JobEvent[] = [];
  const limit = AbortSignal.timeout(20_000);
  for await (const { event, data } of cluster.client.events({ job, signal: limit })) {
    events.push(JSON.parse(data) as JobEvent);
    if (['job.succeeded', 'job.failed', 'job.cancelled'].includes(event)) return events;
  }
  return events;
}
