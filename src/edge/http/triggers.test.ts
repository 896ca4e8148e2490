import { afterEach, beforeEach, expect, test } from 'vitest';
import { type ApiBench, type Heard, openApi } from '../../../test/rig/api.ts';
import { ownHandshake } from '../../scheduler/contract/index.ts';
import type { Store } from '../../scheduler/store/index.ts';
import type { FlowDeclaration, NodeId, SessionId } from '../../scheduler/core/index.ts';

let bench: ApiBench;

beforeEach(async () => {
  bench = await openApi();
});
afterEach(() => bench.close());

const send = (event: string, body?: unknown): Promise<Heard> =>
  bench.call('POST', `/api/v1/triggers/${event}`, body);

const flow = (name: string, on: readonly string[], more: object = {}): FlowDeclaration => ({
  name,
  version: '0123456789ab',
  input: { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] },
  template: { name, on, tasks: [{ id: 'a', executor: 'echo', dependsOn: ['_input'] }] },
  ...more,
});

async function publish(...flows: readonly FlowDeclaration[]): Promise<void> {
  const offer = {
    ...{ id: 'w' as NodeId, sessionId: 'w-1' as SessionId, slots: 1, prefetch: 0, address: null },
    ...{ executors: ['echo'], capabilities: {}, version: '0.1.0' },
  };
  await bench.led.leader.workers.register(offer, ownHandshake(), [], flows);
}

test('an event starts each flow that names it, and says which jobs these are', async () => {
  await publish(flow('one', ['tick']), flow('two', ['tick', 'tock']), flow('three', ['tock']));
  const { status, body } = await send('tick', { data: { n: 1 }, id: 'e1' });
  expect(status).toBe(201);
  expect(body).toMatchObject({
    event: 'tick',
    id: 'e1',
    jobs: [
      { flow: 'one', state: 'queued', isNew: true },
      { flow: 'two', state: 'queued', isNew: true },
    ],
  });
  const again = await send('tick', { data: { n: 1 }, id: 'e1' });
  expect([again.status, again.body.jobs.map(({ id }) => id)]).toEqual([
    200,
    body.jobs.map(({ id }) => id),
  ]);
  const job = await bench.call('GET', `/api/v1/jobs/${body.jobs[0]?.id}`);
  expect(job.body).toMatchObject({ name: 'one', startedBy: { event: 'tick', id: 'e1' } });
  const { body: listed } = await bench.call('GET', '/api/v1/flows');
  expect(listed).toMatchObject({ flows: [{ on: ['tick'] }, { on: ['tock'] }, { name: 'two' }] });
});

test('of a job that is not new it says why: the event again, or a singleton that is live', async () => {
  const single = { singleton: { key: 'one' } };
  const { template } = flow('one', ['tick']);
  await publish(flow('one', ['tick'], { template: { ...template, ...single } }));
  const first = await send('tick', { data: { n: 1 }, id: 'e1' });
  const [job] = first.body.jobs;
  expect(job).toEqual({ flow: 'one', id: job?.id, state: 'queued', isNew: true });
  const again = await send('tick', { data: { n: 1 }, id: 'e1' });
  expect(again.body.jobs).toEqual([{ ...job, isNew: false, because: 'sent_before' }]);
  for (const other of [{ id: 'e2' }, {}]) {
    const { body } = await send('tick', { data: { n: 1 }, ...other });
    expect(body.jobs).toEqual([{ ...job, isNew: false, because: 'singleton' }]);
  }
});

test('several events in one call have an answer each, in order', async () => {
  await publish(flow('one', ['tick']), flow('two', ['tock']));
  const sent = (body: unknown): Promise<Heard> => bench.call('POST', '/api/v1/triggers', body);
  const [data, labels] = [{ n: 1 }, { a: 'b' }];
  const { status, body } = await sent([
    { event: 'tick', data, id: 'e1', labels },
    { event: 'tack' },
    { event: 'tock', data: {} },
    { event: 'tick', data, id: 'e1' },
    { event: 'a b' },
    { data },
    'tick',
    { event: 'tock', data, ids: 'x' },
    { event: 'tock', data },
  ]);
  expect(status).toBe(207);
  const one = { flow: 'one', state: 'queued' };
  expect(body).toMatchObject([
    { event: 'tick', id: 'e1', jobs: [{ ...one, isNew: true }] },
    {
      event: 'tack',
      jobs: [],
      note: "No flow is started by 'tack', and no job waits for it. Did you mean 'tick'?",
    },
    { event: 'tock', jobs: [{ flow: 'two', error: { code: 'bad_input', path: '/input/n' } }] },
    { event: 'tick', id: 'e1', jobs: [{ ...one, isNew: false, because: 'sent_before' }] },
    { error: { code: 'bad_input' } },
    { error: { code: 'bad_input', path: '/event' } },
    { error: { code: 'bad_input' } },
    { error: { code: 'bad_input', path: '/ids' } },
    { event: 'tock', jobs: [{ flow: 'two', isNew: true }] },
  ]);
  expect((await bench.call('GET', '/api/v1/jobs?label=a:b')).body.jobs).toHaveLength(1);
  expect((await sent([{ event: 'tick', data }])).status).toBe(201);
  expect((await sent([{ event: 'tick', data, id: 'e1' }])).status).toBe(200);
});

test.each([
  ['an empty list', [], 400],
  ['an event that is alone', { event: 'tick' }, 400],
  ['too long a list', Array.from({ length: 1_001 }, () => ({ event: 'tick' })), 413],
])('%s is refused', async (_what, body, status) => {
  expect((await bench.call('POST', '/api/v1/triggers', body)).status).toBe(status);
});

