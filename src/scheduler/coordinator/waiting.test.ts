import { beforeEach, describe, expect, test, vi } from 'vitest';
import type { JobId, LeaseName, TaskId } from '../core/index.ts';
import { deferred } from '../../kit/index.ts';
import type { ReadyAssignment, WorkerSuspension } from '../contract/index.ts';
import type { Store } from '../store/index.ts';
import { ScriptedWorker, jobId, lead, memoryStore } from '../../../test/rig/lead.ts';
import type { Led } from '../../../test/rig/lead.ts';
import { VirtualClock } from '../../../test/rig/virtual-clock.ts';

let clock: VirtualClock;
let store: Store;
let led: Led;
let worker: ScriptedWorker;

beforeEach(async () => {
  clock = new VirtualClock();
  store = memoryStore(clock);
  led = await lead(store, clock);
  await led.leader.loaded;
  worker = await ScriptedWorker.join(led.leader, 'w', ['echo']);
});

const task = (id: string, more: object = {}): object => ({ id, executor: 'echo', ...more });

async function submit(name: string, ...tasks: object[]): Promise<void> {
  await led.leader.jobs.submit({ name, tasks }, { jobId: jobId(name) });
}

async function next(): Promise<ReadyAssignment> {
  worker.held.length = 0;
  const [assignment] = await worker.pollNow(1);
  return assignment ?? expect.fail('there is no work');
}

async function suspend(lease: LeaseName, until: WorkerSuspension): Promise<void> {
  const { verdicts } = await worker.leader.workers.report(worker.session, [
    { kind: 'suspended', lease, until },
  ]);
  expect(verdicts).toEqual(['ok']);
  worker.held.length = 0;
}

type Wait = Extract<WorkerSuspension, { type: 'wait' }>;
const wait = (given: Partial<Wait>): Wait => {
  return { type: 'wait', sleeps: [], signals: [], jobs: [], ...given };
};

async function failOver(): Promise<void> {
  await store.resign(led.leader.term);
  led = await lead(store, clock);
  worker.leader = led.leader;
}

const taskRow = async (job: string, id: string) =>
  (await store.task(0, jobId(job), id as TaskId))?.task;
const parsed = ({ steps }: ReadyAssignment): Record<string, unknown> =>
  Object.fromEntries(steps.map(({ name, body }) => [name, JSON.parse(body) as unknown]));

test('a task that sleeps is sent out again when its time is over, with the step that says so', async () => {
  await submit('one', task('a'));
  const first = await next();
  expect(first).toMatchObject({ resumed: false, children: [], steps: [] });
  await suspend(first.lease, wait({ sleeps: [{ step: '$sleep/nap', forMs: 500 }] }));
  expect(await worker.pollNow(1)).toEqual([]);
  await clock.advance(500);
  const again = await next();
  expect(again).toMatchObject({ resumed: true, attempt: 1, lease: { fence: 2 } });
  expect(parsed(again)).toEqual({ '$sleep/nap': { until: first.assignedAt + 500 } });
  expect(again.assignedAt).toBe(first.assignedAt + 500);
});

test('a task that waits for a signal is sent out again with its value', async () => {
  await submit('one', task('a'));
  const { lease } = await next();
  await suspend(lease, wait({ signals: [{ step: '$signal/go', name: 'go' }] }));
  await led.leader.jobs.signal(jobId('one'), 'other', '1', 's0');
  expect(await worker.pollNow(1)).toEqual([]);
  await led.leader.jobs.signal(jobId('one'), 'go', '{"by":"me"}', 's1');
  expect(parsed(await next())).toMatchObject({ '$signal/go': { value: { by: 'me' } } });
});

