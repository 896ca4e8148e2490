import { beforeEach, expect, test } from 'vitest';
import { calm, rig } from '../../../test/rig/worker-rig.ts';
import { FakeLeader, assignment, lease } from '../../../test/rig/fake-leader.ts';
import type { JobId, TaskId } from '../../scheduler/core/index.ts';
import type { Mappable, TaskContext } from '../../tasks/executors/index.ts';
import type { ChildOutcome, ReadyAssignment } from '../../scheduler/contract/index.ts';

let leader: FakeLeader;

beforeEach(() => {
  leader = new FakeLeader();
});

async function run(
  handler: (context: TaskContext) => unknown,
  given: Partial<ReadyAssignment> = {},
): Promise<void> {
  const made = rig({
    leader,
    tasks: [{ name: 'task', run: (_input, context) => handler(context) }],
  });
  await made.worker.start();
  leader.give(assignment(1, 'task', given));
  await calm();
}

const square: Mappable<number, string> = {
  name: 'square',
  toTask: (input) => ({ executor: 'square', input, concurrency: { key: 'all', limit: 9 } }),
  readResult: (result) => `read ${JSON.stringify(result)}`,
};

function child(id: string, given: Partial<ChildOutcome>): ChildOutcome {
  return { id: id as TaskId, state: 'succeeded', result: null, error: null, ...given };
}

function lastItem(): unknown {
  return leader.items.at(-1);
}

function suspended(tasks: readonly object[]): object {
  return { kind: 'suspended', lease: lease(1), until: { type: 'children', tasks } };
}

function task(id: string, input: number, concurrency = { key: 'all', limit: 9 }): object {
  return { id, executor: 'square', input, concurrency };
}

test('a map adds a task for each item, with a concurrency limit if given', async () => {
  await run(({ map }) => map('part', square, [5, 6], { concurrency: 1 }));
  const limit = { key: 'job.t1.part', limit: 1 };
  expect(lastItem()).toEqual(suspended([task('t1.part.0', 5, limit), task('t1.part.1', 6, limit)]));
});

test('a limit key that would be too long is shortened, the same for all items', async () => {
  const jobId = 'j'.repeat(200) as JobId;
  await run(({ map }) => map('part', square, [5, 6], { concurrency: 1 }), { jobId });
  const item = leader.items.at(-1)!;
  if (item.kind !== 'suspended' || item.until.type !== 'children') throw new Error(item.kind);
  const keys = (item.until.tasks as { concurrency: { key: string } }[]).map(
    ({ concurrency }) => concurrency.key,
  );
  expect(new Set(keys).size).toBe(1);
  expect(keys[0]).toMatch(/^map\.[0-9a-f]{64}$/);
});

test('children are added first and alone: other waits follow', async () => {
  await run(({ map, sleep: nap, waitFor }) =>
    Promise.all([nap('night', 1), map('a', square, [1]), waitFor('go'), map('b', square, [2])]),
  );
  expect(lastItem()).toEqual(suspended([task('t1.a.0', 1), task('t1.b.0', 2)]));
});

test('when all of its tasks have ended a map answers their results in the order of the list', async () => {
  await run(({ map }) => map('part', square, [5, 6]), {
    children: [
      child('t1.part.1', { result: '36' }),
      child('t1.other.0', { state: 'running' }),
      child('t1.part.0', { result: null }),
    ],
  });
  expect(lastItem()).toEqual({
    kind: 'completed',
    lease: lease(1),
    result: '["read null","read 36"]',
  });
});

test('while a child has not ended, or is missing, the wait is requested again', async () => {
  await run(({ map }) => map('part', square, [5, 6]), {
    children: [child('t1.part.0', {}), child('t1.part.1', { state: 'ready' })],
  });
  expect(lastItem()).toEqual(suspended([task('t1.part.0', 5), task('t1.part.1', 6)]));
});

test('a map over nothing is an empty list', async () => {
  await run(({ map }) => map('part', square, []));
  expect(lastItem()).toMatchObject({ kind: 'completed', result: '[]' });
});

test('unsuccessful tasks fail the map, with their number and the first of them', async () => {
  const seen: unknown[] = [];
  await run(
    async ({ map }) => {
      await map('part', square, [1, 2, 3]).catch((error: unknown) => {
        seen.push(error);
        throw error;
      });
    },
    {
      children: [
        child('t1.part.0', {}),
        child('t1.part.1', { state: 'failed', error: { code: 'E', message: 'no' } }),
        child('t1.part.2', { state: 'cancelled' }),
      ],
    },
  );
  expect(seen).toMatchObject([
    {
      name: 'ChildrenError',
      failed: [
        { taskId: 't1.part.1', index: 1, state: 'failed' },
        { taskId: 't1.part.2', index: 2, state: 'cancelled' },
      ],
    },
  ]);
  expect(lastItem()).toMatchObject({
    failure: 'fatal',
    error: {
      code: 'children_failed',
      message: '2 of the 3 tasks of part did not succeed; the first is t1.part.1, failed: no (E)',
    },
  });
});

test.each([
  ['its name is not an id', 'a/b', [1], {}, 'a task with the invalid id t1.a/b.0'],
  ['its name is too long', 'x'.repeat(200), [1], {}, 'Use a shorter or simpler name'],
  ['no list', 'part', 'text', {}, 'The items of the map part are not a list.'],
  ['none at a time', 'part', [1], { concurrency: 0 }, "has an invalid concurrency: '0'"],
  ['no JSON', 'part', [1n], {}, 'The document of task t1.part.0 has a bigint at /input'],
])('a map is refused for good: %s', async (_why, name, items, options, text) => {
  await run(({ map }) => map(name, square, items as number[], options));
  expect(lastItem()).toMatchObject({
    kind: 'failed',
    failure: 'fatal',
    error: { code: 'bad_input', message: expect.stringContaining(text) as string },
  });
});

test('more children than fit into one message are refused at once', async () => {
  const large = { ...square, toTask: () => ({ input: 'x'.repeat(6 * 2 ** 20) }) };
  await run(({ map }) => map('part', large, [1, 2, 3]));
  expect(lastItem()).toMatchObject({ failure: 'fatal', error: { code: 'too_large' } });
});
