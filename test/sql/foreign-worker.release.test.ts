/** A cluster of one worker of ours and one that knows nothing but the protocol: either may die, and the leader too. */
import { fileURLToPath } from 'node:url';
import { expect, onTestFailed, onTestFinished, test, vi } from 'vitest';
import { startCluster } from '../rig/cluster/cluster.ts';
import type { Cluster } from '../rig/cluster/cluster.ts';
import { TestProcess } from '../rig/cluster/process.ts';
import { freshDatabase } from '../rig/postgres.ts';
import type { Answer } from './contract-values.ts';
import { scratch } from './scratch.ts';
import { FORCED, nextOutput } from './sql-cluster.ts';
import { inLanes, knownQueries, tryKnown } from './trial.ts';
import type { Run } from './trial.ts';

vi.setConfig({ testTimeout: 240_000 });

const here = scratch();
const script = fileURLToPath(new URL('../../examples/foreign-worker/worker.js', import.meta.url));
const READY_MS = 30_000;
const LANES = 2;

const QUERIES = knownQueries().filter(({ name }) => /^q(01|03|05|06|10|12|14|19)$/.test(name));

async function startForeign(cluster: Cluster): Promise<TestProcess> {
  const servers = cluster.nodes.map(({ plan }) => plan.grpc).join(',');
  const args = ['--server', servers, '--id', 'foreign', '--folder', cluster.file('foreign')];
  const started = TestProcess.start(args, { script });
  await started.line(/^foreign worker ready/, READY_MS);
  return started;
}

interface Seen {
  readonly id: string;
  readonly state: string;
  readonly error: { readonly message: string } | null;
}

/** Asks whoever answers, until the query has ended. */
function runner(cluster: Cluster): Run {
  const call = <T>(method: 'GET' | 'POST', path: string, body?: object): Promise<T> =>
    cluster.client.call({
      method,
      path: `/api/v1/queries${path}`,
      ...(body ? { body } : {}),
    }) as Promise<T>;
  return async (sql) => {
    const settings = { ...FORCED, shufflePartitions: 4 };
    const { id } = await call<Seen>('POST', '', { sql, tables: here.tables.specs, settings });
    for (;;) {
      const { state, error } = await call<Seen>('GET', `/${id}?wait=20000`);
      if (state === 'succeeded') return call<Answer>('GET', `/${id}/results?format=json`);
      if (state !== 'running' && state !== 'queued') throw new Error(`${state}: ${error?.message}`);
    }
  };
}

/** Which worker has completed fragments so far. */
async function workedBy(cluster: Cluster): Promise<ReadonlySet<string>> {
  const { jobs } = (await cluster.client.call({
    method: 'GET',
    path: '/api/v1/jobs?limit=100',
  })) as {
    readonly jobs: readonly { readonly id: string }[];
  };
  const nodes = new Set<string>();
  for (const { id } of jobs) {
    const { tasks } = (await cluster.client.call({
      method: 'GET',
      path: `/api/v1/jobs/${id}`,
    })) as {
      readonly tasks: readonly { readonly node: string | null }[];
    };
    for (const { node } of tasks) if (node !== null) nodes.add(node);
  }
  return nodes;
}

test('a foreign worker and ours answer as DuckDB does, whoever is killed', async () => {
  const database = await freshDatabase();
  onTestFinished(() => database.drop());
  const cluster = await startCluster({
    database: database.url,
    ...{ leaders: 2, workers: 0, slots: 2, modules: [] },
  });
  const ours = await cluster.planWorker({ args: ['--shuffle-by-network'] });
  let foreign = await startForeign(cluster);
  onTestFailed(() => {
    for (const node of cluster.nodes) console.error(`--- ${node.id}\n${node.output}`);
    console.error(`--- foreign\n${foreign.output.text()}`);
  });
  const run = runner(cluster);
  const answers = (): Promise<readonly string[]> =>
    inLanes(QUERIES, LANES, (query) => tryKnown(here.oracle, query, run));

  // Alone: everything that a query needs of a worker.
  expect(
    await inLanes(QUERIES.slice(0, 2), 1, (query) => tryKnown(here.oracle, query, run)),
  ).toEqual([]);
  expect(await workedBy(cluster)).toEqual(new Set(['foreign']));

  await ours.start();
  expect(await answers()).toEqual([]);
  expect(await workedBy(cluster)).toEqual(new Set(['foreign', ours.id]));

  const whileRunning = async (act: () => Promise<void>): Promise<void> => {
    const output = nextOutput(cluster);
    const underway = answers();
    await output;
    await act();
    expect(await underway).toEqual([]);
  };
  await whileRunning(async () => {
    await ours.process.crash();
    await ours.start();
  });
  await whileRunning(async () => {
    await foreign.crash();
    foreign = await startForeign(cluster);
  });
  await whileRunning(async () => {
    await (await cluster.leading()).process.crash();
  });
  expect(await foreign.stop()).toMatchObject({ code: 0 });
  await cluster.stop();
});
