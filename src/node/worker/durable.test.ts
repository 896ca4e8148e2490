/** Waiting with a real leader: what a handler asks for, what the leader makes of it, and both across a loss. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { LedCluster } from '../../../test/rig/led-cluster.ts';
import type { Json, NodeId } from '../../scheduler/core/index.ts';
import type { Callable, Executor, Mappable, TaskContext } from '../../tasks/executors/index.ts';
import { jobId } from '../../../test/rig/lead.ts';

let cluster: LedCluster;
/** What handlers did, in order. */
let done: string[];

beforeEach(async () => {
  done = [];
  cluster = await LedCluster.start();
});

afterEach(() => cluster.end());

function task(name: string, run: (context: TaskContext, input: Json) => unknown): Executor {
  return {
    name,
    run: (input, context) => {
      done.push(`${name} begins`);
      return run(context, input);
    },
  };
}

async function alone(run: (context: TaskContext, input: Json) => unknown): Promise<void> {
  await cluster.join({ tasks: [task('it', run)] });
  await cluster.submit('job', { id: 'a', executor: 'it' });
  await cluster.pass(100);
}

const HOUR_MS = 3_600_000;

test('a handler sleeps for hours without a slot and continues, without using up an attempt', async () => {
  await alone(async ({ step, sleep: nap }) => {
    await step('before', () => done.push('before'));
    await nap('night', '8h');
    return step('after', () => done.push('after'));
  });
  expect(done).toEqual(['it begins', 'before']);
  expect(await cluster.task('job', 'a')).toMatchObject({ state: 'delayed', suspended: 'time' });
  await cluster.pass(8 * HOUR_MS - 60_000);
  expect(done).toHaveLength(2);
  await cluster.pass(120_000);
  expect(done).toEqual(['it begins', 'before', 'it begins', 'after']);
  expect(await cluster.task('job', 'a')).toMatchObject({ state: 'succeeded', attempt: 1 });
});

test('a sleep survives a fail-over, and ends at the same time', async () => {
  await alone(async ({ sleep: nap }) => {
    await nap('night', '1h');
    return 'awake';
  });
  await cluster.changeLeader();
  expect(await cluster.task('job', 'a')).toMatchObject({ state: 'delayed' });
  await cluster.pass(3_600_000);
  expect(await cluster.result('job', 'a')).toBe('awake');
  expect(done).toHaveLength(2);
});

test('of several sleeps the shortest wakes the task, and the others keep their end times', async () => {
  await alone(async ({ sleep: nap }) => {
    await Promise.all([
      nap('short', '1h').then(() => done.push('short')),
      nap('long', '2h').then(() => done.push('long')),
    ]);
  });
  await cluster.pass(3_700_000);
  expect(done).toEqual(['it begins', 'it begins', 'short']);
  await cluster.pass(3_400_000);
  expect(await cluster.task('job', 'a')).toMatchObject({ state: 'delayed' });
  await cluster.pass(200_000);
  expect(await cluster.task('job', 'a')).toMatchObject({ state: 'succeeded' });
});

test('a signal wakes the task that waits for it, and one that came before is not lost', async () => {
  await alone(async ({ waitFor }) => [await waitFor('first'), await waitFor('second')]);
  expect(await cluster.task('job', 'a')).toMatchObject({ state: 'blocked', suspended: 'signal' });
  await cluster.signal('job', 'second', { n: 2 });
  await cluster.pass(100);
  expect(done).toHaveLength(1);
  await cluster.changeLeader();
  await cluster.signal('job', 'first', 1);
  await cluster.signal('job', 'first', 1);
  await cluster.pass(100);
  expect(await cluster.result('job', 'a')).toEqual([1, { n: 2 }]);
});

test('two signals of one name go to two waits', async () => {
  await alone(({ waitFor }) =>
    Promise.all([waitFor('vote', { as: 'a' }), waitFor('vote', { as: 'b' })]),
  );
  await cluster.signal('job', 'vote', 'yes', 'v1');
  await cluster.pass(100);
  expect(await cluster.task('job', 'a')).toMatchObject({ state: 'blocked' });
  await cluster.signal('job', 'vote', 'no', 'v2');
  await cluster.pass(100);
  expect(new Set((await cluster.result('job', 'a')) as string[])).toEqual(new Set(['yes', 'no']));
});

