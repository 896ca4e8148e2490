import { beforeEach, describe, expect, test } from 'vitest';
import type { TaskId } from '../core/index.ts';
import type { Store } from '../store/index.ts';
import { ScriptedWorker, jobId, lead, memoryStore } from '../../../test/rig/lead.ts';
import type { Led } from '../../../test/rig/lead.ts';
import { VirtualClock, settled } from '../../../test/rig/virtual-clock.ts';

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
const id = (text: string): TaskId => text as TaskId;

async function submit(name: string, document: object): Promise<unknown> {
  return led.leader.jobs.submit({ name, ...document }, { jobId: jobId(name) });
}

/** Runs whatever can run, with a result or a fatal failure for each task. */
async function runAll(outcome: (taskId: string) => unknown = () => null): Promise<string[]> {
  const ran: string[] = [];
  for (;;) {
    const assignments = await worker.pollNow(100);
    if (assignments.length === 0) return ran;
    for (const { lease, taskId } of assignments) {
      ran.push(taskId);
      const result = outcome(taskId);
      if (!(result instanceof Error)) await worker.complete(lease, result);
      else {
        const error = { code: 'broken', message: result.message };
        const item = { kind: 'failed', lease, error, failure: 'fatal' } as const;
        await worker.leader.workers.report(worker.session, [item]);
      }
    }
    worker.held.length = 0;
  }
}

/** A new leader on the same store. */
async function failOver(): Promise<void> {
  await store.resign(led.leader.term);
  led = await lead(store, clock);
  worker.leader = led.leader;
}

describe('submitting', () => {
  test('invalid input names the field, and nothing is stored', async () => {
    const bad = submit('bad', { tasks: [task('a', { dependsOn: ['ghost'] })] });
    await expect(bad).rejects.toMatchObject({ code: 'bad_input', path: '/tasks/0/dependsOn/0' });
    expect(await store.jobs(0, { limit: 10 })).toEqual([]);
    const events = await store.events(0, 0, 10);
    expect(events.map(({ kind }) => kind)).toEqual(['leader.elected', 'node.registered']);
  });

  test('the same key gives the first job: while it lives, when it is over, and under a new leader', async () => {
    const document = { idempotencyKey: 'k', tasks: [task('a')] };
    await submit('first', document);
    expect(await submit('second', document)).toMatchObject({ jobId: 'first', changed: false });
    await runAll();
    const third = await submit('third', document);
    expect(third).toMatchObject({ jobId: 'first', state: 'succeeded' });
    await failOver();
    expect(await submit('fourth', document)).toMatchObject({ jobId: 'first', changed: false });
    expect(await store.jobs(0, { limit: 10 })).toHaveLength(1);
  });

  test('two submissions with one key at the same moment make one job', async () => {
    const document = { idempotencyKey: 'k', tasks: [task('a')] };
    const both = await Promise.all([submit('x', document), submit('y', document)]);
    expect(both).toMatchObject([
      { jobId: 'x', changed: true },
      { jobId: 'x', changed: false },
    ]);
  });

  test('a task whose execution key was completed takes that result and does not run', async () => {
    const document = { tasks: [task('a', { idempotencyKey: 'pay-7' })] };
    await submit('first', document);
    await runAll(() => ({ paid: true }));
    await submit('second', document);
    expect(await runAll()).toEqual([]);
    const view = await store.task(0, jobId('second'), id('a'));
    expect(view).toMatchObject({ task: { state: 'succeeded' }, result: '{"paid":true}' });
  });

  test('a task whose execution key is pending in a job that is still loading waits for it', async () => {
    const document = { tasks: [task('a', { idempotencyKey: 'pay-7' })] };
    await submit('first', document);
    await failOver();
    await submit('second', document);
    await led.leader.loaded;
    expect(await runAll(() => 5)).toEqual(['a']);
    const rows = await store.jobs(0, { limit: 10 });
    expect(rows.map(({ state }) => state)).toEqual(['succeeded', 'succeeded']);
  });
});

