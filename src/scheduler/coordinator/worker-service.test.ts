import { beforeEach, expect, test } from 'vitest';
import type { NodeId, SessionId, TaskId } from '../core/index.ts';
import { ownHandshake } from '../contract/index.ts';
import type { WorkerReport } from '../contract/index.ts';
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
  led = await lead(store, clock, {
    settings: { resultBytesMax: 20_000, stepBytesMax: 100 },
  });
  await led.leader.loaded;
  worker = await ScriptedWorker.join(led.leader, 'w', ['echo']);
});

async function submit(name: string, ...tasks: object[]): Promise<void> {
  await led.leader.jobs.submit({ name, tasks }, { jobId: jobId(name) });
}

const taskView = (job: string, task: string) => store.task(0, jobId(job), task as TaskId);

test('a worker that fetches outputs is recommended a window with every answer', async () => {
  const { workers } = led.leader;
  const { nodeId, sessionId } = worker.session;
  const beat = async (fetchBytesPerSecond: number): Promise<number | undefined> => {
    const figures = { residentBytes: 1, shuffleBytes: 1, diskFreeBytes: 1, fetchBytesPerSecond };
    const rest = { held: [], seenPoll: 0, executors: ['echo'] };
    return (await workers.heartbeat({ nodeId, sessionId, ...rest, figures })).fetchWindowBytes;
  };
  expect(await beat(0)).toBeUndefined();
  expect(await beat(4 * 2 ** 20)).toBe(8 * 2 ** 20);
  const request = { nodeId, sessionId, pollNo: 1, capacity: 1, held: [], waits: false };
  const { orders } = await workers.poll(request);
  expect(orders.fetchWindowBytes).toBe(8 * 2 ** 20);
  expect((await workers.report({ nodeId, sessionId }, [])).orders).toEqual(orders);
  expect(await beat(0)).toBeUndefined();
});

test('an input is put together from the results of dependencies, and null is a result', async () => {
  await submit(
    'one',
    { id: 'a', executor: 'echo' },
    { id: 'b', executor: 'echo' },
    {
      id: 'c',
      executor: 'echo',
      dependsOn: ['a', 'b'],
      input: { left: { $from: 'a', path: '/x/0' }, right: { $from: 'b' }, own: 1 },
    },
  );
  const [a, b] = await worker.poll(2);
  await worker.complete(a!.lease, { x: ['first'] });
  await worker.complete(b!.lease, null);
  worker.held.length = 0;
  const [c] = await worker.poll(1);
  expect(JSON.parse(c!.input)).toEqual({ left: 'first', right: null, own: 1 });
});

test('an input that cannot be put together fails the task for good, without a worker', async () => {
  await submit(
    'one',
    { id: 'a', executor: 'echo' },
    { id: 'b', executor: 'echo', dependsOn: ['a'], input: { $from: 'a', path: '/no/such' } },
  );
  const [a] = await worker.poll(1);
  await worker.complete(a!.lease, { x: 1 });
  worker.held.length = 0;
  expect(await worker.pollNow(1)).toEqual([]);
  expect((await taskView('one', 'b'))?.task).toMatchObject({
    state: 'failed',
    error: { code: 'missing_path' },
  });
});

test.each<[string, Partial<WorkerReport>, string]>([
  [
    'a result over the limit',
    { kind: 'completed', result: `"${'x'.repeat(20_000)}"` },
    'too_large',
  ],
  ['half of a surrogate pair', { kind: 'completed', result: '"\uD800"' }, 'bad_result'],
  ['a result that is not JSON', { kind: 'completed', result: '{' }, 'bad_result'],
  [
    'a result that nobody could write again',
    { kind: 'completed', result: `${'['.repeat(9_000)}${']'.repeat(9_000)}` },
    'bad_result',
  ],
  [
    'a step whose name is longer than an index allows',
    { kind: 'step', name: 'x'.repeat(1_001), body: '1' },
    'bad_step',
  ],
  [
    'a step under the name of a called job',
    { kind: 'step', name: '$job/x', body: '{"jobId":7}' },
    'bad_step',
  ],
  ['a step over the limit', { kind: 'step', name: 's', body: `"${'x'.repeat(200)}"` }, 'too_large'],
])('%s fails the task and is not stored', async (_, item, code) => {
  await submit('one', { id: 'a', executor: 'echo' });
  const [a] = await worker.poll(1);
  await led.leader.workers.report(worker.session, [{ ...item, lease: a!.lease } as WorkerReport]);
  expect(await taskView('one', 'a')).toMatchObject({
    task: { state: 'failed', error: { code } },
    result: null,
  });
});

