import { expect, test } from 'vitest';
import { rollUp, taskNo } from '../index.ts';
import type { TaskState, TreeTask } from '../index.ts';

/** A tree from `[parent, state, progress]` by task number. */
function tree(...tasks: [number | null, TaskState, number?][]): TreeTask[] {
  return tasks.map(([parent, state, progress = 0], no) => ({
    taskNo: taskNo(no),
    parentNo: parent === null ? null : taskNo(parent),
    state,
    progress,
  }));
}

test('a parent shows how far everything below it has come', () => {
  const [root, left] = rollUp(
    tree(
      [null, 'blocked'],
      [0, 'running', 0.5],
      [0, 'succeeded', 1],
      [1, 'succeeded', 1],
      [1, 'failed', 0.2],
    ),
  );
  expect(left).toEqual({ total: 3, ended: 2, progress: 2.5 / 3, state: 'failed' });
  expect(root).toEqual({ total: 5, ended: 3, progress: 3.5 / 5, state: 'failed' });
});

test.each<[TaskState, TaskState[]]>([
  ['failed', ['failed', 'running', 'succeeded']],
  ['running', ['running', 'ready', 'succeeded']],
  ['ready', ['ready', 'delayed', 'cancelled']],
  ['cancelled', ['cancelled', 'skipped', 'succeeded']],
  ['succeeded', ['succeeded', 'succeeded']],
])('the most telling state is %s among %j', (state, below) => {
  const tasks = tree(
    ...below.map((each, at): [number | null, TaskState] => [at === 0 ? null : 0, each]),
  );
  expect(rollUp(tasks)[0]?.state).toBe(state);
});

test('a parent may stand after its children in the document', () => {
  const [, root] = rollUp(tree([1, 'succeeded'], [null, 'succeeded']));
  expect(root).toMatchObject({ total: 2, ended: 2, progress: 1 });
});

test('a tree 100,000 levels deep is rolled up without a stack', () => {
  const depth = 100_000;
  const tasks = tree(
    ...Array.from({ length: depth }, (_, no): [number | null, TaskState] => [
      no === 0 ? null : no - 1,
      no === depth - 1 ? 'running' : 'succeeded',
    ]),
  );
  const [root] = rollUp(tasks);
  expect(root).toEqual({
    total: depth,
    ended: depth - 1,
    progress: (depth - 1) / depth,
    state: 'running',
  });
});

test('a tree 100,000 children wide is rolled up as well', () => {
  const tasks = tree(
    [null, 'blocked'],
    ...Array.from({ length: 100_000 }, (): [number, TaskState] => [0, 'succeeded']),
  );
  expect(rollUp(tasks)[0]).toMatchObject({ total: 100_001, ended: 100_000, state: 'blocked' });
});

test('nothing rolls up to nothing', () => {
  expect(rollUp([])).toEqual([]);
});