test('a wait that has timed out stays timed out when the signal arrives later', async () => {
  await alone(async ({ waitFor, sleep: nap }) => {
    const answer = await waitFor('approval', { timeout: '1h' });
    done.push(answer === undefined ? 'nobody' : 'somebody');
    await nap('cool', '1h');
    return answer ?? 'nobody answered';
  });
  expect(await cluster.task('job', 'a')).toMatchObject({ state: 'delayed', suspended: 'signal' });
  await cluster.pass(3_700_000);
  expect(done).toEqual(['it begins', 'it begins', 'nobody']);
  await cluster.signal('job', 'approval', 'too late');
  await cluster.pass(3_700_000);
  expect(done.slice(3)).toEqual(['it begins', 'nobody']);
  expect(await cluster.result('job', 'a')).toBe('nobody answered');
});

test('a signal in time ends the wait, and the timeout has no effect any more', async () => {
  await alone(({ waitFor }) => waitFor('approval', { timeout: '1h' }));
  await cluster.pass(1_800_000);
  await cluster.signal('job', 'approval', null);
  await cluster.pass(100);
  expect(await cluster.task('job', 'a')).toMatchObject({ state: 'succeeded' });
  expect(await cluster.result('job', 'a')).toBe(null);
});

test('a wait with timeout 0 takes an existing signal or continues without one', async () => {
  await cluster.join({
    tasks: [
      task('it', async ({ waitFor, sleep: nap }) => {
        const first = await waitFor('go', { timeout: 0, as: 'first' });
        await nap('pause', '1m');
        return [first ?? 'none', await waitFor('go', { timeout: 0, as: 'second' })];
      }),
    ],
  });
  await cluster.submit('job', { id: 'a', executor: 'it' });
  await cluster.pass(100);
  await cluster.signal('job', 'go', 'there');
  await cluster.pass(120_000);
  expect(await cluster.result('job', 'a')).toEqual(['none', 'there']);
});

const child: Callable<Json, Json> = {
  name: 'child',
  toDocument: (input) => ({ name: 'child', tasks: [{ id: 'only', executor: 'inner', input }] }),
  readResult: (result) => result,
};

test('a called job runs, and the call returns its result, also after a fail-over', async () => {
  await cluster.join({
    tasks: [
      task('it', async ({ call }) => {
        const both = await Promise.all([call('one', child, 1), call('two', child, 2)]);
        return both;
      }),
      task('inner', async ({ sleep: nap }, input) => {
        await nap('nap', '1m');
        return { got: input };
      }),
    ],
  });
  await cluster.submit('job', { id: 'a', executor: 'it' });
  await cluster.pass(100);
  expect(await cluster.task('job', 'a')).toMatchObject({ state: 'blocked', suspended: 'job' });
  await cluster.changeLeader();
  await cluster.pass(120_000);
  expect(await cluster.result('job', 'a')).toEqual([{ got: 1 }, { got: 2 }]);
  expect(done.filter((what) => what === 'inner begins')).toHaveLength(4);
});

test('a called job that fails fails the call, for good, with its error', async () => {
  await cluster.join({
    tasks: [
      task('it', ({ call }) => call('one', child, 1)),
      task('inner', () => {
        throw Object.assign(new Error('no money'), { failure: 'fatal', code: 'E_PAY' });
      }),
    ],
  });
  await cluster.submit('job', { id: 'a', executor: 'it' });
  await cluster.pass(1_000);
  const row = await cluster.task('job', 'a');
  expect(row).toMatchObject({ state: 'failed', attempt: 1, error: { code: 'child_job_failed' } });
  expect(row?.error?.message).toContain('no money');
});

const square: Mappable<number, number> = {
  name: 'square',
  toTask: (input) => ({ executor: 'square', input }),
  readResult: (result) => result as number,
};

test('a map runs a task for each item, some at a time, and gathers their results in order', async () => {
  let running = 0;
  let most = 0;
  const release: (() => void)[] = [];
  await cluster.join({
    slots: 8,
    tasks: [
      task('it', ({ map }, input) => map('part', square, input as number[], { concurrency: 2 })),
      task('square', async (_context, input) => {
        running += 1;
        most = Math.max(most, running);
        await new Promise<void>((resolve) => {
          release.push(resolve);
        });
        running -= 1;
        return (input as number) ** 2;
      }),
    ],
  });
  await cluster.submit('job', { id: 'a', executor: 'it', input: [1, 2, 3, 4, 5] });
  for (let round = 0; round < 5; round += 1) {
    await cluster.pass(100);
    for (const each of release.splice(0)) each();
  }
  await cluster.pass(100);
  expect(await cluster.result('job', 'a')).toEqual([1, 4, 9, 16, 25]);
  expect(most).toBe(2);
  expect(await cluster.task('job', 'a.part.3')).toMatchObject({ state: 'succeeded' });
});

