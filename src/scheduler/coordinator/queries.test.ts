import { beforeEach, describe, expect, test, vi } from 'vitest';
import { MillraceError } from '../core/index.ts';
import type { JobId, LeaseName, TaskId } from '../core/index.ts';
import { deferred } from '../../kit/index.ts';
import type { Deferred } from '../../kit/index.ts';
import type { ReadyAssignment } from '../contract/index.ts';
import type { Store } from '../store/index.ts';
import { ScriptedWorker, jobId, lead, memoryStore } from '../../../test/rig/lead.ts';
import type { Led } from '../../../test/rig/lead.ts';
import { sampleQuery } from '../../../test/rig/sample-query.ts';
import { VirtualClock } from '../../../test/rig/virtual-clock.ts';
import type { PlannedQuery, QueryPlanner } from './index.ts';

let clock: VirtualClock;
let store: Store;
let led: Led;
let worker: ScriptedWorker;
let plan: ReturnType<typeof vi.fn<QueryPlanner['plan']>>;
let submissions: { readonly id: string; readonly seeds: PlannedQuery['seeds'] }[];
const noSignal = new AbortController().signal;

beforeEach(async () => {
  clock = new VirtualClock();
  store = memoryStore(clock);
  plan = vi.fn<QueryPlanner['plan']>((request) =>
    Promise.resolve(sampleQuery((request as { sql: string }).sql)),
  );
  submissions = [];
  const submitted: QueryPlanner['submitted'] = (id, seeds) => submissions.push({ id, seeds });
  led = await lead(store, clock, { planner: { plan, submitted }, settings: { maxQueries: 1 } });
  await led.leader.loaded;
  worker = await ScriptedWorker.join(led.leader, 'w', ['echo']);
});

const state = async (id: string, task: string) =>
  (await store.task(0, jobId(id), task as TaskId))?.task.state;
const submit = (id: string, request: object = {}) =>
  led.leader.jobs.submitQuery({ sql: id, ...request }, { jobId: jobId(id) }, noSignal);

async function next(): Promise<ReadyAssignment> {
  worker.held.length = 0;
  const [assignment] = await worker.pollNow(1);
  return assignment ?? expect.fail('there is no work');
}

async function failOver(): Promise<void> {
  await store.resign(led.leader.term);
  led = await lead(store, clock, { planner: { plan }, settings: { maxQueries: 1 } });
  await led.leader.loaded;
  worker.leader = led.leader;
}

