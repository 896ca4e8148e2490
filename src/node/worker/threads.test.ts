import { expect, onTestFinished, test } from 'vitest';
import { rig } from '../../../test/rig/worker-rig.ts';
import { FakeLeader, assignment, lease } from '../../../test/rig/fake-leader.ts';
import { plain, contexts, misuses } from '../../../test/rig/thread-tasks.ts';
import { ExecutorRegistry } from '../../tasks/executors/index.ts';
import type { WorkerReport } from '../../scheduler/contract/index.ts';
import { deferred } from '../../kit/index.ts';

/** A worker with one slot and one thread. Each answer comes with the report of an end. */
async function start() {
  const leader = new FakeLeader();
  const executors = new ExecutorRegistry({ max: 1 });
  onTestFinished(() => executors.close());
  for (const task of [...plain, ...contexts, ...misuses]) executors.add(task, 'the test');
  const { worker } = rig({ leader, slots: 1, prefetch: 0, executors });
  const report = leader.onReport;
  let ended = deferred<WorkerReport>();
  leader.onReport = async (items) => {
    await report(items);
    const end = items.find(({ kind }) => kind !== 'started' && kind !== 'step');
    if (end !== undefined) ended.resolve(end);
  };
  await worker.start();
  const run = (...given: Parameters<typeof assignment>): Promise<WorkerReport> => {
    ended = deferred();
    leader.give(assignment(...given));
    return ended.promise;
  };
  return { leader, run };
}

test('a sleeping handler on a thread frees its slot and its thread', async () => {
  const { leader, run } = await start();
  expect(await run(1, 'sleeps')).toMatchObject({
    kind: 'suspended',
    lease: lease(1),
    until: { type: 'wait', sleeps: [{ step: '$sleep/s', forMs: 259_200_000 }] },
  });
  expect(await run(2, 'where', { input: '7' })).toMatchObject({
    kind: 'completed',
    result: expect.stringContaining('"isMainThread":false') as string,
  });
  expect(leader.reported).not.toContain('completed 1');
});

test('a handler on a thread has retries of a step, and sleeps until a date', async () => {
  const { run } = await start();
  expect(await run(1, 'retries-a-step')).toMatchObject({ kind: 'completed', result: '3' });
  expect(await run(2, 'sleeps-until')).toMatchObject({
    kind: 'failed',
    error: { message: expect.stringContaining('up to ten years') as string },
  });
});

test('a sleep that is raced by a chain of steps waits for all of them, as in the main thread', async () => {
  const { leader, run } = await start();
  expect(await run(1, 'races')).toMatchObject({ kind: 'completed', result: '2' });
  expect(leader.reported.filter((word) => word.startsWith('suspended'))).toEqual([]);
});

test.each([
  ['uses-a-name-twice', 'duplicate_step', "The step 'charge'"],
  ['forgets-to-await', 'unawaited_step', "ctx.step('charge')"],
  ['waits-in-a-step', 'wait_in_step', "ctx.sleep('night')"],
])('a handler on a thread that %s fails for good', async (name, code, words) => {
  const { run } = await start();
  expect(await run(1, name)).toMatchObject({
    kind: 'failed',
    failure: 'fatal',
    error: { code, message: expect.stringContaining(words) as string },
  });
});

test('a step on a thread is waited for when another one beside it has failed', async () => {
  const { leader, run } = await start();
  expect(await run(1, 'fails-beside-a-step')).toMatchObject({ kind: 'failed' });
  expect(leader.reported).toEqual(['started 1', 'step 1', 'failed 1']);
});
