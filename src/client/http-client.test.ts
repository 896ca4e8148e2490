import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { HastyClock } from '../../test/rig/hasty-clock.ts';
import { problem, ScriptedServer } from '../../test/rig/scripted-server.ts';
import type { JobId, NodeId, ScheduleId, TaskId } from '../scheduler/core/index.ts';
import { HttpClient } from './http-client.ts';

const job = 'j-1' as JobId;
const task = 'fetch' as TaskId;
const node = 'w-1' as NodeId;
const schedule = 's-1' as ScheduleId;
const asOf = { seq: 9, at: '2026-11-15T06:00:00.000Z' };

let server: ScriptedServer;
let client: HttpClient;

beforeEach(async () => {
  server = await ScriptedServer.start();
  client = new HttpClient({ server: server.url, clock: new HastyClock() });
});
afterEach(async () => {
  client.end();
  await server.close();
});

/** What the last request said. */
function last() {
  const { method, path, body, headers } = server.received.at(-1) ?? expect.fail('nothing came');
  return { call: `${method} ${path}`, body, jobId: headers['millrace-job-id'] };
}

type Calls = readonly [string, (client: HttpClient) => Promise<unknown>, string?][];
const calls: Calls = [
  ['GET /api/v1/jobs/j-1', (client) => client.job(job)],
  ['POST /api/v1/jobs/j-1/cancel', (client) => client.cancel(job, 'why'), '{"reason":"why"}'],
  ['POST /api/v1/jobs/j-1/cancel', (client) => client.cancel(job), '{}'],
  [
    'POST /api/v1/jobs/j-1/rerun',
    (client) => client.rerun(job, { expectedRun: 4 }),
    '{"expectedRun":4}',
  ],
  ['POST /api/v1/jobs/j-1/fork', (client) => client.forkJob(job, task), '{"from":"fetch"}'],
  ['POST /api/v1/jobs/j-1/tasks/fetch/redrive', (client) => client.redrive(job, task)],
  ['GET /api/v1/jobs/j-1/tasks/fetch/explain', (client) => client.explain(job, task)],
  ['POST /api/v1/jobs/j-1/signals/go', (client) => client.signal(job, 'go', [1]), '[1]'],
  ['GET /api/v1/nodes', (client) => client.listNodes()],
  ['POST /api/v1/nodes/w-1/drain', (client) => client.drain(node)],
  ['POST /api/v1/nodes/w-1/release', (client) => client.release(node)],
  ['GET /api/v1/leader', (client) => client.leader()],
  ['GET /api/v1/schedules', (client) => client.listSchedules()],
  ['PUT /api/v1/schedules/s-1', (client) => client.putSchedule(schedule, { x: 1 }), '{"x":1}'],
  ['POST /api/v1/schedules/s-1/pause', (client) => client.changeSchedule(schedule, 'pause')],
  ['POST /api/v1/schedules/s-1/trigger', (client) => client.changeSchedule(schedule, 'trigger')],
];

test.each(calls)('%s has its method', async (call, ask, body = '') => {
  const json = { id: 'x', tasks: [], nodes: [], schedules: [], why: '', nodeId: '', asOf };
  server.script(call, { json });
  expect(await ask(client)).toEqual(json);
  expect(last()).toMatchObject({ call, body });
});

test('deleting a schedule expects an empty response', async () => {
  server.script('DELETE /api/v1/schedules/s-1', { status: 204, text: '' });
  expect(await client.deleteSchedule(schedule)).toBeUndefined();
});

test('a rerun is tied to the run that was found, so that repeating it is harmless', async () => {
  const shape = { id: 'j-1', run: 3, state: 'failed', tasks: [], asOf };
  server.script('GET /api/v1/jobs/j-1', { json: shape });
  server.script('POST /api/v1/jobs/j-1/rerun', 'hang up', { json: { ...shape, run: 4 } });
  expect(await client.rerun(job)).toMatchObject({ run: 4 });
  expect(last().body).toBe('{"expectedRun":3}');
});

