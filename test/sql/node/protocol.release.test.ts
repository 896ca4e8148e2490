/** The protocol as a worker speaks it that has nothing of ours but `proto/`. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { serve } from '../../rig/shuffle-node.ts';
import { RawWorker } from '../../rig/raw-grpc.ts';
import type { Message } from '../../rig/raw-grpc.ts';
import type { PartitionRange } from '../../../src/scheduler/contract/index.ts';
import { duckdbVersion } from '../../../src/sql/worker/duckdb-version.ts';
import { openNode, writeParquet } from './node.ts';
import type { QueryBench } from './node.ts';

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

const folder = mkdtempSync(join(tmpdir(), 'millrace-protocol-'));
const table = join(folder, 'words.parquet');
const answer = join(folder, 'answer.parquet');
const BYTES = Buffer.from('a'.repeat(60) + 'b'.repeat(40));
const SETTINGS = { singleFragmentBytes: 0, broadcastThresholdBytes: 0, shufflePartitions: 2 };

let bench: QueryBench;

beforeAll(async () => {
  bench = await openNode({
    MILLRACE_SLOTS: '0',
    MILLRACE_SESSION_TTL_MS: '60000',
    MILLRACE_PLAN_TIMEOUT_MS: '100000',
  });
  await writeParquet({
    [table]: `SELECT md5(i::VARCHAR) AS v FROM range(1000) t(i)`,
    [answer]: `SELECT i::VARCHAR AS c0, i * 10 AS c1 FROM range(3) t(i)`,
  });
});

afterAll(async () => {
  await bench.close();
  rmSync(folder, { recursive: true, force: true });
});

let workers = 0;

/** Registered, listening, and with the tasks of the first stage of a query of its own. */
async function working(): Promise<{
  worker: RawWorker;
  id: string;
  tasks: Message[];
  asked: PartitionRange[];
}> {
  workers += 1;
  const name = `raw-${workers}`;
  const asked: PartitionRange[] = [];
  const { address } = await serve({
    register: () => {},
    async *fetch(range) {
      asked.push(range);
      const payload = BYTES.subarray(
        range.startOffset,
        range.startOffset + (range.maxBytes || 100),
      );
      const endOffset = range.startOffset + payload.length;
      const words = { watermarkOffset: 100, isFinalized: true, epoch: 1 };
      yield { payload, startOffset: range.startOffset, endOffset, ...words };
    },
  });
  const worker = new RawWorker(bench.grpc, name);
  const capabilities = { duckdb: duckdbVersion(), only: name };
  await worker.register({ address, capabilities_json: Buffer.from(JSON.stringify(capabilities)) });
  const { body, text } = await bench.call('POST', '', {
    sql: 'SELECT v, count(*) AS n FROM words GROUP BY v',
    tables: { words: table },
    settings: SETTINGS,
  });
  if (body.id === undefined) throw new Error(text);
  return { worker, id: body.id, tasks: await worker.tasks(), asked };
}

const whole = (bytes: number, more: Message = {}): Message => ({
  bytes,
  rows: 5,
  batches: 1,
  stream_epoch: 1,
  finalized: true,
  segments: bytes === 0 ? [] : [{ bytes, crc32: crc32(BYTES) }],
  ...more,
});
const both = (bytes: number): Message[] =>
  [0, 1].map((reduce_partition) => ({ ...whole(bytes), reduce_partition }));