describe('an event', () => {
  const send = (): Promise<unknown> =>
    led.leader.jobs.send('moved', { data: { a: 1 } }, { newId: () => jobId('new') });

  test('that means nobody is answered', async () => {
    expect(await send()).toMatchObject({ jobs: [], woken: [], cancelled: [] });
  });

  test('is not answered by a leader whose term is over, also when it knows nobody who is meant', async () => {
    const old = led;
    await failOver();
    await led.leader.loaded;
    await submit('one', { tasks: [task('a')], cancelOn: [{ event: 'moved', match: { a: 1 } }] });
    const following = led;
    led = old;
    await expect(send()).rejects.toMatchObject({ code: 'deposed' });
    led = following;
    expect(await send()).toMatchObject({ cancelled: ['one'] });
  });
});

describe('cancelling', () => {
  test('a job that is over stays as it is, and one that never was is not found', async () => {
    await submit('one', { tasks: [task('a')] });
    await runAll();
    const reply = await led.leader.jobs.cancel(jobId('one'), 'no need');
    expect(reply).toMatchObject({ state: 'succeeded', changed: false });
    const unknown = led.leader.jobs.cancel(jobId('ghost'), 'no need');
    await expect(unknown).rejects.toMatchObject({ code: 'not_found' });
  });

  test('a live job that is not in memory yet is loaded and cancelled', async () => {
    await submit('one', { tasks: [task('a')] });
    await failOver();
    const reply = await led.leader.jobs.cancel(jobId('one'), 'no need');
    expect(reply).toMatchObject({ state: 'cancelled', changed: true });
    await led.leader.loaded;
    expect((await store.jobRow(0, jobId('one')))?.state).toBe('cancelled');
    expect(await runAll()).toEqual([]);
  });

  test('a job that ends while the cancel is on its way is answered as it is, not as unknown', async () => {
    await submit('one', { tasks: [task('a')] });
    const [assignment] = await worker.poll(1);
    const cancelled = led.leader.jobs.cancel(jobId('one'), 'no need');
    await worker.complete(assignment!.lease);
    expect((await cancelled).state).toBe('succeeded');
  });

  test('a running task is asked to stop with the next answer, and a late completion is lost', async () => {
    await submit('one', { tasks: [task('a')] });
    const [assignment] = await worker.poll(1);
    const lease = assignment!.lease;
    const parked = worker.pollFully(1);
    await settled();
    const reply = await led.leader.jobs.cancel(jobId('one'), 'no need');
    expect(reply.state).toBe('running');
    expect((await parked).orders.abort).toEqual([lease]);
    const { verdicts } = await worker.complete(lease, 1);
    expect(verdicts).toEqual(['lost']);
    expect((await store.jobRow(0, jobId('one')))?.state).toBe('cancelled');
  });
});