describe('a query that is submitted', () => {
  test('is planned and runs as a job, its fragments from the plan', async () => {
    expect(await submit('q')).toMatchObject({ jobId: 'q', state: 'queued', changed: true });
    expect(await state('q', 'plan')).toBe('succeeded');
    const first = await next();
    expect(first).toMatchObject({ taskId: 's0.0', input: '{"fragment":"scan q"}' });
    await worker.complete(first.lease, { at: 'w' });
    const second = await next();
    expect(JSON.parse(second.input)).toEqual({ fragment: 'sum q', from: { at: 'w' } });
    await worker.complete(second.lease, 1);
    expect((await store.jobRow(0, jobId('q')))?.state).toBe('succeeded');
  });

  test.each([
    ['a key that no store can index', 'k'.repeat(501)],
    ['an empty key', ''],
    ['a key with a line break', 'a\nb'],
  ])('is refused with %s, before anything is planned', async (_, idempotencyKey) => {
    await expect(submit('q', { idempotencyKey })).rejects.toMatchObject({
      code: 'bad_input',
      path: '/idempotencyKey',
    });
    expect(plan).not.toHaveBeenCalled();
  });

  test('waits for admission, and its plan is there when it is', async () => {
    await submit('q1');
    await submit('q2');
    expect(await state('q2', 'plan')).toBe('blocked');
    expect(await led.leader.jobs.explain(jobId('q2'), 'plan' as TaskId)).toMatchObject({
      code: 'admission',
      position: 0,
    });
    await failOver();
    await led.leader.jobs.cancel(jobId('q1'), 'enough');
    expect(await next()).toMatchObject({ jobId: 'q2', input: '{"fragment":"scan q2"}' });
  });

  test('is not planned again when it is there already', async () => {
    await submit('q', { idempotencyKey: 'k' });
    expect(await submit('other', { idempotencyKey: 'k' })).toMatchObject({
      jobId: 'q',
      changed: false,
    });
    expect(await submit('q')).toMatchObject({ jobId: 'q', changed: false });
    expect(plan).toHaveBeenCalledTimes(1);
  });

  test('with one key at the same time is one job', async () => {
    const both = await Promise.all([
      submit('q1', { idempotencyKey: 'k' }),
      submit('q2', { idempotencyKey: 'k' }),
    ]);
    expect(both.map((reply) => reply.jobId)).toEqual(['q1', 'q1']);
  });

  test('is announced to its planner when it is a job of its own, with what it was given', async () => {
    await Promise.all([
      submit('q1', { idempotencyKey: 'k' }),
      submit('q2', { idempotencyKey: 'k' }),
    ]);
    expect(plan).toHaveBeenCalledTimes(2);
    expect(submissions).toEqual([{ id: 'q1', seeds: sampleQuery('q1').seeds }]);
    plan.mockRejectedValue(new MillraceError({ code: 'bad_query', what: 'No such column.' }));
    await expect(submit('q3')).rejects.toThrow('No such column.');
    expect(submissions).toHaveLength(1);
  });

  test('that cannot be planned leaves nothing behind', async () => {
    plan.mockRejectedValue(new MillraceError({ code: 'bad_query', what: 'No such column.' }));
    await expect(submit('q')).rejects.toMatchObject({ code: 'bad_query' });
    expect(await store.jobRow(0, jobId('q'))).toBeNull();
  });

  test('is refused where nobody plans, and under an id that is none', async () => {
    await expect(submit('not an id')).rejects.toMatchObject({ code: 'bad_input' });
    await store.resign(led.leader.term);
    led = await lead(store, clock);
    await expect(submit('q')).rejects.toMatchObject({ code: 'unimplemented' });
  });

  test('is run again with its plan, from the start, since what it made is thrown away', async () => {
    await submit('q');
    const first = await next();
    await worker.complete(first.lease, { at: 'w' });
    const second = await next();
    const error = { code: 'query_failed', message: 'by 0' };
    await worker.leader.workers.report(worker.session, [
      { kind: 'failed', lease: second.lease, error, failure: 'fatal' },
    ]);
    expect((await store.jobRow(0, jobId('q')))?.state).toBe('failed');
    expect(await led.leader.jobs.rerun(jobId('q'))).toMatchObject({ changed: true });
    expect(await next()).toMatchObject({
      taskId: 's0.0',
      run: 2,
      input: '{"fragment":"scan q"}',
    });
  });

  test('is forked with its plan, from the start too', async () => {
    await submit('q');
    await worker.complete((await next()).lease, { at: 'w' });
    await worker.complete((await next()).lease, 1);
    for (const [from, fork] of [
      ['s1.0', 'q2'],
      ['plan', 'q3'],
    ] as const) {
      await led.leader.jobs.fork(jobId('q'), from as TaskId, jobId(fork));
      expect(await next()).toMatchObject({
        jobId: fork,
        taskId: 's0.0',
        input: '{"fragment":"scan q"}',
      });
      await led.leader.jobs.cancel(jobId(fork), 'enough');
      await worker.leader.workers.report(worker.session, [
        { kind: 'aborted', lease: worker.held[0]! },
      ]);
    }
  });
});