test('a worker that speaks only the protocol runs a query to its end', async () => {
  const { worker, id, tasks, asked } = await working();
  expect(
    tasks.map(({ query_id, stage_id, task_id, attempt, layout_version }) => [
      ...[query_id, stage_id, task_id, attempt, layout_version],
    ]),
  ).toEqual(tasks.map((_, at) => [id, 0, at, 1, 1]));
  const fragment = JSON.parse(String(tasks[0]?.['plan_fragment_json'])) as Message;
  expect(fragment).toMatchObject({ stage: 0, task: 0, output: { kind: 'hash', partitions: 2 } });
  expect(tasks[0]?.['input_json']).toHaveLength(0);

  // The leader asks for an output that it does not know, as a new leader would.
  expect(await worker.report(tasks[0] ?? {}, 'TASK_STATE_SUCCEEDED')).toBe(
    'VERDICT_NOT_REGISTERED',
  );
  for (const task of tasks) await worker.registerOutput(task, both(100));

  // Registered outputs count before their tasks are done, and are served by the leader.
  const { status } = await worker.grpc.call('ControlPlane.GetQueryStatus', { query_id: id });
  expect(status?.stage_metrics[0]).toMatchObject({
    map_output_rows: 10 * tasks.length,
    map_output_bytes: 200 * tasks.length,
    map_output_batches: 2 * tasks.length,
    running_tasks: tasks.length,
  });
  const key = { query_id: id, stage_id: 0, map_task: 0, attempt: 1, reduce_partition: 1 };
  const fetch = (more: Message): Promise<Message[]> =>
    worker.grpc.stream('ShuffleService.FetchShufflePartition', { ...key, ...more });
  expect(await fetch({ start_offset: 50, max_bytes: 20 })).toMatchObject([
    { start_offset: 50, end_offset: 70, watermark_offset: 100, finalized: true, stream_epoch: 1 },
  ]);
  expect(asked).toMatchObject([{ query: id, stage: 0, mapTask: 0, partition: 1, startOffset: 50 }]);
  for (const task of tasks) {
    expect(await worker.report(task, 'TASK_STATE_SUCCEEDED')).toBe('VERDICT_OK');
    worker.held = [];
  }

  // Done and durable: still served by its key, and by no other.
  expect((await fetch({}))[0]?.['payload']).toEqual(BYTES);
  for (const other of [{ attempt: 2 }, { fence: 99 }, { map_task: 7 }, { reduce_partition: 2 }])
    await expect(fetch(other)).rejects.toMatchObject({
      code: 9,
      details: expect.stringContaining('map output not registered for requested attempt') as string,
    });

  // Rows for the client, in chunks, from several tasks.
  const last = await worker.tasks();
  const file = readFileSync(answer);
  const middle = 100;
  for (const task of last) {
    expect(task).toMatchObject({ stage_id: 1, attempt: 1 });
    expect(await worker.registerRows(task, 0, file.subarray(0, middle))).toEqual({ next_chunk: 1 });
    const rest = { last: true, rows: 3 };
    expect(await worker.registerRows(task, 1, file.subarray(middle), rest)).toEqual({
      next_chunk: 2,
    });
    expect(await worker.report(task, 'TASK_STATE_SUCCEEDED')).toBe('VERDICT_OK');
  }
  await bench.call('GET', `/${id}?wait=20000`);
  const rows = await bench.call('GET', `/${id}/results`);
  const expected = last.flatMap(() => [
    ['0', '0'],
    ['1', '10'],
    ['2', '20'],
  ]);
  expect(rows.body.rows).toEqual(expected);
});

test('results are fetched again from where a stream broke', async () => {
  const { worker, id, tasks } = await working();
  for (const task of tasks) {
    await worker.registerOutput(task, both(0));
    await worker.report(task, 'TASK_STATE_SUCCEEDED');
  }
  worker.held = [];
  for (const task of await worker.tasks()) {
    await worker.registerRows(task, 0, readFileSync(answer), { last: true, rows: 3 });
    await worker.report(task, 'TASK_STATE_SUCCEEDED');
  }
  await bench.call('GET', `/${id}?wait=20000`);
  const fetch = (more: Message = {}): Promise<Message[]> =>
    worker.grpc.stream('ControlPlane.FetchQueryResults', { query_id: id, format: 'csv', ...more });
  const [first = {}] = await fetch();
  const text = String(first['payload']);
  expect(first).toMatchObject({ start_offset: 0, end_offset: text.length, crc32: crc32(text) });
  const [rest = {}] = await fetch({ start_offset: 5, crc32: crc32(text.slice(0, 5)) });
  expect(rest).toMatchObject({ start_offset: 5, end_offset: text.length, crc32: crc32(text) });
  expect(String(rest['payload'])).toBe(text.slice(5));
  expect(await fetch({ start_offset: text.length, crc32: crc32(text) })).toEqual([]);
  for (const other of [
    { start_offset: 5, crc32: 1 },
    { start_offset: 9_999, crc32: 1 },
  ])
    await expect(fetch(other)).rejects.toMatchObject({ code: 9 });
});

