import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type ApiBench, type Heard, echo, openApi } from '../../../test/rig/api.ts';
import { MillraceError } from '../../scheduler/core/index.ts';
import type { LeaderServices } from '../../scheduler/contract/index.ts';
import type { ScriptedWorker } from '../../../test/rig/lead.ts';

let bench: ApiBench;

beforeEach(async () => {
  bench = await openApi();
});
afterEach(() => bench.close());

const get = (path: string): Promise<Heard> => bench.call('GET', `/api/v1${path}`);
const post = (path: string, body?: unknown, headers?: object): Promise<Heard> =>
  bench.call('POST', `/api/v1${path}`, body, headers);
const document = (more: object = {}): object => ({ name: 'n', tasks: [echo('a')], ...more });

/** Runs what can run; a task by the name `bad` fails. */
async function runAll(worker: ScriptedWorker): Promise<void> {
  for (;;) {
    const assignments = await worker.pollNow(100);
    if (assignments.length === 0) return;
    for (const { lease, taskId } of assignments) {
      if (taskId !== 'bad') await worker.complete(lease, { of: taskId });
      else {
        const error = { code: 'broken', message: 'no' };
        const item = { kind: 'failed', lease, error, failure: 'retryable' } as const;
        await bench.led.leader.workers.report(worker.session, [item]);
      }
    }
    worker.held.length = 0;
  }
}

describe('one task', () => {
  test('shows its input, placement, steps and, while it runs, its lease', async () => {
    const placement = { capabilities: { gpu: { '!=': 'none' } } };
    const tasks = [echo('a'), { ...echo('b', { dependsOn: ['a'], placement }), input: { n: 1 } }];
    await post('/jobs', document({ tasks }));
    const worker = await bench.worker();
    expect((await get('/jobs/made-1/tasks/b')).body).toMatchObject({
      ...{ id: 'b', state: 'blocked', dependsOn: ['a'], input: { n: 1 }, placement },
      ...{ steps: [], lease: null, asOf: {} },
    });
    const [first] = await worker.pollNow(1);
    const { lease } = first ?? expect.fail('there is no work');
    await bench.led.leader.workers.report(worker.session, [
      { kind: 'started', lease },
      { kind: 'step', lease, name: 'half', body: '{"done":true}' },
    ]);
    const { body } = await get('/jobs/made-1/tasks/a');
    expect(body).toMatchObject({
      ...{ id: 'a', state: 'running', attempt: 1, node: worker.session.nodeId, placement: null },
      steps: [{ name: 'half', result: { done: true } }],
      lease: { node: worker.session.nodeId, attempt: 1, fence: lease.fence },
    });
    const { since, expiresAt } = (body as unknown as { lease: Record<string, string> }).lease;
    expect(Date.parse(expiresAt ?? '') - Date.parse(since ?? '')).toBe(20_000);
    await worker.complete(lease, 7);
    expect((await get('/jobs/made-1/tasks/a')).body).toMatchObject({ result: 7, lease: null });
    expect((await get('/jobs/made-1/tasks/z')).status).toBe(404);
    expect((await get('/jobs/none/tasks/a')).status).toBe(404);
  });
});

