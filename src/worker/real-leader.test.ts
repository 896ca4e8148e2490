import { afterEach, beforeEach, expect, test } from 'vitest';
import { Gate, calm, rig } from '../../test/fixture/worker-rig.ts';
import type { Rig, RigOptions } from '../../test/fixture/worker-rig.ts';
import { MillraceError } from '../core/index.ts';
import type { NodeId, TaskId } from '../core/index.ts';
import type { Executor } from '../executors/index.ts';
import type { LeaderForWorkers } from '../protocol/index.ts';
import type { Store } from '../store/index.ts';
import { jobId, lead, memoryStore } from '../testing/lead.ts';
import type { Led } from '../testing/lead.ts';
import { VirtualClock } from '../testing/virtual-clock.ts';

let clock: VirtualClock;
let store: Store;
let led: Led;
let rigs: Rig[];

beforeEach(async () => {
  clock = new VirtualClock();
  store = memoryStore(clock);
  led = await lead(store, clock);
  await led.leader.loaded;
  rigs = [];
});

afterEach(async () => {
  const stopped = rigs.map(({ worker }) => worker.stop());
  await pass(40_000);
  await Promise.all(stopped);
});

/** Speaks to whoever leads, as a channel would. */
function toLeader(): LeaderForWorkers {
  return {
    register: (offer, handshake) => led.leader.workers.register(offer, handshake),
    heartbeat: (beat) => led.leader.workers.heartbeat(beat),
    poll: (request, signal) => led.leader.workers.poll(request, signal),
    report: (session, items) => led.leader.workers.report(session, items),
    leave: (session) => led.leader.workers.leave(session),
  };
}

async function join(options: Partial<RigOptions> = {}): Promise<Rig> {
  const made = rig({ leader: toLeader(), virtual: clock, ...options });
  rigs.push(made);
  const starting = made.worker.start();
  await pass(10);
  await starting;
  return made;
}

/** Time, in steps: what each sets in motion may take several turns of the loop. */
async function pass(ms: number): Promise<void> {
  for (let step = 0; step < 20; step += 1) {
    await clock.advance(ms / 20);
    await calm();
  }
}

async function submit(name: string, ...tasks: object[]): Promise<void> {
  await led.leader.jobs.submit({ name, tasks }, { jobId: jobId(name) });
}

async function taskOf(job: string, task: string) {
  return (await store.task(0, jobId(job), task as TaskId))?.task;
}

const add: Executor = {
  name: 'add',
  run: (input) => (input as readonly number[]).reduce((sum, each) => sum + each, 0),
};

test('a graph runs to its end, results flow into inputs, and nothing stays held', async () => {
  await join({ tasks: [add] });
  await submit(
    'graph',
    { id: 'a', executor: 'echo', input: 1 },
    { id: 'b', executor: 'echo', input: 2 },
    { id: 'nap', executor: 'sleep', input: { ms: 500 } },
    {
      id: 'sum',
      executor: 'add',
      dependsOn: ['a', 'b', 'nap'],
      input: [{ $from: 'a' }, { $from: 'b' }],
    },
  );
  await pass(400);
  expect(await taskOf('graph', 'nap')).toMatchObject({ state: 'running', nodeId: 'w' });
  await pass(200);
  expect(await taskOf('graph', 'sum')).toMatchObject({ state: 'succeeded', attempt: 1 });
});

test('many short tasks go through two workers, each accepted once', async () => {
  const done = new Map<string, number>();
  const count: Executor = {
    name: 'count',
    run: (_input, { taskId }) => done.set(taskId, (done.get(taskId) ?? 0) + 1).size,
  };
  await join({ tasks: [count], slots: 4, nodeId: 'w1' as NodeId });
  await join({ tasks: [count], slots: 4, nodeId: 'w2' as NodeId });
  const ids = Array.from({ length: 500 }, (_, no) => ({ id: `t${no}`, executor: 'count' }));
  await submit('many', ...ids);
  await pass(5_000);
  const { job } = (await store.job(0, jobId('many')))!;
  expect(job.state).toBe('succeeded');
  expect([...done.values()].every((times) => times === 1)).toBe(true);
  expect(done.size).toBe(500);
});

test('a cancelled job aborts its handler', async () => {
  const gate = new Gate('gate');
  await join({ tasks: [gate] });
  await submit('one', { id: 'a', executor: 'gate' });
  await pass(100);
  await led.leader.jobs.cancel(jobId('one'), 'not needed');
  await pass(100);
  expect(gate.signals[0]!.aborted).toBe(true);
  expect(await taskOf('one', 'a')).toMatchObject({ state: 'cancelled' });
});

test('a run timeout aborts the handler and the task is tried again', async () => {
  const gate = new Gate('gate');
  await join({ tasks: [gate] });
  await submit('one', { id: 'a', executor: 'gate', timeouts: { runMs: 1_000 } });
  await pass(5_000);
  expect(gate.calls.length).toBeGreaterThan(1);
  expect(gate.signals[0]!.aborted).toBe(true);
  gate.calls.at(-1)!.end.resolve('at last');
  await pass(5_000);
});

test('a new leader takes the results of tasks that ran through the change', async () => {
  const gate = new Gate('gate');
  await join({ tasks: [gate] });
  await submit('one', { id: 'a', executor: 'gate' });
  await pass(100);
  await led.leader.end(new MillraceError({ code: 'shutting_down', what: 'The leader goes.' }));
  await pass(1_000);
  gate.calls[0]!.end.resolve('kept');
  // Until the old term is over.
  await pass(10_000);
  led = await lead(store, clock);
  await led.leader.loaded;
  await pass(10_000);
  expect(await taskOf('one', 'a')).toMatchObject({ state: 'succeeded', attempt: 1 });
  expect(gate.calls).toHaveLength(1);
});

test('a step that was finished is not done again by the next attempt', async () => {
  const done: string[] = [];
  const stepping: Executor = {
    name: 'stepping',
    run: async (_input, { step, attempt }) => {
      const value = await step('first', () => done.push(`first by ${attempt}`));
      if (attempt === 1) throw new Error('after the first step');
      return value;
    },
  };
  await join({ tasks: [stepping] });
  await submit('one', { id: 'a', executor: 'stepping' });
  await pass(5_000);
  expect(await taskOf('one', 'a')).toMatchObject({ state: 'succeeded', attempt: 2 });
  expect(done).toEqual(['first by 1']);
});

test('a drained worker leaves and its prefetched tasks run elsewhere, uncounted', async () => {
  const gate = new Gate('gate');
  const first = await join({ tasks: [gate], slots: 1, prefetch: 1, nodeId: 'w1' as NodeId });
  await submit('one', { id: 'a', executor: 'gate' }, { id: 'b', executor: 'gate' });
  await pass(100);
  expect(gate.calls).toHaveLength(1);
  const other = new Gate('gate');
  await join({ tasks: [other], nodeId: 'w2' as NodeId });
  const stopped = first.worker.stop();
  await pass(100);
  expect(other.calls).toHaveLength(1);
  gate.calls[0]!.end.resolve(1);
  other.calls[0]!.end.resolve(2);
  await pass(100);
  await stopped;
  for (const id of ['a', 'b']) {
    expect(await taskOf('one', id)).toMatchObject({ state: 'succeeded', attempt: 1 });
  }
});

test('the leader drains a node: it finishes, leaves and ends', async () => {
  const { worker } = await join();
  await led.leader.workers.drain('w' as NodeId);
  await pass(100);
  await expect(worker.ended).resolves.toBeUndefined();
});
