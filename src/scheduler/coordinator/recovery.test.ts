/** Between a look into the store and what is done with it, the world goes on. */
import { beforeEach, describe, expect, test } from 'vitest';
import { MillraceError, checkedSettings } from '../core/index.ts';
import type { ScheduleId, TaskId, TermId } from '../core/index.ts';
import { deferred } from '../../kit/index.ts';
import type { Store } from '../store/index.ts';
import { ScriptedWorker, jobId, lead, memoryStore } from '../../../test/rig/lead.ts';
import type { Led } from '../../../test/rig/lead.ts';
import { VirtualClock, settled } from '../../../test/rig/virtual-clock.ts';
import { cronCalendar } from './calendar.ts';
import { LeaderElection } from './leader-election.ts';

let clock: VirtualClock;
let memory: Store;

beforeEach(() => {
  clock = new VirtualClock();
  memory = memoryStore(clock);
});

/** The same store, some methods of which are others. */
function changed(methods: Partial<Store>): Store {
  return new Proxy(memory, {
    get(target, name) {
      const own: unknown = Reflect.get(methods, name);
      if (own !== undefined) return own;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}

const keyed = (key: string): object => ({
  tasks: [{ id: 'a', executor: 'echo', idempotencyKey: key, retry: { maxAttempts: 1 } }],
});

function submit({ leader }: Led, name: string, document: object): Promise<unknown> {
  return leader.jobs.submit({ name, ...document }, { jobId: jobId(name) });
}

async function fail(worker: ScriptedWorker): Promise<void> {
  const [lease] = worker.held.splice(0);
  if (lease === undefined) throw new Error('nothing is held');
  const error = { code: 'broken', message: 'broken' };
  const item = { kind: 'failed', lease, error, failure: 'fatal' } as const;
  await worker.leader.workers.report(worker.session, [item]);
}

test('a leader that cannot load all jobs steps down instead of forgetting them', async () => {
  const away = new MillraceError({ code: 'store_unavailable', what: 'The store is away.' });
  const led = await lead(changed({ loadJobs: () => Promise.reject(away) }), clock);
  expect(await led.ended).toBe(away);
});

test('a fork that is asked for again after it has ended is the same fork', async () => {
  const led = await lead(memory, clock);
  const worker = await ScriptedWorker.join(led.leader, 'w', ['echo']);
  await submit(led, 'job', { tasks: [{ id: 'a', executor: 'echo' }] });
  const fork = (): Promise<unknown> =>
    led.leader.jobs.fork(jobId('job'), 'a' as TaskId, jobId('fork'));
  expect(await fork()).toMatchObject({ changed: true });
  for (const { lease } of await worker.poll(2)) await worker.complete(lease);
  expect(await fork()).toMatchObject({ jobId: 'fork', state: 'succeeded', changed: false });
});

test('a job that ended while it was looked up is not cancelled any more', async () => {
  const led = await lead(
    changed({
      // As it was a moment ago.
      jobRow: async (shard, id) => {
        const row = await memory.jobRow(shard, id);
        return row === null ? null : { ...row, state: 'running' };
      },
    }),
    clock,
  );
  const worker = await ScriptedWorker.join(led.leader, 'w', ['echo']);
  await submit(led, 'job', { tasks: [{ id: 'a', executor: 'echo' }] });
  for (const { lease } of await worker.poll(1)) await worker.complete(lease);
  const reply = await led.leader.jobs.cancel(jobId('job'), 'too late');
  expect(reply).toMatchObject({ state: 'succeeded', changed: false });
  expect(await memory.jobRow(0, jobId('job'))).toMatchObject({ stopping: null });
});

describe('an execution key whose owner ends', () => {
  test('before the waiting job is loaded goes to that job', async () => {
    const first = await lead(memory, clock);
    const worker = await ScriptedWorker.join(first.leader, 'w', ['echo']);
    await submit(first, 'owner', keyed('k'));
    await worker.poll(1);
    await submit(first, 'waiter', keyed('k'));
    await memory.resign(first.leader.term);
    const opened = deferred();
    const slow = changed({
      loadJobs: async (...args) => {
        const portion = await memory.loadJobs(...args);
        await opened.promise;
        return portion;
      },
    });
    const second = await lead(slow, clock);
    worker.leader = second.leader;
    await fail(worker);
    opened.resolve();
    await second.leader.loaded;
    expect((await worker.poll(1)).map((each) => each.jobId)).toEqual(['waiter']);
  });

  test('while the store is asked about it goes to the job that is being submitted', async () => {
    const opened = deferred();
    let isSlow = false;
    const slow = changed({
      keys: async (...args) => {
        const rows = await memory.keys(...args);
        if (isSlow) await opened.promise;
        return rows;
      },
    });
    const led = await lead(slow, clock);
    const worker = await ScriptedWorker.join(led.leader, 'w', ['echo']);
    await submit(led, 'owner', keyed('k'));
    await worker.poll(1);
    isSlow = true;
    const submitted = submit(led, 'waiter', keyed('k'));
    await settled();
    await fail(worker);
    opened.resolve();
    await submitted;
    expect((await worker.poll(1)).map((each) => each.jobId)).toEqual(['waiter']);
  });
});

test('a schedule that is deleted and created again does not collide with its earlier jobs', async () => {
  const led = await lead(memory, clock);
  const worker = await ScriptedWorker.join(led.leader, 'w', ['echo']);
  const spec = {
    timing: { at: 1_000_000_000_000 },
    misfire: 'once',
    document: { tasks: [{ id: 'a', executor: 'echo' }] },
  };
  const id = 'nightly' as Parameters<Led['leader']['schedules']['put']>[0];
  for (let time = 0; time < 2; time += 1) {
    await led.leader.schedules.put(id, spec);
    await clock.advance(10);
    for (const { lease } of await worker.poll(1)) await worker.complete(lease);
    await led.leader.schedules.change(id, 'delete');
  }
  expect(await memory.jobs(0, { limit: 10, state: 'succeeded' })).toHaveLength(2);
});

test('a task waits again for an optional dependency that is redriven before it has begun', async () => {
  const led = await lead(memory, clock);
  const worker = await ScriptedWorker.join(led.leader, 'w', ['echo', 'slow']);
  const optional = { id: 'a', required: false };
  await submit(led, 'job', {
    tasks: [
      { id: 'a', executor: 'echo', retry: { maxAttempts: 1 } },
      { id: 'b', executor: 'slow' },
      { id: 'c', executor: 'echo', dependsOn: [optional, 'b'] },
    ],
  });
  const [a, b] = await worker.poll(2);
  worker.held.length = 0;
  if (a === undefined || b === undefined) throw new Error('two tasks are ready');
  worker.held.push(a.lease);
  await fail(worker);
  worker.held.push(b.lease);
  await led.leader.jobs.redrive(jobId('job'), 'a' as TaskId);
  const again = await worker.poll(1);
  expect(again.map((each) => each.taskId)).toEqual(['a']);
  for (const { lease } of again) await worker.complete(lease);
  worker.held.splice(1);
  // b still runs: c must wait for it, although a has ended twice.
  expect(await worker.pollNow(1)).toEqual([]);
  await worker.complete(b.lease);
  worker.held.length = 0;
  expect((await worker.poll(1)).map((each) => each.taskId)).toEqual(['c']);
});

test('a schedule keeps still until the job it fired last is in memory', async () => {
  const first = await lead(memory, clock);
  const document = { tasks: [{ id: 'a', executor: 'nobody-has-it' }] };
  const spec = { timing: { everyMs: 1_000 }, overlap: 'skip', document };
  await first.leader.schedules.put('s' as ScheduleId, spec);
  await clock.advance(1_500);
  expect(await memory.jobs(0, { limit: 10 })).toHaveLength(1);
  await first.leader.end(new MillraceError({ code: 'shutting_down', what: 'bye' }));
  await memory.resign(first.leader.term);

  const gate = deferred();
  const slow = changed({
    loadJobs: async (...args) => {
      await gate.promise;
      return memory.loadJobs(...args);
    },
  });
  const second = await lead(slow, clock);
  await clock.advance(5_000);
  expect(await memory.jobs(0, { limit: 10 })).toHaveLength(1);
  gate.resolve();
  await second.leader.loaded;
  await clock.advance(5_000);
  // Its job still runs, so it is left out, and known to be: nothing was fired over it.
  expect(await memory.jobs(0, { limit: 10 })).toHaveLength(1);
  const events = await memory.events(0, 0, 1_000);
  expect(events.some(({ kind }) => kind === 'schedule.missed')).toBe(true);
});

test('two candidates that take longer than a term to load still get a leader', async () => {
  const slow = changed({
    loadBusyJobs: async (shard) => {
      await new Promise<void>((resolve) => {
        clock.after(25_000, resolve);
      });
      return memory.loadBusyJobs(shard);
    },
  });
  const electors = ['one', 'two'].map(
    (nodeId) =>
      new LeaderElection({
        store: slow,
        clock,
        settings: checkedSettings(),
        calendar: cronCalendar,
        shard: 0,
        nodeId,
        url: null,
        grpc: null,
        newTermId: () => `${nodeId}-term` as TermId,
        random: () => 0.5,
      }),
  );
  for (const election of electors) election.start();
  await clock.advance(40_000);
  expect(electors.filter(({ leader }) => leader !== null)).toHaveLength(1);
  expect((await memory.leader(0))?.epoch).toBe(1);
  await Promise.all(electors.map((election) => election.stop()).concat(clock.advance(30_000)));
});