test('jobs are listed, and acted on, by the event that has started them', async () => {
  await publish(flow('one', ['tick', 'tock']));
  const [a, b] = [
    await send('tick', { data: { n: 1 }, id: 'e1' }),
    await send('tock', { data: { n: 1 } }),
  ];
  const listed = async (query: string): Promise<readonly unknown[]> =>
    (await bench.call('GET', `/api/v1/jobs?${query}`)).body.jobs.map(({ id }) => id);
  const [tick, tock] = [a, b].map(({ body }) => body.jobs[0]?.id);
  expect(await listed('startedBy=event/tick')).toEqual([tick]);
  expect(await listed('startedBy=event/tick/e1')).toEqual([tick]);
  expect(await listed('startedBy=event/tick/e2')).toEqual([]);
  expect(await listed('startedBy=event/tock&name=one')).toEqual([tock]);
  expect(await listed('schedule=one')).toEqual([]);
  for (const query of ['startedBy=tick', 'startedBy=', 'startedBy=event/a%20b', 'schedule=a%20b'])
    expect(await bench.call('GET', `/api/v1/jobs?${query}`)).toMatchObject({
      status: 400,
      body: { code: 'bad_input', path: `?${query.split('=')[0]}` },
    });
});

test('a flow that refuses the data has an error in its place, with 207', async () => {
  await publish(flow('one', ['tick']), flow('two', ['tick'], { input: {} }));
  const { status, body } = await send('tick', { data: { n: 'x' } });
  expect(status).toBe(207);
  expect(body.jobs).toMatchObject([
    { flow: 'one', error: { code: 'bad_input', path: '/input/n' } },
    { flow: 'two', state: 'queued' },
  ]);
});

test('an event whose data no flow asks for starts nothing, and the flows are named', async () => {
  const on = [{ event: 'tick', match: { n: 1 } }] as const;
  const { template } = flow('one', []);
  await publish(flow('one', [], { template: { ...template, on } }));
  const { status, body } = await send('tick', { data: { n: 2 } });
  expect([status, body]).toMatchObject([
    200,
    { jobs: [], note: "No flow is started: the data of 'tick' does not match what one asks for." },
  ]);
  expect((await send('tick', { data: { n: 1 } })).body.jobs).toMatchObject([{ flow: 'one' }]);
  expect((await bench.call('GET', '/api/v1/flows')).body).toMatchObject({ flows: [{ on }] });
});

test('an event that no flow names starts nothing, and a likely one is suggested', async () => {
  await publish(flow('one', ['order.created']));
  const { status, body } = await send('order.creatd', { data: 1 });
  expect(status).toBe(200);
  expect(body).toMatchObject({
    jobs: [],
    note: "No flow is started by 'order.creatd', and no job waits for it. Did you mean 'order.created'?",
  });
  expect((await send('x')).body).toMatchObject({ event: 'x', jobs: [] });
});

test('an event whose data does not fit the jobs that name it is not called unknown', async () => {
  const cancelOn = [{ event: 'halt', match: { id: 'a' } }];
  const tasks = [{ id: 't', executor: 'echo' }];
  expect((await bench.call('POST', '/api/v1/jobs', { tasks, cancelOn })).status).toBe(201);
  const { body } = await send('halt', { data: { id: 'b' } });
  const note = expect.stringContaining('does not match what the jobs that name it ask') as string;
  expect(body).toMatchObject({ note, cancelled: [] });
  expect((await send('halt', { data: { id: 'a' } })).body).toMatchObject({ cancelled: [{}] });
});

test.each([
  ['a name that is none', 'a b', {}, 400, ''],
  ['an unknown field', 'tick', { data: 1, ids: 'x' }, 400, '/ids'],
  ['an id that is not text', 'tick', { id: 7 }, 400, '/id'],
  ['labels that are a list', 'tick', { labels: ['x'] }, 400, '/labels'],
  ['a list', 'tick', [], 400, ''],
  ['data that is too large', 'tick', { data: 'x'.repeat(256 * 1024) }, 413, '/data'],
])('%s is refused', async (_what, event, body, status, path) => {
  const heard = await send(encodeURIComponent(event), body);
  expect([heard.status, heard.body.path ?? '']).toEqual([status, path]);
});

test('an event that would start more flows than one may is refused, and starts none', async () => {
  await publish(...Array.from({ length: 101 }, (_, at) => flow(`f${at}`, ['tick'])));
  const { status, body } = await send('tick', { data: { n: 1 } });
  expect([status, body.code]).toEqual([413, 'too_large']);
  expect((await bench.call('GET', '/api/v1/jobs')).body.jobs).toEqual([]);
});

test('all jobs of an event are in one commit', async () => {
  await bench.close();
  const inserted: number[] = [];
  bench = await openApi({}, {}, (store) => {
    const commit = store.commit.bind(store);
    const counted: Store['commit'] = (term, ttlMs, batch) => {
      if (batch.jobInserts.length > 0) inserted.push(batch.jobInserts.length);
      return commit(term, ttlMs, batch);
    };
    return Object.assign(store, { commit: counted });
  });
  await publish(...Array.from({ length: 20 }, (_, at) => flow(`f${at}`, ['tick'])));
  const { body } = await send('tick', { data: { n: 1 }, id: 'e' });
  expect([body.jobs.length, inserted]).toEqual([20, [20]]);
});
