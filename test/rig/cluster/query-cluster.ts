/** A cluster for queries with faults: its queries can be held in the middle, and their rows are compared with DuckDB's. */
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { readFile, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, vi } from 'vitest';
import type { TableSpec } from '../../../src/sql/catalog/index.ts';
import type { ClusterNode } from './cluster-node.ts';
import type { Cluster, ClusterOptions } from './cluster.ts';
import { RefusedCall } from './client.ts';
import type { TaskSeen } from './client.ts';
import { difference } from '../../sql/compare.ts';
import type { Answer } from '../../sql/contract-values.ts';
import type { Leeway } from '../../sql/oracle.ts';
import type { QuerySeen } from '../../sql/query-client.ts';
import type { Scratch } from '../../sql/scratch.ts';
import { FORCED } from '../../sql/sql-cluster.ts';
import { expectCleanEnd, startTestCluster } from './test-cluster.ts';
import type { TestCluster } from './test-cluster.ts';
import { until } from '../until.ts';

// Real processes on a machine that may be busy with others: what hangs is found by the limits within.
vi.setConfig({ testTimeout: 180_000 });

/** Where engines can be found and held: as children of their worker. */
export const isLinux: boolean = process.platform === 'linux';

/** On one machine workers would read each other's files: so they fetch them. */
export const BY_NETWORK: readonly string[] = ['--shuffle-by-network'];

const END_MS = 90_000;
const NO_DUPLICATES = { shufflePartitions: 4, stragglerFactor: 0 };
/** More than it takes to receive an instruction. */
const BUSY_TICKS = 5;
/** So often in a row nothing more was computed: an engine that waits for a processor is not at rest. */
const REST_LOOKS = 10;

/**
 * Four stages: `s0` reads the orders, `s1` takes its time, `s2` and `s3` are quick. There is time to catch its
 * engines in `s1`, and then it goes on when they are let go.
 */
export const SLOW = `SELECT k % 10 AS g, sum(c * (r % 7)) AS s, count(*) AS n
  FROM (SELECT o_custkey AS k, count(*) AS c FROM orders GROUP BY o_custkey) q, range(250000) t(r)
  GROUP BY 1 ORDER BY 1`;

/** As it stands in the log. */
export interface TaskEvent {
  readonly seq: number;
  readonly kind: string;
  readonly task: string | null;
  readonly node: string | null;
  readonly run: number | null;
  readonly attempt: number | null;
  readonly fence: number | null;
  readonly detail: unknown;
}

export interface QueryTask extends TaskSeen {
  readonly run: number;
}

export interface QueryClusterOptions {
  readonly workers?: number;
  readonly leaders?: number;
  readonly slots?: number;
  readonly args?: readonly string[];
  readonly settings?: ClusterOptions['settings'];
}

export class QueryCluster {
  readonly cluster: Cluster;
  readonly #fixture: TestCluster;
  readonly #here: Scratch;

  private constructor(fixture: TestCluster, here: Scratch) {
    this.cluster = fixture.cluster;
    this.#fixture = fixture;
    this.#here = here;
  }

  static async start(here: Scratch, options: QueryClusterOptions = {}): Promise<QueryCluster> {
    const { workers = 2, slots = 1, args = BY_NETWORK, leaders = 1, settings = {} } = options;
    const fixture = await startTestCluster({ workers: 0, slots, leaders, settings });
    const { cluster } = fixture;
    for (let at = 0; at < workers; at += 1) await cluster.planWorker({ args });
    await Promise.all(cluster.workers.map((worker) => worker.start()));
    return new QueryCluster(fixture, here);
  }

  worker(no: number): ClusterNode {
    const worker = this.cluster.workers[no - 1];
    if (worker === undefined) throw new Error(`there is no worker ${no}`);
    return worker;
  }

