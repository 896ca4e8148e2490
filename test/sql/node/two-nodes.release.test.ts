import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { openPostgresStore } from '../../../src/scheduler/store/index.ts';
import { millraceDatabase } from '../../rig/millrace-database.ts';
import type { FreshDatabase } from '../../rig/postgres.ts';
import { openNode } from './node.ts';
import type { QueryBench } from './node.ts';

vi.setConfig({ testTimeout: 60_000, hookTimeout: 120_000 });

let database: FreshDatabase;
let leader: QueryBench;
let other: QueryBench;

beforeAll(async () => {
  database = await millraceDatabase();
  const { url } = database;
  const store = (): ReturnType<typeof openPostgresStore> => openPostgresStore({ url });
  const shared = { MILLRACE_DATABASE: url, MILLRACE_SHUFFLE_BY_NETWORK: 'true' };
  leader = await openNode({ ...shared, MILLRACE_ROLE: 'leader', MILLRACE_NODE_ID: 'one' }, store);
  const idle = { MILLRACE_ROLE: 'worker', MILLRACE_NODE_ID: 'two', MILLRACE_SLOTS: '0' };
  other = await openNode({ ...shared, ...idle }, store);
});

afterAll(async () => {
  await other.close();
  await leader.close();
  await database.drop();
});

test('a node that does not lead shows queries and sends their rows from where they lie', async () => {
  const sql = "select i, repeat('x', 40) || hash(i) as text from range(20000) t(i) order by i";
  const refused = await other.call('POST', '', { sql });
  expect([refused.status, refused.body.code]).toEqual([503, 'not_leader']);
  expect(refused.text).toContain(leader.url);
  const { body } = await leader.call('POST', '', { sql });
  const ended = await other.call('GET', `/${body.id}?wait=30000`);
  expect(ended.body).toMatchObject({ state: 'succeeded', stages: [{ state: 'succeeded' }] });
  const rows = await other.call('GET', `/${body.id}/results`);
  expect(rows.body.rows).toHaveLength(20_000);
  const lines = await other.call('GET', `/${body.id}/results?format=csv`);
  expect(lines.text.trim().split('\n')).toHaveLength(20_001);
  const metrics = await (await fetch(`${other.url}/metrics`)).text();
  const fetched = /millrace_query_fetched_bytes_total (\d+)/.exec(metrics)?.[1];
  expect(Number(fetched)).toBeGreaterThan(256 * 1_024);
  expect((await other.call('GET', '')).body.queries).toMatchObject([{ id: body.id }]);
});