test('a signal has one id, however often it is sent, and another one than the next', async () => {
  const json = { id: 'j-1', asOf };
  server.script('POST /api/v1/jobs/j-1/signals/go', 'hang up', { json }, { json }, { json });
  await client.signal(job, 'go', null);
  await client.signal(job, 'go', null);
  await client.signal(job, 'go', null, { signalId: 'mine' });
  const [first, again, second, third] = server.received.map(
    ({ headers }) => headers['idempotency-key'],
  );
  expect(first).toMatch(/^[0-9a-f-]{36}$/);
  expect(again).toBe(first);
  expect(second).not.toBe(first);
  expect(third).toBe('mine');
});

test('lists are read page after page', async () => {
  const first = { jobs: [{ id: 'a' }], cursor: 'next', asOf };
  const second = { jobs: [{ id: 'b' }], cursor: null, asOf };
  server.script('GET /api/v1/jobs', { json: first }, { json: second });
  const pages = [];
  for await (const page of client.jobPages({ state: 'failed', name: 'n', limit: 1 }))
    pages.push(page);
  expect(pages).toEqual([first, second]);
  expect(server.received.map(({ query }) => query)).toEqual([
    { state: 'failed', name: 'n', limit: '1' },
    { state: 'failed', name: 'n', limit: '1', cursor: 'next' },
  ]);
});

describe('many documents', () => {
  const CALL = 'POST /api/v1/jobs';
  const taken = (count: number) =>
    Array.from({ length: count }, (_, at) => ({ id: `x.${at}`, state: 'queued' }));
  const error = { code: 'bad_input', detail: 'The list is empty.', path: '/tasks', status: 400 };

  test('are accepted or refused one by one', async () => {
    const [first] = taken(1);
    server.script(CALL, { status: 207, json: [first, { error }] });
    const answers = await client.submitDocuments([{ a: 1 }, {}]);
    expect(answers).toMatchObject([first, { code: 'bad_input', path: '/tasks' }]);
    expect(last().body).toBe('[{"a":1},{}]');
    expect(last().jobId).toMatch(/^[0-9a-f-]{36}$/);
  });

  test('are sent in portions, each under its own id', async () => {
    server.script(CALL, { json: taken(1_000) }, { json: taken(5) });
    expect(await client.submitDocuments(Array.from({ length: 1_005 }))).toHaveLength(1_005);
    expect(new Set(server.received.map(({ headers }) => headers['millrace-job-id'])).size).toBe(2);
  });

  test('are sent again under the same id when the leader was lost half-way', async () => {
    const deposed = { error: { code: 'deposed', detail: 'Another leads.', status: 503 } };
    server.script(CALL, { status: 207, json: [...taken(1), deposed] }, { json: taken(2) });
    expect(await client.submitDocuments([1, 2])).toMatchObject(taken(2));
    expect(new Set(server.received.map(({ headers }) => headers['millrace-job-id'])).size).toBe(1);
  });

  test('that were accepted are returned when the rest fails', async () => {
    const documents = Array.from({ length: 1_001 }, () => ({}));
    server.script(
      CALL,
      { json: taken(1_000) },
      problem(413, { code: 'too_large', detail: 'Big.' }),
    );
    const answers = await client.submitDocuments(documents);
    expect(answers.slice(0, 1_000)).toMatchObject(taken(1_000));
    expect(answers[1_000]).toMatchObject({ code: 'too_large' });
    server.script(CALL, problem(413, { code: 'too_large', detail: 'Big.' }));
    await expect(client.submitDocuments(documents)).rejects.toMatchObject({ code: 'too_large' });
    server.script(CALL, { json: { id: 'only one' } });
    await expect(client.submitDocuments([1, 2])).rejects.toMatchObject({ code: 'incompatible' });
  });
});