  async submit(
    sql: string,
    settings: Readonly<Record<string, number>> = {},
    tables: Readonly<Record<string, TableSpec>> = this.#here.tables.specs,
  ): Promise<string> {
    const body = {
      // Engines that are held are stragglers, and most tests count attempts.
      ...{ sql, tables, settings: { ...FORCED, ...NO_DUPLICATES, ...settings } },
      // A try whose answer is lost is repeated.
      idempotencyKey: randomUUID(),
    };
    return ((await this.#call('POST', '', body)) as QuerySeen).id;
  }

  async seen(id: string): Promise<QuerySeen> {
    return (await this.#call('GET', `/${id}`)) as QuerySeen;
  }

  async cancel(id: string): Promise<void> {
    await this.#call('POST', `/${id}/cancel`);
  }

  async ended(id: string): Promise<QuerySeen> {
    await this.cluster.client.waitForJob(id, END_MS);
    return this.seen(id);
  }

  async rows(id: string): Promise<Answer> {
    return (await this.#call('GET', `/${id}/results?format=json`)) as Answer;
  }

  /** It ends well, and its rows are those of DuckDB. */
  async expectRight(id: string, sql: string, leeway: Leeway = { order: [1] }): Promise<QuerySeen> {
    const seen = await this.ended(id);
    expect(seen).toMatchObject({ state: 'succeeded', error: null });
    expect(difference(await this.#own(sql), await this.rows(id), leeway, null)).toBeNull();
    return seen;
  }

  /** By id, without that of the plan. */
  async tasks(id: string): Promise<ReadonlyMap<string, QueryTask>> {
    const { tasks } = await this.cluster.client.job(id);
    return new Map((tasks as readonly QueryTask[]).slice(1).map((task) => [task.id, task]));
  }

  /** Resolves with the first event of the query that fits. */
  async event(id: string, fits: (event: TaskEvent) => boolean): Promise<TaskEvent> {
    const read = (data: string): TaskEvent => JSON.parse(data) as TaskEvent;
    const { client } = this.cluster;
    // A node without news says so with nothing in it.
    const isWanted = ({ data }: { readonly data: string }): boolean =>
      data !== '' && fits(read(data));
    const found = await client.waitForEvent(isWanted, { job: id });
    return read(found.data);
  }

  /** All workers are at the slow stage and stay there until they are let go. */
  async held(id: string, workers: readonly ClusterNode[] = this.cluster.workers): Promise<void> {
    await Promise.all(
      workers.map(async (worker) => {
        await this.event(id, (each) => isOf(each, 's1', worker) && each.kind === 'started');
        // It has said so before it has read what it needs; an engine that computes has.
        const before = ticksOf(worker);
        const isAtWork = (): Promise<boolean> =>
          Promise.resolve(ticksOf(worker) >= before + BUSY_TICKS);
        await until(isAtWork, `the engines of ${worker.id} do nothing`);
        hold(worker);
      }),
    );
  }

  /** Folders with outputs of the query on a worker. */
  async outputs(worker: ClusterNode, id: string): Promise<readonly string[]> {
    const root = join(this.cluster.file(worker.id), 'shuffle');
    const found: string[] = [];
    for (const own of await names(root)) {
      for (const name of await names(join(root, own, 'outputs')))
        if (name.startsWith(`${id}.s`)) found.push(join(root, own, 'outputs', name));
    }
    return found;
  }

  /** Everything that any process of the worker has left. */
  async leftovers(worker: ClusterNode): Promise<readonly string[]> {
    const root = join(this.cluster.file(worker.id), 'shuffle');
    const entries = await readdir(root, { recursive: true }).catch(() => []);
    return entries.filter((name) => /\/(outputs|tmp|shared)\/./.test(name));
  }

  async end(): Promise<void> {
    await expectCleanEnd(this.#fixture);
  }

  async #own(sql: string): Promise<Answer> {
    const known = answers.get(sql) ?? this.#here.oracle.answer(sql);
    answers.set(sql, known);
    return known;
  }

  #call(method: 'GET' | 'POST', path: string, body?: unknown): Promise<unknown> {
    const given = body === undefined ? {} : { body };
    return this.cluster.client.call({ method, path: `/api/v1/queries${path}`, ...given });
  }
}

/** What DuckDB itself says, by query: it takes as long as the cluster does. */
const answers = new Map<string, Promise<Answer>>();

/** Which code the rows of the query are refused with. */
export async function refusedWith(call: Promise<unknown>): Promise<string> {
  const error = await call.then(
    () => new Error('It was not refused.'),
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof RefusedCall)) throw error;
  return (error.problem as { readonly code: string }).code;
}

/** Tasks that were run again because what they had made was lost. */
export function recomputed({ stages }: QuerySeen): number {
  return stages.reduce((sum, { tasks }) => sum + tasks.recomputed, 0);
}

export function isOf({ task, node }: TaskEvent, stage: string, worker?: ClusterNode): boolean {
  return task?.startsWith(`${stage}.`) === true && (worker === undefined || node === worker.id);
}

/** Damages every segment in the folder, without a change of length. */
export async function damage(folder: string): Promise<void> {
  for (const name of await names(folder)) {
    if (!name.endsWith('.parquet')) continue;
    const file = join(folder, name);
    const bytes = await readFile(file);
    const middle = bytes.length >> 1;
    bytes.writeUInt8(bytes.readUInt8(middle) ^ 0xff, middle);
    await writeFile(file, bytes);
  }
}

export function enginesOf({ process: { pid } }: ClusterNode): readonly number[] {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8');
  return text.trim().split(' ').filter(Boolean).map(Number);
}

/** Its engines stop where they are; the worker itself goes on. */
function hold(worker: ClusterNode): void {
  for (const pid of enginesOf(worker)) process.kill(pid, 'SIGSTOP');
}

export function letGo(...workers: readonly ClusterNode[]): void {
  for (const worker of workers) for (const pid of enginesOf(worker)) process.kill(pid, 'SIGCONT');
}

/** The time that its engines have computed so far, in hundredths of a second. */
function ticksOf(worker: ClusterNode): number {
  return enginesOf(worker).reduce((sum, pid) => {
    const line = statOf(pid);
    // The name of the program stands in parentheses and may have anything in it.
    const fields = line.slice(line.lastIndexOf(')') + 2).split(' ');
    return sum + Number(fields[11]) + Number(fields[12]);
  }, 0);
}

/** Of a process that has ended meanwhile: one that never computed. */
function statOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8');
  } catch {
    return ') 0 0 0 0 0 0 0 0 0 0 0 0 0';
  }
}

/** Resolves when no engine of the worker computes: each was interrupted, or killed after its grace period. */
export async function enginesRest(worker: ClusterNode): Promise<void> {
  let [before, looks] = [-1, 0];
  const isAtRest = (): Promise<boolean> => {
    const now = ticksOf(worker);
    looks = now === before ? looks + 1 : 0;
    before = now;
    return Promise.resolve(looks >= REST_LOOKS);
  };
  await until(isAtRest, `the engines of ${worker.id} go on`);
}

async function names(folder: string): Promise<readonly string[]> {
  return readdir(folder).catch(() => []);
}