describe('submitting', () => {
  test('answers 201 with id and state, and where to look', async () => {
    const { status, body, headers } = await post('/jobs', document());
    expect([status, body]).toEqual([201, { id: 'made-1', state: 'queued' }]);
    expect(headers.get('location')).toBe('/api/v1/jobs/made-1');
    expect((await get('/jobs/made-1')).body).toMatchObject({ name: 'n', state: 'queued' });
  });

  test('the same idempotency key again is 200 and the first job', async () => {
    await post('/jobs', document({ idempotencyKey: 'k' }));
    const again = await post('/jobs', document({ idempotencyKey: 'k' }));
    expect([again.status, again.body]).toEqual([200, { id: 'made-1', state: 'queued' }]);
  });

  test('with an id of its own a caller may repeat the call', async () => {
    for (const [status, path, headers] of [
      [201, '/jobs', { 'millrace-job-id': 'mine' }],
      [200, '/jobs', { 'millrace-job-id': 'mine' }],
      [200, '/jobs?id=mine', {}],
    ] as const) {
      const heard = await post(path, document(), headers);
      expect([heard.status, heard.body]).toEqual([status, { id: 'mine', state: 'queued' }]);
    }
    const both = await post('/jobs?id=other', document(), { 'millrace-job-id': 'mine' });
    expect([both.status, both.body.path]).toEqual([400, '?id']);
    const bad = await post('/jobs?id=no%2Fid', document());
    expect([bad.status, bad.body.path]).toEqual([400, '?id']);
  });

  test('bad input is 400 and names the field', async () => {
    const { status, body } = await post('/jobs', document({ tasks: [echo('a', { retri: {} })] }));
    expect(status).toBe(400);
    expect(body).toMatchObject({ code: 'bad_input', path: '/tasks/0/retri' });
    expect((await post('/jobs')).status).toBe(400);
    expect((await get('/jobs')).body.jobs).toEqual([]);
    const nul = await get('/jobs?name=a%00b');
    expect([nul.status, nul.body.path]).toEqual([400, '?name']);
  });

  test('a list is answered by a list; ids of a list are numbered', async () => {
    const list = [document(), document({ idempotencyKey: 'k' })];
    const first = await post('/jobs', list, { 'millrace-job-id': 'many' });
    expect([first.status, first.body]).toEqual([
      201,
      [
        { id: 'many.0', state: 'queued' },
        { id: 'many.1', state: 'queued' },
      ],
    ]);
    const again = await post('/jobs', list, { 'millrace-job-id': 'many' });
    expect([again.status, again.body]).toEqual([200, first.body]);
  });

  test('an invalid document in a list does not affect the others: 207, with its error in its place', async () => {
    const { status, body } = await post('/jobs', [document(), { tasks: [] }, document()]);
    expect(status).toBe(207);
    expect(body).toMatchObject([
      { state: 'queued' },
      { error: { code: 'bad_input', path: '/tasks', status: 400 } },
      { state: 'queued' },
    ]);
    expect((await get('/jobs')).body.jobs).toHaveLength(2);
  });

  test('a list must not be empty or too long', async () => {
    expect((await post('/jobs', [])).status).toBe(400);
    const many = Array.from({ length: 1_001 }, () => ({}));
    expect((await post('/jobs', many)).status).toBe(413);
  });
});

describe('on a node that does not lead', () => {
  const leader = { nodeId: 'n-2', url: 'http://10.0.0.2:7070', grpc: '10.0.0.2:7071', epoch: 7 };
  const refusal = new MillraceError({ code: 'not_leader', what: 'n-1 does not lead.', leader });

  beforeEach(async () => {
    await bench.close();
    bench = await openApi({
      leader: () => {
        throw refusal;
      },
    });
  });

  test.each([
    ['POST', '/api/v1/jobs', document()],
    ['POST', '/api/v1/jobs', [document(), document()]],
    ['POST', '/api/v1/jobs/j/cancel', undefined],
    ['POST', '/api/v1/jobs/j/rerun', undefined],
    ['POST', '/api/v1/jobs/j/fork', { from: 'a' }],
    ['POST', '/api/v1/jobs/j/tasks/a/redrive', undefined],
    ['GET', '/api/v1/jobs/j/tasks/a/explain', undefined],
    ['POST', '/api/v1/nodes/w/drain', undefined],
    ['POST', '/api/v1/nodes/w/release', undefined],
    ['POST', '/api/v1/schedules', { id: 's' }],
    ['PUT', '/api/v1/schedules/s', {}],
    ['DELETE', '/api/v1/schedules/s', undefined],
    ['POST', '/api/v1/schedules/s/pause', undefined],
  ])('%s %s says who does', async (method, path, body) => {
    const heard = await bench.call(method, path, body);
    expect(heard.status).toBe(503);
    expect(heard.body).toMatchObject({ code: 'not_leader', leader });
    expect(heard.headers.get('retry-after')).toBe('1');
  });

  test('a list in which every document fails with not_leader is refused as a whole', async () => {
    await bench.close();
    const jobs = { submitAll: () => Promise.resolve([refusal, refusal]) };
    bench = await openApi({ leader: () => ({ jobs }) as unknown as LeaderServices });
    const heard = await post('/jobs', [document(), document()]);
    expect([heard.status, heard.body.leader]).toEqual([503, leader]);
  });
});