test('a task that was assigned while its input is recomputed is returned and waits for it', async () => {
  const other = await ScriptedWorker.join(led.leader, 'w2', ['echo']);
  await submit('q');
  await worker.complete((await next()).lease, { at: 'w' });
  // While its input is read, the maker's session ends.
  const read = store.results.bind(store);
  const asked = deferred();
  const goOn = deferred();
  vi.spyOn(store, 'results').mockImplementationOnce(async (...given) => {
    asked.resolve();
    await goOn.promise;
    return read(...given);
  });
  await failOver();
  other.leader = led.leader;
  const polled = other.pollNow(1);
  await asked.promise;
  led.leader.workers.gone(worker.session);
  await other.beat();
  goOn.resolve();
  expect(await polled).toEqual([]);
  expect(await state('q', 's1.0')).toBe('blocked');
  expect(await other.pollNow(1)).toMatchObject([{ taskId: 's0.0', run: 2 }]);
});

describe('a query that a task calls', () => {
  const ID = 'one.q' as JobId;
  const step = '$job/sub';

  async function call(document: unknown): Promise<void> {
    const { lease } = await next();
    await report(lease, document);
  }

  async function report(lease: LeaseName, document: unknown): Promise<void> {
    const jobs = [{ step, jobId: ID, document }];
    const until = { type: 'wait', sleeps: [], signals: [], jobs } as const;
    const { verdicts } = await worker.leader.workers.report(worker.session, [
      { kind: 'suspended', lease, until },
    ]);
    expect(verdicts).toEqual(['ok']);
    worker.held.length = 0;
  }

  const steps = ({ steps: all }: ReadyAssignment): Record<string, unknown> =>
    Object.fromEntries(all.map(({ name, body }) => [name, JSON.parse(body) as unknown]));

  beforeEach(async () => {
    const tasks = [{ id: 'a', executor: 'echo', priority: 1 }];
    await led.leader.jobs.submit({ name: 'one', tasks }, { jobId: jobId('one') });
  });

  test('is planned while the task waits, and answers it; nobody else waits for the planning', async () => {
    const planned: Deferred<PlannedQuery> = deferred();
    plan.mockReturnValue(planned.promise);
    await call({ query: { sql: 'x' }, name: 'my query' });
    expect(await state('one', 'a')).toBe('blocked');
    // Tasks share one place among the callers that take turns.
    expect(plan).toHaveBeenCalledWith({ sql: 'x' }, expect.any(AbortSignal), 'tasks');
    await led.leader.jobs.submit(
      { name: 'two', tasks: [{ id: 'b', executor: 'echo' }] },
      { jobId: jobId('two') },
    );
    await worker.complete((await next()).lease);
    planned.resolve(sampleQuery('x'));
    await vi.waitFor(async () => expect(await store.jobRow(0, ID)).not.toBeNull());
    expect(await store.jobRow(0, ID)).toMatchObject({ name: 'my query', priority: 1 });
    await worker.complete((await next()).lease, { at: 'w' });
    await worker.complete((await next()).lease, 42);
    const again = await next();
    expect(again).toMatchObject({ jobId: 'one', resumed: true });
    expect(steps(again)[step]).toMatchObject({ state: 'succeeded', result: { rows: 42 } });
  });

  test('that cannot be planned is a failed job, and the task gets the error', async () => {
    plan.mockRejectedValue(new MillraceError({ code: 'bad_query', what: 'No such column.' }));
    await call({ query: { sql: 'x' } });
    await vi.waitFor(async () => expect(await state('one', 'a')).toBe('ready'));
    const again = await next();
    expect(steps(again)[step]).toMatchObject({
      jobId: ID,
      state: 'failed',
      error: { code: 'bad_query', message: 'No such column.' },
    });
    expect(await store.jobRow(0, ID)).toMatchObject({ state: 'failed', name: 'query' });
  });

  test('is a failed job where nobody plans', async () => {
    await store.resign(led.leader.term);
    led = await lead(store, clock);
    await led.leader.loaded;
    worker.leader = led.leader;
    await call({ query: { sql: 'x' } });
    await vi.waitFor(async () => expect(await state('one', 'a')).toBe('ready'));
    expect(steps(await next())[step]).toMatchObject({ error: { code: 'unimplemented' } });
  });

  test.each([
    { query: 'select 1' },
    { query: null },
    { query: [] },
    { query: {}, priority: 1 },
    { query: {}, name: 7 },
    { query: {}, name: '' },
  ])('that is none fails the task: %j', async (document) => {
    await call(document);
    const view = await store.task(0, jobId('one'), 'a' as TaskId);
    expect(view?.task).toMatchObject({ state: 'failed', error: { code: 'bad_child_job' } });
    expect(plan).not.toHaveBeenCalled();
  });

  test('is not submitted when its caller has ended meanwhile', async () => {
    const planned: Deferred<PlannedQuery> = deferred();
    plan.mockReturnValue(planned.promise);
    await call({ query: { sql: 'x' } });
    await led.leader.jobs.cancel(jobId('one'), 'enough');
    planned.resolve(sampleQuery('x'));
    await submit('after');
    expect(await store.jobRow(0, ID)).toBeNull();
  });

  test('is planned once, also when its caller is run again meanwhile', async () => {
    const planned: Deferred<PlannedQuery> = deferred();
    plan.mockReturnValue(planned.promise);
    const { lease } = await next();
    const jobs = [{ step, jobId: ID, document: { query: { sql: 'x' } } }];
    const signals = [{ step: '$signal/go', name: 'go' }];
    const until = { type: 'wait', sleeps: [], signals, jobs } as const;
    await worker.leader.workers.report(worker.session, [{ kind: 'suspended', lease, until }]);
    await led.leader.jobs.signal(jobId('one'), 'go', '1', 's1');
    await call({ query: { sql: 'x' } });
    planned.resolve(sampleQuery('x'));
    await vi.waitFor(async () => expect(await store.jobRow(0, ID)).not.toBeNull());
    expect(plan).toHaveBeenCalledTimes(1);
  });

  test('is asked for again after a fail-over in the middle of the planning', async () => {
    let isAborted = false;
    plan.mockImplementationOnce((_, signal) => {
      return new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => {
          isAborted = true;
          reject(new Error('aborted'));
        });
      });
    });
    await call({ query: { sql: 'x' } });
    const old = led;
    await failOver();
    await old.leader.end(new MillraceError({ code: 'deposed', what: 'Another one leads.' }));
    expect(isAborted).toBe(true);
    await call({ query: { sql: 'x' } });
    await vi.waitFor(async () => expect(await store.jobRow(0, ID)).not.toBeNull());
    expect(plan).toHaveBeenCalledTimes(2);
  });
});

