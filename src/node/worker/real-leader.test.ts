import { afterEach, beforeEach, expect, test } from 'vitest';
import { LedCluster } from '../../../test/rig/led-cluster.ts';
import { Gate } from '../../../test/rig/worker-rig.ts';
import type { NodeId, SessionId } from '../../scheduler/core/index.ts';
import type { Executor } from '../../tasks/executors/index.ts';
import { jobId } from '../../../test/rig/lead.ts';

let cluster: LedCluster;

beforeEach(async () => {
  cluster = await LedCluster.start();
});

afterEach(() => cluster.end());

const add: Executor = {
  name: 'add',
  run: (input) => (input as readonly number[]).reduce((sum, each) => sum + each, 0),
};

test('a graph runs to its end, results flow into inputs, and nothing stays held', async () => {
  await cluster.join({ tasks: [add] });
  await cluster.submit(
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
  await cluster.pass(400);
  expect(await cluster.task('graph', 'nap')).toMatchObject({ state: 'running', nodeId: 'w' });
  await cluster.pass(200);
  expect(await cluster.task('graph', 'sum')).toMatchObject({ state: 'succeeded', attempt: 1 });
});

test('many short tasks go through two workers, each accepted once', async () => {
  const done = new Map<string, number>();
  const count: Executor = {
    name: 'count',
    run: (_input, { taskId }) => done.set(taskId, (done.get(taskId) ?? 0) + 1).size,
  };
  await cluster.join({ tasks: [count], slots: 4, nodeId: 'w1' as NodeId });
  await cluster.join({ tasks: [count], slots: 4, nodeId: 'w2' as NodeId });
  const ids = Array.from({ length: 500 }, (_, no) => ({ id: `t${no}`, executor: 'count' }));
  await cluster.submit('many', ...ids);
  await cluster.pass(5_000);
  const { job } = (await cluster.store.job(0, jobId('many')))!;
  expect(job.state).toBe('succeeded');
  expect([...done.values()].every((times) => times === 1)).toBe(true);
  expect(done.size).toBe(500);
});

test('a cancelled job aborts its handler', async () => {
  const gate = new Gate('gate');
  await cluster.join({ tasks: [gate] });
  await cluster.submit('one', { id: 'a', executor: 'gate' });
  await cluster.pass(100);
  await cluster.leader.jobs.cancel(jobId('one'), 'not needed');
  await cluster.pass(100);
  expect(gate.signals[0]!.aborted).toBe(true);
  expect(await cluster.task('one', 'a')).toMatchObject({ state: 'cancelled' });
});

test('a run timeout aborts the handler and the task is tried again', async () => {
  const gate = new Gate('gate');
  await cluster.join({ tasks: [gate] });
  await cluster.submit('one', { id: 'a', executor: 'gate', timeouts: { runMs: 1_000 } });
  await cluster.pass(5_000);
  expect(gate.calls.length).toBeGreaterThan(1);
  expect(gate.signals[0]!.aborted).toBe(true);
  gate.calls.at(-1)!.end.resolve('at last');
  await cluster.pass(5_000);
});

test('a new leader takes the results of tasks that ran through the change', async () => {
  const gate = new Gate('gate');
  await cluster.join({ tasks: [gate] });
  await cluster.submit('one', { id: 'a', executor: 'gate' });
  await cluster.pass(100);
  await cluster.resign();
  await cluster.pass(1_000);
  gate.calls[0]!.end.resolve('kept');
  await cluster.pass(10_000);
  await cluster.elect();
  await cluster.pass(10_000);
  expect(await cluster.task('one', 'a')).toMatchObject({ state: 'succeeded', attempt: 1 });
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
  await cluster.join({ tasks: [stepping] });
  await cluster.submit('one', { id: 'a', executor: 'stepping' });
  await cluster.pass(5_000);
  expect(await cluster.task('one', 'a')).toMatchObject({ state: 'succeeded', attempt: 2 });
  expect(done).toEqual(['first by 1']);
});

test('a drained worker leaves and its prefetched tasks run elsewhere, uncounted', async () => {
  const gate = new Gate('gate');
  const first = await cluster.join({
    tasks: [gate],
    slots: 1,
    prefetch: 1,
    nodeId: 'w1' as NodeId,
  });
  await cluster.submit('one', { id: 'a', executor: 'gate' }, { id: 'b', executor: 'gate' });
  await cluster.pass(100);
  expect(gate.calls).toHaveLength(1);
  const other = new Gate('gate');
  await cluster.join({ tasks: [other], nodeId: 'w2' as NodeId });
  const stopped = first.worker.stop();
  await cluster.pass(100);
  expect(other.calls).toHaveLength(1);
  gate.calls[0]!.end.resolve(1);
  other.calls[0]!.end.resolve(2);
  await cluster.pass(100);
  await stopped;
  for (const id of ['a', 'b']) {
    expect(await cluster.task('one', id)).toMatchObject({ state: 'succeeded', attempt: 1 });
  }
});

test('the leader drains a node: it finishes, leaves and ends', async () => {
  const { worker } = await cluster.join();
  await cluster.leader.workers.drain('w' as NodeId);
  await cluster.pass(100);
  await expect(worker.ended).resolves.toBeUndefined();
});

test('a heartbeat may name fewer executors than are registered, but never more', async () => {
  const { worker } = await cluster.join();
  await worker.offer([add], 'the test');
  const session = { nodeId: 'w' as NodeId, sessionId: 's1' as SessionId, held: [], seenPoll: 0 };
  const beat = (executors: readonly string[]): Promise<unknown> =>
    cluster.leader.workers.heartbeat({ ...session, executors });
  await expect(beat(['echo'])).resolves.toMatchObject({ abort: [] });
  await expect(beat(['echo', 'add'])).resolves.toMatchObject({ abort: [] });
  await expect(beat(['echo', 'unheard'])).rejects.toMatchObject({ code: 'unknown_session' });
});
