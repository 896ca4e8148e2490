/** Custom operators of real workers when the leader is killed, a module changes on the disk, or one declares another operator. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { service as healthService } from 'grpc-health-check';
import { expect, onTestFinished, test } from 'vitest';
import { LeaderChannel } from '../../src/edge/grpc/index.ts';
import { duckdbVersion } from '../../src/sql/worker/duckdb-version.ts';
import type { Cluster } from '../rig/cluster/cluster.ts';
import {
  LONG_SESSIONS,
  eventsOf,
  expectCleanEnd,
  startTestCluster,
} from '../rig/cluster/test-cluster.ts';
import { RawWorker } from '../rig/raw-grpc.ts';
import { until } from '../rig/until.ts';
import { writeParquet } from '../sql/node/node.ts';

const MILLRACE = new URL('../../dist/client/millrace.js', import.meta.url).href;
const LIMIT_MS = 60_000;
const DISTRIBUTED = { singleFragmentBytes: 0, broadcastThresholdBytes: 0, shufflePartitions: 2 };

/** `tally` counts rows when the gate is open, and leaves a line for each run. */
function moduleWith(cluster: Cluster, gradeType: string): string {
  return `import { appendFileSync, existsSync } from 'node:fs';
    import { setTimeout } from 'node:timers/promises';
    import { defineOperator } from ${JSON.stringify(MILLRACE)};
    export const all = [
      defineOperator({
        name: 'tally', output: { n: 'BIGINT' }, distribution: 'single',
        async *run(batches) {
          let n = 0;
          for await (const { rowCount } of batches) n += rowCount;
          appendFileSync(${JSON.stringify(cluster.file('runs'))}, 'run\\n');
          while (!existsSync(${JSON.stringify(cluster.file('gate'))})) await setTimeout(20);
          yield { columns: { n: [n] } };
        },
      }),
      defineOperator({
        name: 'endless', output: { n: 'BIGINT' },
        async *run() { for (;;) yield { columns: { n: new BigInt64Array(1000) } }; },
      }),
      defineOperator({ name: 'grade', output: { n: '${gradeType}' }, async *run() {} }),
    ];`;
}

interface Query {
  readonly id: string;
  readonly state: string;
  readonly waiting: { readonly why: string } | null;
  readonly error: { readonly code: string; readonly message: string } | null;
}

class Queries {
  readonly #cluster: Cluster;
  readonly #table: string;

  constructor(cluster: Cluster, table: string) {
    this.#cluster = cluster;
    this.#table = table;
  }

