/** What remains of a job after its end, as its document says. */
import { beforeEach, describe, expect, test } from 'vitest';
import type { JobId, TaskId } from '../core/index.ts';
import { ScriptedWorker, jobId, lead, memoryStore } from '../../../test/rig/lead.ts';
import type { Led } from '../../../test/rig/lead.ts';
import { VirtualClock } from '../../../test/rig/virtual-clock.ts';
import type { Store } from '../store/index.ts';

const settings = {
  unkeptRetentionMs: 30_000,
  pruneEveryMs: 10_000,
  // The worker of the test sends no heartbeats.
  sessionTtlMs: 3_600_000,
  nodeDeadMs: 3_600_000,
};

let clock: VirtualClock;
let store: Store;
let led: Led;
let worker: ScriptedWorker;

beforeEach(async () => {
  clock = new VirtualClock();
  store = memoryStore(clock);
  led = await lead(store, clock, { settings });
  await led.leader.loaded;
  worker = await ScriptedWorker.join(led.leader, 'w', ['echo']);
});

const TASKS = [{ id: 'a', executor: 'echo', retry: { maxAttempts: 1 } }];

async function submit(name: string, fields: object): Promise<{ readonly changed: boolean }> {
  return led.leader.jobs.submit({ name, tasks: TASKS, ...fields }, { jobId: jobId(name) });
}

async function end(how: 'succeeded' | 'failed'): Promise<void> {
  worker.held.length = 0;
  for (const { lease } of await worker.pollNow(9)) {
    if (how === 'succeeded') await worker.complete(lease, 7);
    else {
      const error = { code: 'broken', message: 'No.' };
      const item = { kind: 'failed', lease, error, failure: 'fatal' } as const;
      await worker.leader.workers.report(worker.session, [item]);
    }
  }
  worker.held.length = 0;
}

async function pass(ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 2_000) await clock.advance(2_000);
}

const left = async (): Promise<readonly JobId[]> =>
  (await store.jobs(0, { limit: 99 })).map(({ id }) => id).toSorted();

async function submitEach(how: string): Promise<void> {
  for (const keep of ['all', 'failed', 'none']) await submit(`${how}-${keep}`, { keep });
}

test('a job goes once its end could be read, and only if it is not kept', async () => {
  await submitEach('good');
  await end('succeeded');
  await submitEach('bad');
  await end('failed');
  await submit('usual', {});
  await end('succeeded');
  await submitEach('open');
  await pass(20_000);
  expect(await left()).toHaveLength(10);
  expect((await store.job(0, jobId('good-none')))?.tasks[0]).toMatchObject({ result: '7' });
  await pass(22_000);
  const kept = ['bad-all', 'bad-failed', 'good-all', 'usual'];
  expect(await left()).toEqual([...kept, 'open-all', 'open-failed', 'open-none'].toSorted());
});

test('a new leader removes jobs that the last one left behind', async () => {
  await submit('one', { keep: 'none' });
  await end('succeeded');
  await store.resign(led.leader.term);
  led = await lead(store, clock, { settings });
  await pass(20_000);
  expect(await left()).toEqual(['one']);
  await pass(22_000);
  expect(await left()).toEqual([]);
});

test('a job that is not kept cannot run again, before its rows are gone and after', async () => {
  await submit('one', { keep: 'none' });
  await end('failed');
  const again = (): readonly Promise<unknown>[] => [
    led.leader.jobs.rerun(jobId('one')),
    led.leader.jobs.redrive(jobId('one'), 'a' as TaskId),
    led.leader.jobs.fork(jobId('one'), 'a' as TaskId, jobId('two')),
  ];
  for (const call of again()) await expect(call).rejects.toMatchObject({ code: 'expired' });
  await expect(led.leader.jobs.cancel(jobId('one'), 'late')).resolves.toMatchObject({
    changed: false,
  });
  await pass(42_000);
  for (const call of again()) await expect(call).rejects.toMatchObject({ code: 'not_found' });
});

test('a failed job of which only failed ones are kept runs again, and goes when it has succeeded', async () => {
  await submit('one', { keep: 'failed' });
  await end('failed');
  await pass(60_000);
  await led.leader.jobs.rerun(jobId('one'));
  await end('succeeded');
  await pass(42_000);
  expect(await left()).toEqual([]);
});

test('an idempotency key is remembered as long as its job', async () => {
  const keyed = { keep: 'none', idempotencyKey: 'k' };
  await submit('one', keyed);
  await end('succeeded');
  expect(await submit('two', keyed)).toMatchObject({ jobId: 'one', changed: false });
  await pass(42_000);
  expect(await submit('three', keyed)).toMatchObject({ jobId: 'three', changed: true });
});

describe('a called job', () => {
  async function callFrom(keep: string, called: object): Promise<JobId> {
    await submit('one', { keep });
    const [assignment] = await worker.pollNow(1);
    const id = 'one.a' as JobId;
    const jobs = [{ step: '$job/it', jobId: id, document: { tasks: TASKS, ...called } }];
    const until = { type: 'wait', sleeps: [], signals: [], jobs } as const;
    const item = { kind: 'suspended', lease: assignment!.lease, until } as const;
    await worker.leader.workers.report(worker.session, [item]);
    return id;
  }

  test('is kept like its caller, and stays as long as that runs', async () => {
    await callFrom('none', {});
    await end('succeeded');
    await pass(60_000);
    expect(await left()).toEqual(['one', 'one.a']);
    worker.held.length = 0;
    const [again] = await worker.pollNow(1);
    expect(JSON.parse(again!.steps[0]!.body)).toMatchObject({ state: 'succeeded', result: 7 });
    await worker.complete(again!.lease, 8);
    await pass(42_000);
    expect(await left()).toEqual([]);
  });

  test('may say itself what is kept', async () => {
    await callFrom('none', { keep: 'all' });
    await end('succeeded');
    await end('succeeded');
    await pass(42_000);
    expect(await left()).toEqual(['one.a']);
  });
});
