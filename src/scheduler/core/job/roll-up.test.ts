import { expect, test } from 'vitest';
import { taskTrees } from '../index.ts';
import type { TaskId, TaskState, TaskTree } from '../index.ts';

type Given = [parent: number | null, state: TaskState, progress?: number];

const id = (no: number): TaskId => `t${no}` as TaskId;

/** The trees of tasks that are given by number, as a list by number. */
function trees(...tasks: Given[]): (TaskTree | undefined)[] {
  const found = taskTrees(
    tasks.map(([parent, state, progress = 0], no) => {
      return { id: id(no), parent: parent === null ? null : id(parent), state, progress };
    }),
  );
  return tasks.map((_, no) => found.get(id(no)));
}

test('a parent shows how far everything below it has come', () => {
  const [root, left, right] = trees(
    [null, 'blocked'],
    [0, 'running', 0.5],
    [0, 'succeeded', 1],
    [1, 'succeeded', 1],
    [1, 'failed', 0.2],
  );
  expect(left).toEqual({ total: 3, ended: 2, progress: 2.5 / 3, state: 'failed' });
  expect(root).toEqual({ total: 5, ended: 3, progress: 3.5 / 5, state: 'failed' });
  expect(right).toBeUndefined();
});

test.each<[TaskState, TaskState[]]>([
  ['failed', ['failed', 'running', 'succeeded']],
  ['running', ['running', 'ready', 'succeeded']],
  ['ready', ['ready', 'delayed', 'cancelled']],
  ['cancelled', ['cancelled', 'skipped', 'succeeded']],
  ['succeeded', ['succeeded', 'succeeded']],
])('the most telling state is %s among %j', (state, below) => {
  const [root] = trees(...below.map((each, at): Given => [at === 0 ? null : 0, each]));
  expect(root?.state).toBe(state);
});

test('a parent may stand after its children, or be missing', () => {
  expect(trees([1, 'succeeded'], [null, 'succeeded'])[1]).toMatchObject({ total: 2, progress: 1 });
  expect(trees([7, 'succeeded'], [null, 'succeeded'])).toEqual([undefined, undefined]);
});

test('a tree 100,000 levels deep is rolled up without a stack', () => {
  const depth = 100_000;
  const [root] = trees(
    ...Array.from({ length: depth }, (_, no): Given => {
      return [no === 0 ? null : no - 1, no === depth - 1 ? 'running' : 'succeeded'];
    }),
  );
  const ended = depth - 1;
  expect(root).toEqual({ total: depth, ended, progress: ended / depth, state: 'running' });
});

test('a tree 100,000 children wide is rolled up as well', () => {
  const wide = Array.from({ length: 100_000 }, (): Given => [0, 'succeeded']);
  const [root] = trees([null, 'blocked'], ...wide);
  expect(root).toMatchObject({ total: 100_001, ended: 100_000, state: 'blocked' });
});

test('tasks without parents have no trees', () => {
  expect(taskTrees([]).size).toBe(0);
  expect(trees([null, 'running'], [null, 'ready'])).toEqual([undefined, undefined]);
});