describe('outputs that nobody needs', () => {
  const unneeded = (...ids: string[]) =>
    led.leader.workers.unneeded(worker.session, ids.map(jobId));

  test('are those of jobs that nobody knows, or that did not succeed', async () => {
    await submit('live');
    await submit('waiting');
    expect(await unneeded('live', 'waiting', 'nobody')).toEqual(['nobody']);
    await led.leader.jobs.cancel(jobId('live'), 'enough');
    expect(await unneeded('live', 'waiting')).toEqual(['live']);
  });

  test('and those that succeeded, when their rows are no longer kept', async () => {
    await submit('q');
    await worker.complete((await next()).lease, { at: 'w' });
    await worker.complete((await next()).lease, 1);
    expect(await unneeded('q')).toEqual([]);
    const inner = led.leader.workers.unneeded(worker.session, [jobId('q')], 'inner');
    expect(await inner).toEqual(['q']);
    await clock.advance(3_600_000);
    expect(await unneeded('q')).toEqual(['q']);
  });

  test('are none while the leader loads its jobs', async () => {
    const held = deferred();
    const load = store.loadJobs.bind(store);
    vi.spyOn(store, 'loadJobs').mockImplementation(async (...given) => {
      await held.promise;
      return load(...given);
    });
    await store.resign(led.leader.term);
    led = await lead(store, clock);
    expect(await unneeded('nobody')).toEqual([]);
    held.resolve();
    await led.leader.loaded;
    expect(await unneeded('nobody')).toEqual(['nobody']);
  });
});