describe('a called job', () => {
  const ID = 'one.c0ffee00' as JobId;
  const call = (document: unknown, id: JobId = ID): Wait =>
    wait({ jobs: [{ step: '$job/sub', jobId: id, document }] });

  async function callIt(document: object): Promise<void> {
    await submit('one', task('a'));
    const { lease } = await next();
    await suspend(lease, call(document));
  }

  test('runs, and its caller gets its output', async () => {
    const output = { sum: { $from: 'x', path: '/n' }, none: { $from: 'y', path: '/no' } };
    await callIt({ idempotencyKey: 'k', tasks: [task('x'), task('y')], output });
    for (const result of [{ n: 1 }, null]) {
      const child = await next();
      expect(child.jobId).toBe(ID);
      await worker.complete(child.lease, result);
    }
    const again = await next();
    expect(again).toMatchObject({ jobId: 'one', taskId: 'a', resumed: true });
    const result = { sum: 1, none: null };
    const at = expect.any(Number) as number;
    const ended = { jobId: ID, state: 'succeeded', at, result, error: null };
    expect(parsed(again)).toEqual({ '$job/sub': ended });
    expect((await store.jobRow(0, ID))?.idempotencyKey).toBeNull();
  });

  test('without an output answers what its last task does, or all that are last', async () => {
    await callIt({ tasks: [task('x'), task('y', { dependsOn: ['x'] })] });
    await worker.complete((await next()).lease, 'x1');
    await worker.complete((await next()).lease, 'y1');
    const again = await next();
    expect(parsed(again)['$job/sub']).toMatchObject({ result: 'y1' });
    await suspend(again.lease, call({ tasks: [task('p'), task('q')] }, 'one.b' as JobId));
    await worker.complete((await next()).lease, 'p1');
    await worker.complete((await next()).lease);
    // The step was written by the first one: it stays.
    expect(parsed(await next())['$job/sub']).toMatchObject({ jobId: ID, result: 'y1' });
  });

  test('comes before others when its caller does, unless it says otherwise', async () => {
    await submit('one', task('a', { priority: 0 }));
    const jobs = [{}, { priority: 3 }].map((more, at) => ({
      step: `$job/${at}`,
      jobId: `one.${at}` as JobId,
      document: { tasks: [task('x')], ...more },
    }));
    await suspend((await next()).lease, wait({ jobs }));
    const rows = await Promise.all(jobs.map((job) => store.jobRow(0, job.jobId)));
    expect(rows.map((row) => row?.priority)).toEqual([0, 3]);
  });

  test('is read once, however often its caller is run again', async () => {
    await callIt({ tasks: [task('x')] });
    await worker.complete((await next()).lease, 'x1');
    const load = vi.spyOn(store, 'loadJob');
    for (let time = 0; time < 5; time += 1) {
      const again = await next();
      expect(parsed(again)['$job/sub']).toMatchObject({ jobId: ID, result: 'x1' });
      await suspend(again.lease, wait({ sleeps: [{ step: `$sleep/${time}`, forMs: 0 }] }));
    }
    expect(load).toHaveBeenCalledOnce();
  });

  test('that fails tells its caller why', async () => {
    await callIt({ tasks: [task('x')] });
    const { lease } = await next();
    const error = { code: 'boom', message: 'no' };
    await worker.leader.workers.report(worker.session, [
      { kind: 'failed', lease, error, failure: 'fatal' },
    ]);
    const ended = parsed(await next())['$job/sub'];
    expect(ended).toMatchObject({ state: 'failed', result: null, error: { code: 'task_failed' } });
  });

  test('is not started twice, and its end is delivered when it has ended before', async () => {
    await callIt({ tasks: [task('x')] });
    await led.leader.jobs.signal(jobId('one'), 'go', '1', 's');
    const child = await next();
    await worker.complete(child.lease, 'x1');
    const again = await next();
    // As if the handler had not seen its step: the job is over and has left the memory.
    await suspend(again.lease, call({ tasks: [task('x')] }));
    expect(parsed(await next())['$job/sub']).toMatchObject({ jobId: ID, result: 'x1' });
    expect(await store.jobs(0, { limit: 10 })).toHaveLength(2);
  });

  test('is found by a new leader that has not loaded it yet', async () => {
    await submit('one', task('a'));
    const { lease } = await next();
    const until = wait({
      ...call({ tasks: [task('x')] }),
      sleeps: [{ step: '$sleep/s', forMs: 0 }],
    });
    await suspend(lease, until);
    const again = await next();
    await failOver();
    // The parent runs, so it is in memory; its job has no running task and comes later.
    await suspend(again.lease, call({ tasks: [task('x')] }));
    await led.leader.loaded;
    expect(await store.jobs(0, { limit: 10 })).toHaveLength(2);
    await worker.complete((await next()).lease, 'x1');
    expect(parsed(await next())['$job/sub']).toMatchObject({ jobId: ID, result: 'x1' });
  });

  test.each<[string, unknown, JobId, RegExp]>([
    ['no tasks', { tasks: [] }, ID, /\/tasks/],
    ['a wrong field', { tasks: [task('x', { retri: 1 })] }, ID, /\/tasks\/0\/retri/],
    ['no document', null, ID, /document/],
    [
      'an id of somebody else',
      { tasks: [task('x')] },
      jobId('two.x'),
      /begin with the id of its caller/,
    ],
    ['an id that is none', { tasks: [task('x')] }, jobId('one.a/b'), /not a valid job id/],
    [
      'an id that is too long',
      { tasks: [task('x')] },
      jobId(`one.${'x'.repeat(200)}`),
      /204 characters; the limit is 200/,
    ],
  ])('with %s fails its caller for good', async (_name, document, id, message) => {
    await submit('one', task('a'));
    await suspend((await next()).lease, call(document, id));
    expect(await taskRow('one', 'a')).toMatchObject({
      state: 'failed',
      attempt: 1,
      error: { code: 'bad_child_job', message: expect.stringMatching(message) as string },
    });
    expect(await store.jobs(0, { limit: 10 })).toHaveLength(1);
  });

  test('that ends while its caller is about to wait for it is not missed', async () => {
    await submit('one', task('a'));
    const first = { step: '$job/1', jobId: 'one.1' as JobId, document: { tasks: [task('x')] } };
    const second = { ...first, step: '$job/2', jobId: 'one.2' as JobId };
    const nap = [{ step: '$sleep/s', forMs: 0 }];
    await suspend((await next()).lease, wait({ jobs: [first], sleeps: nap }));
    const all = await worker.pollNow(2);
    const caller = all.find(({ taskId }) => taskId === 'a')!;
    const child = all.find(({ taskId }) => taskId === 'x')!;
    const [asked, goOn] = [deferred(), deferred()];
    vi.spyOn(store, 'jobRow').mockImplementationOnce(async () => {
      asked.resolve();
      await goOn.promise;
      return null;
    });
    const waiting = suspend(caller.lease, wait({ jobs: [first, second] }));
    await asked.promise;
    await worker.complete(child.lease, 'x1');
    goOn.resolve();
    await waiting;
    const ended: Record<string, unknown>[] = [];
    for (const each of await worker.pollNow(2)) if (each.taskId === 'a') ended.push(parsed(each));
    expect(ended).toMatchObject([{ '$job/1': { state: 'succeeded', result: 'x1' } }]);
    expect(await store.jobs(0, { limit: 10 })).toHaveLength(3);
  });

  test('may name an execution key that only the store knows', async () => {
    await submit('done', task('d', { idempotencyKey: 'k' }));
    await worker.complete((await next()).lease, 'first');
    await callIt({ tasks: [task('x', { idempotencyKey: 'k' })] });
    // The child took over the result: nothing was left to run.
    expect(parsed(await next())['$job/sub']).toMatchObject({ result: 'first' });
  });

  test('that is no longer kept fails its caller instead of answering nothing', async () => {
    await callIt({ tasks: [task('x')] });
    await worker.complete((await next()).lease, 'x1');
    // What retention does to it after a while.
    vi.spyOn(store, 'loadJob').mockResolvedValue(null);
    worker.held.length = 0;
    expect(await worker.pollNow(1)).toEqual([]);
    expect(await taskRow('one', 'a')).toMatchObject({
      state: 'failed',
      error: { code: 'expired' },
    });
  });
});