describe('looking', () => {
  test('at a job shows its tasks, why they wait, and how fresh that is', async () => {
    await post('/jobs', document({ tasks: [echo('a'), echo('b', { dependsOn: ['a'] })] }));
    const { body, headers } = await get('/jobs/made-1');
    expect(body.tasks).toMatchObject([
      { id: 'a', state: 'ready', waiting: 'no node is registered' },
      { id: 'b', state: 'blocked', waiting: 'waits for a' },
    ]);
    expect(headers.get('millrace-as-of')).toBe(String(body.asOf.seq));
    expect(body.asOf.seq).toBe((await bench.store.lastSeq(0)).seq);
  });

  test('at a job with many large results sends all of it', async () => {
    const worker = await bench.worker();
    const tasks = Array.from({ length: 300 }, (_, at) => echo(`t-${at}`));
    await post('/jobs', document({ tasks }));
    const big = 'x'.repeat(10_000);
    for (const { lease } of await worker.pollNow(300)) await worker.complete(lease, { big });
    const { body } = await get('/jobs/made-1');
    expect(body.tasks).toHaveLength(300);
    expect(body.tasks[299]).toMatchObject({ id: 't-299', result: { big } });
  });

  test('returns a result byte for byte as it was reported', async () => {
    const worker = await bench.worker();
    await post('/jobs', document({ tasks: [echo('t')], output: null }));
    const [assignment] = await worker.pollNow(1);
    const result = '{"exact": 12345678901234567890.10, "é": [1e400]}';
    const report = { kind: 'completed', lease: assignment!.lease, result } as const;
    await bench.led.leader.workers.report(worker.session, [report]);
    const { text } = await get('/jobs/made-1');
    expect(text).toContain(`"result":${result}`);
  });

  test('at what is not there is 404', async () => {
    for (const path of ['/jobs/ghost', '/jobs/no%2Fid', '/jobs/ghost/tasks/a/explain']) {
      const { status, body } = await get(path);
      expect([status, body.code]).toEqual([404, 'not_found']);
    }
  });

  test('at 2,500 jobs goes page by page, each job once', async () => {
    for (let at = 0; at < 25; at += 1) {
      await post(
        '/jobs',
        Array.from({ length: 100 }, () => document()),
      );
    }
    const seen: string[] = [];
    const sizes: number[] = [];
    let cursor: string | null = '';
    while (cursor !== null) {
      const from: string = cursor === '' ? '' : `&cursor=${cursor}`;
      const { body } = await get(`/jobs?limit=1000${from}`);
      seen.push(...body.jobs.map(({ id }) => id));
      sizes.push(body.jobs.length);
      ({ cursor } = body);
    }
    expect(sizes).toEqual([1_000, 1_000, 500]);
    expect(new Set(seen).size).toBe(2_500);
    expect((await get('/jobs')).body.jobs).toHaveLength(100);
  });

  test('filters by state and name, and refuses unknown states', async () => {
    await post('/jobs', [document({ name: 'x' }), document({ name: 'y' })]);
    await post('/jobs/made-1/cancel');
    expect((await get('/jobs?state=cancelled')).body.jobs).toMatchObject([{ name: 'x' }]);
    expect((await get('/jobs?name=y')).body.jobs).toMatchObject([{ id: 'made-2' }]);
    expect((await get('/job-counts')).body).toMatchObject({
      counts: { queued: 1, running: 0, succeeded: 0, failed: 0, cancelled: 1 },
      isWhole: true,
    });
    for (const [query, path] of [
      ['state=lost', '?state'],
      ['limit=0', '?limit'],
      ['limit=1001', '?limit'],
      ['limit=ten', '?limit'],
      ['cursor=xyz', '?cursor'],
      ['limit=1&limit=2', '?limit'],
      ['lmit=1', '?lmit'],
      ['__proto__=1', '?__proto__'],
      ['name=%zz', '?'],
    ]) {
      const { status, body } = await get(`/jobs?${query}`);
      expect([status, body.code, body.path]).toEqual([400, 'bad_input', path]);
    }
    expect((await get('/jobs?lmit=1')).body.detail).toContain("Did you mean 'limit'?");
  });
});