describe('running again', () => {
  const chain = {
    tasks: [task('a'), task('b', { dependsOn: ['a'] }), task('c', { dependsOn: ['b'] })],
  };

  test('a failed job goes on from the failed task and keeps its history', async () => {
    await submit('one', chain);
    await runAll((each) => (each === 'b' ? new Error('no') : `${each}1`));
    expect((await store.jobRow(0, jobId('one')))?.state).toBe('failed');
    await failOver();
    const reply = await led.leader.jobs.rerun(jobId('one'), 1);
    expect(reply).toMatchObject({ state: 'queued', run: 2, changed: true });
    expect(await led.leader.jobs.rerun(jobId('one'), 1)).toMatchObject({ run: 2, changed: false });
    expect(await runAll((each) => `${each}2`)).toEqual(['b', 'c']);
    const view = await store.job(0, jobId('one'));
    expect(view?.job).toMatchObject({ state: 'succeeded', run: 2 });
    expect(view?.tasks.map(({ result }) => result)).toEqual(['"a1"', '"b2"', '"c2"']);
    expect(view?.history.map(({ taskNo, state, run }) => [taskNo, state, run])).toEqual([
      [1, 'failed', 1],
      [2, 'skipped', 1],
    ]);
  });

  test('a job that succeeded is not run again, and one that never was is not found', async () => {
    await submit('one', { tasks: [task('a')] });
    await runAll();
    await expect(led.leader.jobs.rerun(jobId('one'))).rejects.toMatchObject({ code: 'conflict' });
    await expect(led.leader.jobs.rerun(jobId('no'))).rejects.toMatchObject({ code: 'not_found' });
  });

  test('a dead task is redriven with what was skipped because of it', async () => {
    await submit('one', { tasks: [...chain.tasks, task('x')] });
    await runAll((each) => (each === 'b' || each === 'x' ? new Error('no') : null));
    await led.leader.jobs.redrive(jobId('one'), id('b'));
    expect(await runAll()).toEqual(['b', 'c']);
    expect((await store.jobRow(0, jobId('one')))?.state).toBe('failed');
  });

  test('a fork takes over the results of tasks that do not depend on its task', async () => {
    await submit('one', chain);
    await runAll((each) => `${each}1`);
    await led.leader.jobs.fork(jobId('one'), id('b'), jobId('two'));
    expect(await runAll((each) => `${each}2`)).toEqual(['b', 'c']);
    const results = (await store.job(0, jobId('two')))?.tasks.map(({ result }) => result);
    expect(results).toEqual(['"a1"', '"b2"', '"c2"']);
    const ghost = led.leader.jobs.fork(jobId('one'), id('ghost'), jobId('three'));
    await expect(ghost).rejects.toMatchObject({ code: 'not_found' });
  });
});

describe('a fork of a job whose tasks have added children', () => {
  /** `p` runs after `x`, adds a child, and goes on when that has ended. */
  async function runWithChild(outcome: (taskId: string) => unknown = () => null): Promise<void> {
    await submit('one', { tasks: [task('x'), task('p', { dependsOn: ['x'] }), task('y')] });
    const first = await worker.pollNow(2);
    for (const { lease, taskId } of first) await worker.complete(lease, `${taskId}1`);
    worker.held.length = 0;
    const [p] = await worker.pollNow(1);
    const until = { type: 'children', tasks: [task('c')] } as const;
    await led.leader.workers.report(worker.session, [
      { kind: 'suspended', lease: p!.lease, until },
    ]);
    worker.held.length = 0;
    await runAll(outcome);
  }
  const statesOf = async (job: string) =>
    (await store.job(0, jobId(job)))?.tasks.map(({ spec, task: { state } }) => [spec.id, state]);

  test('drops them when their parent runs again', async () => {
    await runWithChild();
    await led.leader.jobs.fork(jobId('one'), id('x'), jobId('two'));
    expect(await statesOf('two')).toEqual([
      ['x', 'ready'],
      ['p', 'blocked'],
      ['y', 'succeeded'],
    ]);
  });

  test('keeps them when their parent does not', async () => {
    await runWithChild((each) => `${each}1`);
    await led.leader.jobs.fork(jobId('one'), id('y'), jobId('two'));
    expect(await statesOf('two')).toEqual([
      ['x', 'succeeded'],
      ['p', 'succeeded'],
      ['y', 'ready'],
      ['c', 'succeeded'],
    ]);
    const two = await store.job(0, jobId('two'));
    expect(two?.tasks.map(({ result }) => result)).toEqual(['"x1"', '"p1"', null, '"c1"']);
  });

  test('drops them when their parent runs again because it has failed', async () => {
    await runWithChild((each) => (each === 'p' ? new Error('no') : null));
    await led.leader.jobs.fork(jobId('one'), id('y'), jobId('two'));
    expect(await statesOf('two')).toEqual([
      ['x', 'succeeded'],
      ['p', 'ready'],
      ['y', 'ready'],
    ]);
  });
});