describe('children', () => {
  const children = (...tasks: unknown[]): WorkerSuspension => ({ type: 'children', tasks });

  test('come back with their outcomes in the order in which they were added', async () => {
    await submit('one', task('a', { priority: 1 }));
    await suspend((await next()).lease, children(task('c2'), task('c1'), task('c3')));
    const all = await worker.pollNow(3);
    for (const { lease, taskId } of all) {
      if (taskId !== 'c1') await worker.complete(lease, taskId === 'c2' ? [2] : null);
      else {
        const error = { code: 'boom', message: 'no' };
        await worker.leader.workers.report(worker.session, [
          { kind: 'failed', lease, error, failure: 'fatal' },
        ]);
      }
    }
    const again = await next();
    expect(again).toMatchObject({ taskId: 'a', hasChildren: true });
    expect(again.children).toMatchObject([
      { id: 'c2', state: 'succeeded', result: '[2]', error: null },
      { id: 'c1', state: 'failed', result: null, error: { code: 'boom' } },
      { id: 'c3', state: 'succeeded', result: null, error: null },
    ]);
    const c1 = await store.task(0, jobId('one'), 'c1' as TaskId);
    expect(c1?.spec.priority).toBe(1);
  });

  test('may be named again by a repeated attempt', async () => {
    await submit('one', task('a'));
    await suspend((await next()).lease, children(task('c1')));
    await worker.complete((await next()).lease, 1);
    await suspend((await next()).lease, children(task('c1'), task('c2')));
    expect((await next()).taskId).toBe('c2');
  });

  test.each<[string, unknown[], RegExp]>([
    ['the name of another task', [task('b')], /\/0\/id: The job has a task 'b' already/],
    ['the name of its own parent', [task('a')], /\/0\/id/],
    ['no executor', [task('c'), { id: 'd' }], /\/1/],
    ['no object', [7], /\/0/],
    ['dependencies', [task('c'), task('d', { dependsOn: ['c'] })], /depends on others/],
  ])('with %s fail their parent for good', async (_name, tasks, message) => {
    await submit('one', task('a'), task('b', { dependsOn: ['a'] }));
    await suspend((await next()).lease, children(...tasks));
    expect(await taskRow('one', 'a')).toMatchObject({
      state: 'failed',
      error: { code: 'bad_children', message: expect.stringMatching(message) as string },
    });
    expect((await store.jobRow(0, jobId('one')))?.taskCount).toBe(2);
  });
});