test('progress that is not a number is none, and the other items of the report count', async () => {
  await submit('one', { id: 'a', executor: 'echo' });
  const [a] = await worker.poll(1);
  const { lease } = a!;
  const { verdicts } = await led.leader.workers.report(worker.session, [
    { kind: 'progress', lease, fraction: Number.NaN, note: null },
    { kind: 'completed', lease, result: '1' },
  ]);
  expect(verdicts).toEqual(['ok', 'ok']);
});

test.each([
  { id: 'a/b' as NodeId },
  { slots: Number.NaN },
  { slots: -1 },
  { prefetch: 1.5 },
  { executors: ['a\0'] },
])('an offer with %j is refused before it is stored', async (wrong) => {
  const offer = {
    ...worker.session,
    id: 'n' as NodeId,
    slots: 1,
    prefetch: 0,
    executors: [],
    version: '0',
  };
  const full = { ...offer, capabilities: {}, address: null, ...wrong };
  await expect(led.leader.workers.register(full, ownHandshake())).rejects.toMatchObject({
    code: 'bad_input',
  });
});

test('text that no store could keep is cleaned before it is stored', async () => {
  await submit('one', { id: 'a', executor: 'echo' });
  const [a] = await worker.poll(1);
  const error = { code: 'boom', message: 'a\0b \uD800 c' };
  const item = { kind: 'failed', lease: a!.lease, error, failure: 'fatal' } as const;
  await led.leader.workers.report(worker.session, [item]);
  expect((await taskView('one', 'a'))?.task.error?.message).toBe('a\uFFFDb \uFFFD c');
});

test('a completion that was accepted is answered ok again, by memory, by the store and by a new leader', async () => {
  await submit(
    'one',
    { id: 'a', executor: 'echo' },
    { id: 'b', executor: 'echo', dependsOn: ['a'] },
  );
  const [a] = await worker.poll(1);
  const tell = async () => (await worker.complete(a!.lease, 1)).verdicts;
  expect(await tell()).toEqual(['ok']);
  expect(await tell()).toEqual(['ok']);
  worker.held.length = 0;
  const [b] = await worker.poll(1);
  await worker.complete(b!.lease);
  expect((await store.jobRow(0, jobId('one')))?.state).toBe('succeeded');
  expect(await tell()).toEqual(['ok']);
  await store.resign(led.leader.term);
  worker.leader = (await lead(store, clock)).leader;
  expect(await tell()).toEqual(['ok']);
  expect((await taskView('one', 'a'))?.result).toBe('1');
});

test('a completion with an old fence is lost even when the job is over', async () => {
  await submit('one', { id: 'a', executor: 'echo' });
  const [a] = await worker.poll(1);
  const stale = { ...a!.lease, fence: a!.lease.fence - 1 };
  await worker.complete(a!.lease, 1);
  expect((await worker.complete(stale, 2)).verdicts).toEqual(['lost']);
  expect((await taskView('one', 'a'))?.result).toBe('1');
});

test('running tasks keep running under a new leader and report to it', async () => {
  await submit('one', { id: 'a', executor: 'echo' });
  const [a] = await worker.poll(1);
  await store.resign(led.leader.term);
  worker.leader = (await lead(store, clock)).leader;
  await worker.beat();
  expect((await worker.complete(a!.lease, 1)).verdicts).toEqual(['ok']);
  expect((await taskView('one', 'a'))?.task).toMatchObject({ state: 'succeeded', attempt: 1 });
});

test('a worker that leaves gives back what it holds, uncounted', async () => {
  await submit('one', { id: 'a', executor: 'echo' });
  await worker.poll(1);
  await led.leader.workers.leave(worker.session);
  const other = await ScriptedWorker.join(led.leader, 'v', ['echo']);
  const [again] = await other.poll(1);
  expect(again).toMatchObject({ attempt: 1, lease: { fence: 2 } });
});

test('a session whose process is proven gone ends at once', async () => {
  await submit('one', { id: 'a', executor: 'echo' });
  await worker.poll(1);
  led.leader.workers.gone(worker.session);
  const other = await ScriptedWorker.join(led.leader, 'v', ['echo']);
  const [again] = await other.poll(1);
  expect(again).toMatchObject({ attempt: 2, lease: { fence: 2 } });
});