test('maps after one another, and a map over nothing, in one task', async () => {
  await cluster.join({
    tasks: [
      task('it', async ({ map, step, sleep: nap }) => {
        const first = await map('first', square, [1, 2]);
        await step('noted', () => done.push('noted'));
        await nap('nap', '1m');
        const second = await map('second', square, first);
        return [second, await map('none', square, [])];
      }),
      task('square', (_context, input) => (input as number) ** 2 + 1),
    ],
  });
  await cluster.submit('job', { id: 'a', executor: 'it' });
  await cluster.pass(200_000);
  expect(await cluster.result('job', 'a')).toEqual([[5, 26], []]);
  expect(done.filter((what) => what === 'noted')).toHaveLength(1);
});

test('a map of which one task fails for good fails, and names it', async () => {
  await cluster.join({
    tasks: [
      task('it', ({ map }) => map('part', square, [1, 2, 3])),
      task('square', (_context, input) => {
        if (input === 2) throw Object.assign(new Error('not two'), { failure: 'fatal' });
        return input;
      }),
    ],
  });
  await cluster.submit('job', { id: 'a', executor: 'it' });
  await cluster.pass(1_000);
  const row = await cluster.task('job', 'a');
  expect(row).toMatchObject({ state: 'failed', error: { code: 'children_failed' } });
  expect(row?.error?.message).toContain('1 of the 3 tasks of part');
  expect(row?.error?.message).toContain('a.part.1, failed: not two');
});

test('an attempt that fails after a sleep is tried again without sleeping again', async () => {
  await alone(async ({ sleep: nap, attempt }) => {
    await nap('night', '1h');
    if (attempt === 1) throw new Error('once');
    return 'awake';
  });
  await cluster.pass(3_700_000);
  expect(await cluster.result('job', 'a')).toBe('awake');
  expect(await cluster.task('job', 'a')).toMatchObject({ attempt: 2 });
});

test('a job that is cancelled while its task waits ends, with the jobs that it has called', async () => {
  await cluster.join({
    tasks: [
      task('it', ({ call }) => call('one', child, 1)),
      task('inner', ({ waitFor }) => waitFor('never')),
    ],
  });
  await cluster.submit('job', { id: 'a', executor: 'it' });
  await cluster.pass(100);
  await cluster.leader.jobs.cancel(jobId('job'), 'not needed');
  await cluster.pass(100);
  expect(await cluster.task('job', 'a')).toMatchObject({ state: 'cancelled' });
  const jobs = await cluster.store.jobs(0, { limit: 10 });
  expect(jobs.map(({ state }) => state)).toEqual(['cancelled', 'cancelled']);
});

test('a handler that never ends is stopped by its run timeout, every time, until its attempts are spent', async () => {
  const never = task('never', ({ signal }) => {
    return new Promise((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason as Error));
    });
  });
  await cluster.join({ tasks: [never] });
  await cluster.submit('job', {
    id: 'a',
    executor: 'never',
    timeouts: { runMs: 1_000 },
    retry: { maxAttempts: 2, backoffMs: 1 },
  });
  await cluster.pass(20_000);
  expect(await cluster.task('job', 'a')).toMatchObject({ state: 'failed', attempt: 2 });
});

test('an executor that is added later runs its tasks, and what was running goes on', async () => {
  let finish = (): void => {};
  const long = task('long', async () => {
    await new Promise<void>((resolve) => {
      finish = resolve;
    });
    return 'kept';
  });
  const { worker } = await cluster.join({ tasks: [long], nodeId: 'w1' as NodeId });
  await cluster.submit('job', { id: 'a', executor: 'long' }, { id: 'b', executor: 'new' });
  await cluster.pass(10_000);
  expect(await cluster.task('job', 'b')).toMatchObject({ state: 'ready' });
  const offered = worker.offer([task('new', () => 'there')], 'the test');
  await cluster.pass(10_000);
  await offered;
  expect(await cluster.result('job', 'b')).toBe('there');
  finish();
  await cluster.pass(100);
  expect(await cluster.task('job', 'a')).toMatchObject({ state: 'succeeded', attempt: 1 });
  expect(done).toEqual(['long begins', 'new begins']);
});
