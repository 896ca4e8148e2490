/** A worker that sends what it should not: each call is refused, the leader goes on, and others are not disturbed. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { RawWorker } from '../../rig/raw-grpc.ts';
import type { Message } from '../../rig/raw-grpc.ts';
import { duckdbVersion } from '../../../src/sql/worker/duckdb-version.ts';
import { openNode, writeParquet } from './node.ts';
import type { QueryBench } from './node.ts';

vi.setConfig({ testTimeout: 120_000, hookTimeout: 60_000 });

const folder = mkdtempSync(join(tmpdir(), 'millrace-hostile-'));
const answer = join(folder, 'answer.parquet');
let bench: QueryBench;

beforeAll(async () => {
  bench = await openNode({ MILLRACE_SLOTS: '0', MILLRACE_PLAN_TIMEOUT_MS: '100000' });
  await writeParquet({ [answer]: 'SELECT 1::BIGINT AS c0' });
});

afterAll(async () => {
  await bench.close();
  rmSync(folder, { recursive: true, force: true });
});

async function joined(name: string): Promise<RawWorker> {
  const worker = new RawWorker(bench.grpc, name);
  const capabilities_json = Buffer.from(JSON.stringify({ duckdb: duckdbVersion() }));
  await worker.register({ capabilities_json });
  return worker;
}

/** A task that makes the whole result. */
async function resultTask(worker: RawWorker): Promise<Message> {
  await bench.call('POST', '', { sql: 'select count(*) from range(10)' });
  const [task] = await worker.tasks(1);
  return task ?? expect.fail('there is no work');
}

const refusalOf = (call: Promise<unknown>): Promise<{ code: number; details: string }> =>
  call.then(
    () => expect.fail('the call was accepted'),
    (error: unknown) => error as { code: number; details: string },
  );

test('invalid, repeated, early or foreign chunks change nothing', async () => {
  const worker = await joined('hostile');
  const task = await resultTask(worker);
  const file = readFileSync(answer);
  const huge = await refusalOf(worker.registerRows(task, 0, Buffer.alloc(25 * 2 ** 20)));
  expect(huge.code).toBe(8);
  for (const chunk of [1, 2 ** 32 - 1])
    expect((await refusalOf(worker.registerRows(task, chunk, file))).details).toContain('chunk 0');
  expect(await worker.registerRows(task, 0, file.subarray(0, 10))).toEqual({ next_chunk: 1 });
  const differs = await refusalOf(worker.registerRows(task, 0, file.subarray(0, 11)));
  expect(differs.details).toContain('with other bytes');
  const wrong: Message[] = [
    { stage_id: 9 },
    { task_id: 5 },
    { attempt: 7 },
    { fence: 2 ** 40 },
    { query_id: '../../etc' },
    { query_id: 'x'.repeat(100_000) },
    { session_id: 'guessed' },
    { worker_id: '', session_id: '' },
  ];
  for (const more of wrong) {
    const { code } = await refusalOf(worker.registerRows(task, 1, file, more));
    expect([3, 5, 9]).toContain(code);
  }
  const other = await joined('other');
  const taken = await refusalOf(other.registerRows(task, 1, file));
  expect(taken.details).toContain('This session does not run');
  const rest = { last: true, rows: 1 };
  expect(await worker.registerRows(task, 1, file.subarray(10), rest)).toEqual({ next_chunk: 2 });
  expect(await worker.report(task, 'TASK_STATE_SUCCEEDED')).toBe('VERDICT_OK');
  const id = String(task.query_id);
  await bench.call('GET', `/${id}?wait=20000`);
  expect((await bench.call('GET', `/${id}/results`)).body.rows).toEqual([['1']]);
});

test('invalid results fail their query, and only that', async () => {
  const worker = await joined('liar');
  const results = [
    '{',
    'null',
    '{}',
    '{"at":{},"parts":[]}',
    '[]',
    '"\\ud800"',
    '9'.repeat(5_000_000),
  ];
  for (const text of results) {
    worker.held = [];
    const task = await resultTask(worker);
    const completed = { result_json: Buffer.from(text) };
    const done = worker.report(task, 'TASK_STATE_UNSPECIFIED', { completed });
    expect(await done.catch(() => 'refused')).toMatch(/^(VERDICT_OK|refused)$/);
    const id = String(task.query_id);
    await bench.call('POST', `/${id}/cancel`);
    const { status, body } = await bench.call('GET', `/${id}?wait=20000`);
    expect([status, body.state]).not.toEqual([200, 'succeeded']);
    expect(status).toBe(200);
  }
});

test('rows that are not Parquet fail only their reader', async () => {
  const worker = await joined('garbage');
  const task = await resultTask(worker);
  await worker.registerRows(task, 0, Buffer.from('not parquet'), { last: true, rows: 1 });
  await worker.report(task, 'TASK_STATE_SUCCEEDED');
  const id = String(task.query_id);
  await bench.call('GET', `/${id}?wait=20000`);
  const { status, body } = await bench.call('GET', `/${id}/results?format=csv`);
  expect(status).toBeGreaterThanOrEqual(400);
  expect(body.code).toBeDefined();
});

test('the leader has not reloaded its state, and serves', async () => {
  const metrics = await (await fetch(`${bench.url}/metrics`)).text();
  expect(/^millrace_leader_reloads (\d+)$/m.exec(metrics)?.[1]).toBe('0');
  const worker = await joined('good');
  const task = await resultTask(worker);
  await worker.registerRows(task, 0, readFileSync(answer), { last: true, rows: 1 });
  expect(await worker.report(task, 'TASK_STATE_SUCCEEDED')).toBe('VERDICT_OK');
});