describe('changing', () => {
  test('a job is cancelled with a reason, and an ended job is not changed', async () => {
    await post('/jobs', document());
    const cancelled = await post('/jobs/made-1/cancel', { reason: 'not today' });
    expect(cancelled.body).toMatchObject({
      id: 'made-1',
      state: 'cancelled',
      error: { message: 'not today' },
    });
    expect((await post('/jobs/made-1/cancel')).body.state).toBe('cancelled');
    expect((await post('/jobs/ghost/cancel')).status).toBe(404);
    for (const [body, path] of [
      [{ reson: 'x' }, '/reson'],
      [{ reason: 7 }, '/reason'],
      [[], ''],
    ] as const) {
      const refused = await post('/jobs/made-1/cancel', body);
      expect([refused.status, refused.body.path]).toEqual([400, path]);
    }
  });

  test('a job is rerun, but only once if the caller names the run', async () => {
    const worker = await bench.worker();
    await post('/jobs', document({ tasks: [echo('bad', { retry: { maxAttempts: 1 } })] }));
    await runAll(worker);
    const again = await post('/jobs/made-1/rerun', { expectedRun: 1 });
    expect(again.body).toMatchObject({ run: 2, history: [{ id: 'bad', run: 1 }] });
    await runAll(worker);
    expect((await post('/jobs/made-1/rerun', { expectedRun: 1 })).body.run).toBe(2);
    expect((await post('/jobs/made-1/rerun')).body.run).toBe(3);
    expect((await post('/jobs/made-1/rerun', { expectedRun: -1 })).status).toBe(400);
  });

  test('a dead task is listed, explained and redriven', async () => {
    const worker = await bench.worker();
    await post('/jobs', document({ tasks: [echo('bad', { retry: { maxAttempts: 1 } })] }));
    await runAll(worker);
    const dead = await get('/tasks?dead=true&limit=1');
    expect(dead.body).toMatchObject({ tasks: [{ job: 'made-1', task: 'bad' }], cursor: null });
    const why = await get('/jobs/made-1/tasks/bad/explain');
    expect(why.body).toMatchObject({
      code: 'ended',
      why: 'it has failed: gave up after 1 attempt; the last error was broken: no',
    });
    const driven = await post('/jobs/made-1/tasks/bad/redrive');
    expect(driven.body).toMatchObject({ tasks: [{ id: 'bad', run: 2, state: 'ready' }] });
    expect((await get('/tasks?dead=true')).body.tasks).toEqual([]);
    const live = await get('/jobs/made-1/tasks/bad/explain');
    expect(live.body).toMatchObject({ code: 'no_node_free' });
    expect((await post('/jobs/made-1/tasks/ghost/redrive')).status).toBe(404);
    expect((await get('/tasks')).body).toMatchObject({ status: 400, path: '?dead' });
    expect((await get('/tasks?dead=no')).status).toBe(400);
  });

  test('a job is signalled with any JSON or none, once for each key', async () => {
    const worker = await bench.worker();
    await post('/jobs', document());
    const key = { 'idempotency-key': 'k-1' };
    for (const times of [1, 2]) {
      const heard = await post('/jobs/made-1/signals/go', { n: 1 }, key);
      expect([times, heard.status, heard.body.id]).toEqual([times, 200, 'made-1']);
    }
    await post('/jobs/made-1/signals/go');
    await post('/jobs/made-1/signals/go', 'null');
    const [{ lease } = expect.fail('no work')] = await worker.pollNow(1);
    const signals = ['a', 'b', 'c', 'd'].map((each) => ({ step: `$signal/${each}`, name: 'go' }));
    const until = { type: 'wait', sleeps: [], signals, jobs: [] } as const;
    await bench.led.leader.workers.report(worker.session, [{ kind: 'suspended', lease, until }]);
    worker.held.length = 0;
    const [again] = await worker.pollNow(1);
    const taken = again?.steps.filter(({ name }) => name.startsWith('$signal/'));
    expect(taken).toEqual([
      { name: '$signal/a', body: '{"value":{"n":1}}' },
      { name: '$signal/b', body: '{"value":null}' },
      { name: '$signal/c', body: '{"value":null}' },
    ]);
  });

  test('a signal that no wait can accept is refused', async () => {
    const worker = await bench.worker();
    await post('/jobs', document());
    const large = await post('/jobs/made-1/signals/go', 'x'.repeat(1024 * 1024));
    expect([large.status, large.body.code]).toEqual([400, 'bad_input']);
    const larger = await post('/jobs/made-1/signals/go', ['x'.repeat(1024 * 1024)]);
    expect([larger.status, larger.body.code]).toEqual([413, 'too_large']);
    expect((await post('/jobs/made-1/signals/no%20name', 1)).status).toBe(400);
    const bad = await post('/jobs/made-1/signals/go', 1, { 'idempotency-key': 'a b' });
    expect([bad.status, bad.body.path]).toEqual([400, 'Idempotency-Key']);
    expect((await post('/jobs/ghost/signals/go', 1)).status).toBe(404);
    await runAll(worker);
    const late = await post('/jobs/made-1/signals/go', 1);
    expect([late.status, late.body.code]).toEqual([409, 'conflict']);
  });

  test('a job that has succeeded shows its output', async () => {
    const worker = await bench.worker();
    const output = { all: { $from: 'a', path: '/of' } };
    await post('/jobs', document({ output }));
    expect((await get('/jobs/made-1')).body).toMatchObject({ result: null });
    await runAll(worker);
    expect((await get('/jobs/made-1')).body).toMatchObject({ result: { all: 'a' } });
  });

  test('a job is forked from a task on, under an id of the caller if it chooses one', async () => {
    const worker = await bench.worker();
    await post('/jobs', document({ tasks: [echo('a'), echo('b', { dependsOn: ['a'] })] }));
    await runAll(worker);
    const headers = { 'millrace-job-id': 'fork-1' };
    const fork = await post('/jobs/made-1/fork', { from: 'b' }, headers);
    expect(fork.status).toBe(201);
    expect(fork.body).toMatchObject({
      id: 'fork-1',
      tasks: [
        { id: 'a', state: 'succeeded', result: { of: 'a' } },
        { id: 'b', state: 'ready' },
      ],
    });
    const again = await post('/jobs/made-1/fork', { from: 'b' }, headers);
    expect(again.body.id).toBe('fork-1');
    expect((await post('/jobs/made-1/fork', { from: 'b' })).body.id).toBe('made-2');
    expect((await post('/jobs/made-1/fork', {})).body.path).toBe('/from');
    expect((await post('/jobs/made-1/fork', { from: 'a/b' })).body.path).toBe('/from');
    expect((await post('/jobs/ghost/fork', { from: 'b' })).status).toBe(404);
  });
});