test('refuses outputs of others, of other attempts, epochs and layouts', async () => {
  const { worker, id, tasks } = await working();
  const [task = {}] = tasks;
  const refused = async (call: Promise<unknown>, words: string): Promise<void> => {
    await expect(call).rejects.toMatchObject({ details: expect.stringContaining(words) as string });
  };
  const put = (partitions: Message[], more: Message = {}): Promise<Message> =>
    worker.registerOutput(task, partitions, more);
  const stranger = new RawWorker(bench.grpc, 'stranger');
  await refused(stranger.registerOutput(task, both(1)), 'has no such session');
  await stranger.register();
  await refused(stranger.registerOutput(task, both(1)), 'This session does not run attempt 1');
  await refused(put([], { worker_id: '', session_id: '' }), 'does not say who makes it');
  await refused(put([], { attempt: 2 }), 'It runs attempt 1');
  await refused(put([], { fence: 77 }), 'does not run attempt 1 (fence 77)');
  await refused(put([], { query_id: 'nobody' }), 'does not run');
  await refused(put([], { layout_version: 2 }), 'about layout 2, but the leader has layout 1');
  await refused(put([], { layout_fingerprint: 3 }), 'a layout of 3 partitions');
  await refused(put([{ ...whole(1), reduce_partition: 2 }]), 'The stage has 2 partitions');
  await refused(put([whole(10, { segments: [{ bytes: 9 }] })]), 'segments have 9 bytes');
  await refused(put([whole(10, { finalized: false, committed_offset: 11 })]), 'Only 10 bytes');

  // A stream grows within an epoch, and a newer epoch begins it anew.
  const growing = (bytes: number, epoch: number): Message =>
    whole(bytes, { stream_epoch: epoch, finalized: false, committed_offset: bytes, segments: [] });
  await put([growing(50, 2)]);
  await refused(put([growing(40, 2)]), '50 of its 50 bytes are registered');
  await refused(put([growing(60, 1)]), 'about epoch 1, but the leader has epoch 2');
  await put([growing(10, 3)]);
  const range = { query_id: id, stage_id: 0, map_task: task['task_id'], attempt: 1 };
  const fetch = (more: Message): Promise<Message[]> =>
    worker.grpc.stream('ShuffleService.FetchShufflePartition', { ...range, ...more });
  await refused(fetch({ min_stream_epoch: 4 }), 'about epoch 4');
  await refused(fetch({ layout_version: 2 }), 'about layout 2');
  expect(await fetch({ reduce_partition: 1 })).toMatchObject([{ finalized: false, end_offset: 0 }]);
  // Not finished: the task cannot be completed with it.
  expect(await worker.report(task, 'TASK_STATE_SUCCEEDED')).toBe('VERDICT_NOT_REGISTERED');
  await refused(worker.registerRows(task, 0, BYTES), 'Stage 0 is not the last one');
  await bench.call('POST', `/${id}/cancel`);
});

test('tells a worker without a session what to do, in every call', async () => {
  const worker = new RawWorker(bench.grpc, 'early');
  const calls = [
    'HeartbeatService.Heartbeat',
    'ControlPlane.GetTask',
    'ControlPlane.ReportTaskStatus',
  ];
  for (const call of calls) {
    for (const who of [worker.who, { worker_id: 'early' }])
      await expect(worker.grpc.call(call, who)).rejects.toMatchObject({
        code: 5,
        details: expect.stringContaining('RegisterWorker') as string,
      });
  }
});
