import { expect, test, vi } from 'vitest';
import type { Json } from '../../scheduler/core/index.ts';
import { testContext, thrownBy } from '../../../test/rig/task-context.ts';
import type { Mappable, TaskContext } from './executor.ts';
import { classifyFailure } from './failure.ts';
import { mapExecutor } from './map.ts';

test('each item becomes a task with the options of the map', async () => {
  type Asked = (name: string, what: Mappable<Json, Json>, items: readonly Json[]) => unknown;
  const map = vi.fn<Asked>((_name, what, items) =>
    items.map((item) => what.readResult(what.toTask(item) as Json)),
  );
  const context = testContext({ map: map as unknown as TaskContext['map'] });
  const task = { executor: 'render', retry: { maxAttempts: 5 }, priority: 3 };
  const input = { items: [1, null, { input: 2 }, { $from: 'x' }], task, concurrency: 4 };
  expect(await mapExecutor.run(input, context)).toEqual([
    { ...task, input: 1 },
    { ...task, input: null },
    { ...task, input: { input: 2 } },
    { ...task, input: { $literal: { $from: 'x' } } },
  ]);
  expect(map).toHaveBeenCalledExactlyOnceWith('item', expect.anything(), input.items, {
    concurrency: 4,
  });
});

test('shared fields go to every item, whose own fields win', async () => {
  const map = vi.fn<(name: string, what: unknown, items: readonly Json[]) => unknown>();
  const context = testContext({ map: map as unknown as TaskContext['map'] });
  const items = [{ file: 'a' }, { file: 'b', out: 'other' }];
  await mapExecutor.run({ items, task: { executor: 'x' }, with: { out: 'here' } }, context);
  expect(map.mock.calls[0]?.[2]).toEqual([
    { out: 'here', file: 'a' },
    { out: 'other', file: 'b' },
  ]);
});

test.each<[string, Json]>([
  ['/with: ', { items: [], task: { executor: 'a' }, with: [] }],
  ['/items/1: ', { items: [{}, 1], task: { executor: 'a' }, with: {} }],
  ['/items: ', { task: { executor: 'a' } }],
  ['/items: ', { items: null, task: { executor: 'a' } }],
  ['/items: ', { items: { a: 1 }, task: { executor: 'a' } }],
  ['/task: ', { items: [] }],
  ['/task: ', { items: [], task: 'render' }],
  ['/task/executor: ', { items: [], task: {} }],
  ['/task/executor: ', { items: [], task: { executor: 'a/b' } }],
  ['/task/input: ', { items: [], task: { executor: 'a', input: 1 } }],
  ['/concurrency: ', { items: [], task: { executor: 'a' }, concurrency: 0 }],
])('what does not fit is refused for good, with its place: %s %j', async (start, input) => {
  const thrown = await thrownBy(() => mapExecutor.run(input, testContext()));
  const { error, failure } = classifyFailure(thrown);
  expect({ failure, code: error.code }).toEqual({ failure: 'fatal', code: 'bad_input' });
  expect(error.message.startsWith(start)).toBe(true);
});
