import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import type { JobShape, TaskShape } from '../../../src/scheduler/contract/index.ts';
import type { QueryPlan } from '../../../src/sql/plan/index.ts';
import { TestProcess } from '../../rig/cluster/process.ts';
import { openNode, writeParquet } from './node.ts';
import type { QueryBench } from './node.ts';
import { until } from '../../rig/until.ts';

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

const folder = mkdtempSync(join(tmpdir(), 'millrace-operators-'));
const tables = { t: join(folder, 't.parquet') };
let bench: QueryBench;

/** As `defineOperator` makes it. */
const GEO = `export const geo = {
  kind: 'millrace.operator', name: 'geo', input: null, output: { a: 'INTEGER' }, distribution: 'any',
  params: null, deterministic: true, async *run() {},
};
`;

beforeAll(async () => {
  await writeParquet({ [tables.t]: 'SELECT i AS id, i % 3 AS g FROM range(100) t(i)' });
  bench = await openNode();
});

afterAll(async () => {
  await bench.close();
  rmSync(folder, { recursive: true });
});

async function get<T>(path: string): Promise<T> {
  return (await (await fetch(`${bench.url}/api/v1${path}`)).json()) as T;
}

const tasksOf = async (id: string): Promise<readonly TaskShape[]> =>
  (await get<JobShape>(`/jobs/${id}`)).tasks;

test('a stage that needs an operator waits for a node that has it, and the rest of the query does not', async () => {
  const sql = 'select g, sum(id) from t group by g order by g';
  const settings = { shufflePartitions: 2, singleFragmentBytes: 0, broadcastThresholdBytes: 0 };
  const explained = await bench.call('POST', '/explain', { sql, tables, settings });
  const plan = explained.body.plan as unknown as QueryPlan;
  const stages = plan.stages.map((stage) =>
    stage.id === 1 ? { ...stage, requires: ['geo'] } : stage,
  );
  const { body } = await bench.call('POST', '', { plan: { ...plan, stages }, tables });
  await until(
    async () => (await tasksOf(body.id)).some(({ waiting }) => waiting?.includes('no node fits')),
    'a task to wait for its operator',
  );
  const states = (await tasksOf(body.id)).map(({ id, state }) => `${id} ${state}`);
  expect(states.slice(0, 5)).toEqual([
    ...['plan succeeded', 's0.0 succeeded', 's0.1 succeeded'],
    ...['s1.0 ready', 's1.1 ready'],
  ]);
  expect(await get(`/jobs/${body.id}/tasks/s1.1/explain`)).toMatchObject({
    code: 'no_node_fits',
    nearest: [{ nodeId: 'solo', lacks: ["executor 'operator:geo'"] }],
  });
  const shown = await bench.call('GET', `/${body.id}`);
  const why = "waits for a worker: no node fits; the nearest, solo, lacks executor 'operator:geo'";
  expect(shown.body).toMatchObject({ state: 'running', waiting: { position: 0, why } });

  const module = join(folder, 'geo.mjs');
  writeFileSync(module, GEO);
  const worker = TestProcess.start([
    ...['worker', '--server', bench.grpc, '--node-id', 'able', '--slots', '1'],
    ...['--data', join(folder, 'able'), '--module', module],
  ]);
  await worker.line(/^millrace worker ready able$/);
  expect((await bench.call('GET', `/${body.id}?wait=30000`)).body.state).toBe('succeeded');
  expect((await bench.call('GET', `/${body.id}/results`)).body.rows).toEqual([
    ['0', '1683'],
    ['1', '1617'],
    ['2', '1650'],
  ]);
  for (const { id, node, attempt } of await tasksOf(body.id)) {
    if (id.startsWith('s1.')) expect([node, attempt]).toEqual(['able', 1]);
  }
  await worker.stop();
});