describe('a signal', () => {
  const signal = (name: string, body: string, signalId: string) =>
    led.leader.jobs.signal(jobId('one'), name, body, signalId);
  const signals = async () => (await store.loadJob(0, jobId('one')))?.signals;

  test('is kept for a later wait, once for each id', async () => {
    await submit('one', { tasks: [task('a')] });
    expect(await signal('go', '[1]', 's1')).toMatchObject({ jobId: 'one', changed: true });
    expect(await signal('go', '[1]', 's1')).toMatchObject({ changed: false });
    await failOver();
    await led.leader.loaded;
    expect(await signal('go', '[1]', 's1')).toMatchObject({ changed: false });
    expect(await signal('go', 'null', 's2')).toMatchObject({ changed: true });
    expect((await signals())?.map(({ id: each, name }) => [each, name])).toEqual([
      ['s1', 'go'],
      ['s2', 'go'],
    ]);
  });

  test('for a job that has ended is refused, unless it came before that', async () => {
    await submit('one', { tasks: [task('a')] });
    await signal('go', 'null', 's1');
    await runAll();
    expect(await signal('go', 'null', 's1')).toMatchObject({ state: 'succeeded', changed: false });
    await expect(signal('go', 'null', 's2')).rejects.toMatchObject({ code: 'conflict' });
    expect(await signals()).toHaveLength(1);
  });

  test('for a job that never was is not found', async () => {
    await expect(signal('go', 'null', 's1')).rejects.toMatchObject({ code: 'not_found' });
  });

  test('finds a job that a new leader has not loaded yet', async () => {
    await submit('one', { tasks: [task('a')] });
    await failOver();
    expect(await signal('go', 'null', 's1')).toMatchObject({ changed: true });
    await led.leader.loaded;
    expect(await signals()).toHaveLength(1);
    expect(await runAll()).toEqual(['a']);
  });

  test.each([
    ['a name that is none', 'a/b', 'null', 's', 'bad_input'],
    ['an empty name', '', 'null', 's', 'bad_input'],
    ['an id that is none', 'go', 'null', 'a b', 'bad_input'],
    ['a value that is not JSON', 'go', '1,"x":2', 's', 'bad_input'],
    ['half of a character', 'go', '"\uD800"', 's', 'bad_input'],
    ['a value without end', 'go', `${'['.repeat(2_000)}${']'.repeat(2_000)}`, 's', 'bad_input'],
    ['a value over the limit', 'go', `"${'x'.repeat(1024 * 1024)}"`, 's', 'too_large'],
  ])('with %s is refused before it is stored', async (_name, name, body, signalId, code) => {
    await submit('one', { tasks: [task('a')] });
    await expect(signal(name, body, signalId)).rejects.toMatchObject({ code });
    expect(await signals()).toEqual([]);
  });
});

test.each(['', 'a/b', 'a\0b', 'x'.repeat(201)])(
  'the id %j is refused before it is stored',
  async (bad) => {
    const refused = led.leader.jobs.submit({ tasks: [task('a')] }, { jobId: jobId(bad) });
    await expect(refused).rejects.toMatchObject({ code: 'bad_input' });
  },
);

test('why several tasks wait is asked at once, and tasks that are not live are left out', async () => {
  await submit('one', { tasks: [task('a'), task('b', { dependsOn: ['a'] }), task('c')] });
  const why = await led.leader.jobs.explainAll(jobId('one'), [id('b'), id('c'), id('ghost')]);
  expect([...why]).toEqual([
    ['b', 'waits for a'],
    ['c', expect.stringMatching(/busy|fits/) as string],
  ]);
  expect(await led.leader.jobs.explainAll(jobId('ghost'), [id('a')])).toEqual(new Map());
});