describe('a wait', () => {
  const sleeps = Array.from({ length: 1_001 }, (_, at) => ({ step: `$sleep/${at}`, forMs: 1 }));
  test.each<[string, Partial<Wait>, string]>([
    ['for nothing', {}, 'bad_wait'],
    ['below no time', { sleeps: [{ step: '$sleep/s', forMs: -1 }] }, 'bad_sleep'],
    ['of half a millisecond', { sleeps: [{ step: '$sleep/s', forMs: 0.5 }] }, 'bad_sleep'],
    ['of no number', { sleeps: [{ step: '$sleep/s', forMs: Number.NaN }] }, 'bad_sleep'],
    ['of more than ten years', { sleeps: [{ step: '$sleep/s', forMs: 1e15 }] }, 'bad_sleep'],
    ['under the name of a step', { sleeps: [{ step: 'mine', forMs: 1 }] }, 'bad_wait'],
    ['under the name of a job', { sleeps: [{ step: '$job/s', forMs: 1 }] }, 'bad_wait'],
    [
      'for a signal under the name of a job',
      { signals: [{ step: '$job/s', name: 'go' }] },
      'bad_wait',
    ],
    ['under half a character', { sleeps: [{ step: '$\uD800', forMs: 1 }] }, 'bad_wait'],
    [
      'under too long a name',
      { sleeps: [{ step: `$${'x'.repeat(1_000)}`, forMs: 1 }] },
      'bad_wait',
    ],
    ['for a signal of no name', { signals: [{ step: '$signal/', name: '' }] }, 'bad_wait'],
    ['for a signal of no good name', { signals: [{ step: '$signal/x', name: 'a/b' }] }, 'bad_wait'],
    ['for too much', { sleeps }, 'bad_wait'],
  ])('%s fails the task for good', async (_name, given, code) => {
    await submit('one', task('a'));
    await suspend((await next()).lease, wait(given));
    expect(await taskRow('one', 'a')).toMatchObject({ state: 'failed', error: { code } });
  });
});

describe('a condition', () => {
  const guarded = (when: object): object[] => [
    task('a'),
    task('b', { dependsOn: ['a'], when, input: { got: { $from: 'a', path: '/n' } } }),
    task('c', { dependsOn: [{ id: 'b', required: false }] }),
  ];

  test('that holds lets the task run with its input', async () => {
    await submit('one', ...guarded({ $from: 'a', path: '/n', '>': 1 }));
    await worker.complete((await next()).lease, { n: 2 });
    const b = await next();
    expect([b.taskId, b.input]).toEqual(['b', '{"got":2}']);
  });

  test('that does not hold skips the task, and those who do not need it go on', async () => {
    await submit('one', ...guarded({ $from: 'a', path: '/n', '>': 2 }));
    await worker.complete((await next()).lease, { n: 2 });
    expect(await worker.pollNow(5)).toEqual([]);
    expect(await taskRow('one', 'b')).toMatchObject({ state: 'skipped' });
    expect((await next()).taskId).toBe('c');
  });
});