  async submit(sql: string, settings: object = {}): Promise<string> {
    const body = { sql, tables: { t: this.#table }, settings, idempotencyKey: sql };
    const answer = await this.#call<Query>('POST', '', body);
    return answer.id;
  }

  seen = (id: string): Promise<Query> => this.#call('GET', `/${id}`);

  async ended(id: string): Promise<Query> {
    await this.#cluster.client.waitForJob(id, LIMIT_MS);
    return this.seen(id);
  }

  rows = async (id: string): Promise<unknown> =>
    (await this.#call<{ rows: unknown }>('GET', `/${id}/results`)).rows;

  async #call<T>(method: 'GET' | 'POST', path: string, body?: unknown): Promise<T> {
    const given = body === undefined ? {} : { body };
    const call = { method, path: `/api/v1/queries${path}`, ...given };
    return (await this.#cluster.client.call(call)) as T;
  }
}

async function health(address: string): Promise<string> {
  const channel = new LeaderChannel({ addresses: [address], tls: null });
  onTestFinished(() => channel.close());
  const answer = channel.unary(healthService['Check']!, { service: '' }, { deadlineMs: 5_000 });
  return answer.then(
    (said) => (said as { readonly status: string }).status,
    () => 'nobody answers',
  );
}

/** Registered with an operator that no other worker has. */
async function rawWorker(address: string): Promise<RawWorker> {
  const worker = new RawWorker(address, 'raw');
  const elsewhere = {
    ...{
      name: 'elsewhere',
      kind: 'operator',
      input: null,
      output: [{ name: 'n', type: 'BIGINT' }],
    },
    ...{ distribution: 'any', parameters: [], isDeterministic: true },
  };
  await worker.register({
    address: '127.0.0.1:1',
    executors: ['sql.fragment', 'operator:elsewhere'],
    capabilities_json: Buffer.from(JSON.stringify({ duckdb: duckdbVersion() })),
    operators_json: Buffer.from(JSON.stringify([elsewhere])),
  });
  return worker;
}

/** w-1 has registered its operators; then the module is replaced on the disk. */
async function changedModule(cluster: Cluster, queries: Queries, module: string): Promise<string> {
  await cluster.startWorker({ modules: [module], args: ['--expect', 'tally'] });
  writeFileSync(module, 'export {};');
  const settings = { ...DISTRIBUTED, maxAttempts: 1 };
  const id = await queries.submit('SELECT n FROM tally((SELECT id FROM t))', settings);
  const isReleased = ({ event }: { readonly event: string }): boolean => event === 'released';
  const released = await cluster.client.waitForEvent(isReleased, { job: id });
  expect(JSON.parse(released.data)).toMatchObject({
    node: 'w-1',
    detail: { message: "custom physical operator 'tally' is not registered on worker" },
  });
  const isWaiting = async (): Promise<boolean> =>
    /w-1 reported a missing executor/.test((await queries.seen(id)).waiting?.why ?? '');
  await until(isWaiting, 'the query to say that w-1 lacks the operator', LIMIT_MS);
  expect(await cluster.client.nodes()).toMatchObject([{ id: 'w-1', quarantinedUntil: null }]);
  expect(existsSync(cluster.file('runs'))).toBe(false);
  return id;
}

/** Kills the leader. What was registered with the old one only is asked for again by the next one. */
async function killedLeader(cluster: Cluster, queries: Queries): Promise<void> {
  const leader = await cluster.leading();
  const early = await rawWorker(leader.plan.grpc);
  const sql = 'SELECT n, count(*) FROM elsewhere((SELECT id FROM t)) GROUP BY n';
  const exchange = await queries.submit(sql, DISTRIBUTED);
  const [task = {}] = await early.tasks(1);
  expect(task.query_id).toBe(exchange);
  const output = [
    { reduce_partition: 0, bytes: 0, rows: 0, batches: 0, stream_epoch: 1, finalized: true },
  ];
  await early.registerOutput(task, output);
  await leader.process.crash();
  await until(async () => (await cluster.leading()).id !== leader.id, 'another leader', LIMIT_MS);
  // The next one is known before it serves.
  const registered = async (): Promise<RawWorker | null> =>
    rawWorker((await cluster.leading()).plan.grpc).catch(() => null);
  const late = await until(registered, 'a registration with the next leader', LIMIT_MS);
  late.held = early.held;
  expect(await late.report(task, 'TASK_STATE_SUCCEEDED')).toBe('VERDICT_NOT_REGISTERED');
  await late.registerOutput(task, output);
  expect(await late.report(task, 'TASK_STATE_SUCCEEDED')).toBe('VERDICT_OK');
  await cluster.client.call({ method: 'POST', path: `/api/v1/queries/${exchange}/cancel` });
}

/** One that expects what it lacks ends; one that declares another `grade` serves nothing until the old one is forgotten. */
async function refusedWorkers(cluster: Cluster, module: string): Promise<void> {
  const lacking = await cluster.planWorker({ modules: [module], args: ['--expect', 'taly'] });
  const isOver = lacking.launch().exited;
  expect(await health(lacking.plan.grpc)).not.toBe('SERVING');
  expect(await isOver).toEqual({ code: 2, signal: null });
  const other = cluster.file('other.mjs');
  writeFileSync(other, moduleWith(cluster, 'DOUBLE'));
  const refused = await cluster.planWorker({ modules: [other], args: ['--expect', 'grade'] });
  refused.launch();
  const isRefused = async (): Promise<boolean> =>
    /'grade' is known with another/.test(refused.output);
  await until(isRefused, 'the other declaration to be refused', LIMIT_MS);
  expect(await health(refused.plan.grpc)).toBe('NOT_SERVING');
  await cluster.client.call({ method: 'DELETE', path: '/api/v1/operators/grade' });
  await refused.process.line(refused.plan.ready, LIMIT_MS);
  expect(await health(refused.plan.grpc)).toBe('SERVING');
}

test('operators survive a killed leader, and workers that do not have what they declared cost nothing', async () => {
  const fixture = await startTestCluster({
    ...{ workers: 0, slots: 1, leaders: 2 },
    settings: { ...LONG_SESSIONS, quarantineFailures: 1, quarantineJobs: 1 },
  });
  const { cluster } = fixture;
  const table = cluster.file('t.parquet');
  await writeParquet({ [table]: 'SELECT i AS id FROM range(10000) t(i)' });
  const queries = new Queries(cluster, table);
  const module = cluster.file('operators.mjs');
  writeFileSync(module, moduleWith(cluster, 'BIGINT'));
  const tally = await changedModule(cluster, queries, module);

  // The next worker has the operator, and is in the middle of it when the leader is killed.
  writeFileSync(module, moduleWith(cluster, 'BIGINT'));
  await cluster.startWorker({ modules: [module], args: ['--operator-rows-max', '5000'] });
  const isAtWork = async (): Promise<boolean> => existsSync(cluster.file('runs'));
  await until(isAtWork, 'the operator to run', LIMIT_MS);
  await killedLeader(cluster, queries);
  writeFileSync(cluster.file('gate'), '');
  expect(await queries.ended(tally)).toMatchObject({ state: 'succeeded', error: null });
  expect(await queries.rows(tally)).toEqual([['10000']]);
  expect(readFileSync(cluster.file('runs'), 'utf8')).toBe('run\n');
  const kinds = (await eventsOf(cluster, tally)).map(({ kind }) => kind);
  for (const counted of ['failed', 'retried', 'reassigned']) expect(kinds).not.toContain(counted);

  const endless = await queries.submit('SELECT n FROM endless((SELECT id FROM t))');
  expect((await queries.ended(endless)).error).toMatchObject({
    code: 'operator_invalid',
    message: expect.stringMatching(/'endless'.*more than 5000 rows without asking/) as string,
  });
  expect((await eventsOf(cluster, endless)).map(({ kind }) => kind)).not.toContain('retried');
  await refusedWorkers(cluster, module);
  await expectCleanEnd(fixture);
});