test('a drained node learns it, gets nothing, and takes work again when it is released', async () => {
  const parked = worker.pollFully(1);
  await settled();
  await led.leader.workers.drain('w' as NodeId);
  expect((await parked).orders.drain).toBe(true);
  await submit('one', { id: 'a', executor: 'echo' });
  expect(await worker.pollNow(1)).toEqual([]);
  await led.leader.workers.release('w' as NodeId);
  expect(await worker.poll(1)).toHaveLength(1);
});

test('a poll that is given up is answered empty', async () => {
  const timeoutMultiplier = new AbortController();
  const parked = worker.poll(1, timeoutMultiplier.signal);
  await settled();
  timeoutMultiplier.abort();
  expect(await parked).toEqual([]);
});

test('inputs that are too much for one answer come with the next polls, each once', async () => {
  const large = 'x'.repeat(1024 * 1024 - 100);
  for (let at = 0; at < 40; at += 1) {
    await submit(`large-${at}`, { id: 't', executor: 'echo', input: large });
  }
  const sizes: number[] = [];
  const seen = new Set<string>();
  while (seen.size < 40) {
    const assignments = await worker.pollNow(1_000);
    sizes.push(assignments.length);
    for (const { jobId: id } of assignments) seen.add(id);
    if (assignments.length === 0) break;
  }
  expect(seen.size).toBe(40);
  expect(sizes.length).toBeGreaterThan(1);
  expect(worker.held).toHaveLength(40);
});

test('counts the slots of living nodes for an executor, no more than their processors', async () => {
  const { workers } = led.leader;
  const register = (id: string, slots: number, capabilities: object, executors = ['sql']) =>
    workers.register(
      {
        ...{ id: id as NodeId, sessionId: `${id}-1` as SessionId, slots, prefetch: 500 },
        ...{ executors, capabilities: { ...capabilities }, address: null, version: '0.1.0' },
      },
      ownHandshake(),
    );
  expect(workers.slotsFor('sql')).toBe(0);
  await register('many', 8, { cpu_cores: 4 });
  await register('few', 2, { cpu_cores: 16 });
  await register('unknown', 3, {});
  await register('other', 5, {}, ['echo']);
  expect(workers.slotsFor('sql')).toBe(4 + 2 + 3);
  await workers.drain('few' as NodeId);
  expect(workers.slotsFor('sql')).toBe(4 + 3);
});

test('knows how many processors one task can have, as long as no other runs', async () => {
  const { workers, jobs } = led.leader;
  const session = { nodeId: 'one' as NodeId, sessionId: 'one-1' as SessionId };
  const register = (id: string, capabilities: Record<string, number>, executors = ['sql']) =>
    workers.register(
      {
        ...{ id: id as NodeId, sessionId: `${id}-1` as SessionId, slots: 2, prefetch: 0 },
        ...{ executors, capabilities, address: null, version: '0.1.0' },
      },
      ownHandshake(),
    );
  expect(workers.processorsOfOne('sql')).toBe(0);
  await register('unknown', {});
  await register('other', { query_threads: 64 }, ['echo']);
  expect(workers.processorsOfOne('sql')).toBe(0);
  await register('one', { query_threads: 4 });
  await register('two', { query_threads: 2 });
  expect(workers.processorsOfOne('sql')).toBe(4);
  await jobs.submit({ name: 'a', tasks: [{ id: 'a', executor: 'sql' }] }, { jobId: jobId('a') });
  await workers.poll({ ...session, pollNo: 1, capacity: 1, held: [] });
  expect(workers.processorsOfOne('sql')).toBe(0);
});

test('counts the processors of a machine once for all workers on it', async () => {
  const { workers } = led.leader;
  const register = (id: string, slots: number, process: string) =>
    workers.register(
      {
        ...{ id: id as NodeId, sessionId: `${id}-1` as SessionId, slots, prefetch: 500 },
        ...{ executors: ['sql'], capabilities: { cpu_cores: 4, process } },
        ...{ address: null, version: '0.1.0' },
      },
      ownHandshake(),
    );
  await register('one', 3, 'boot-a.1:10:5:x');
  expect(workers.slotsFor('sql')).toBe(3);
  await register('two', 3, 'boot-a.1:11:6:y');
  expect(workers.slotsFor('sql')).toBe(4);
  await register('elsewhere', 8, 'boot-b.1:10:5:z');
  expect(workers.slotsFor('sql')).toBe(4 + 4);
});
