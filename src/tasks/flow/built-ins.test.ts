import { expect, test } from 'vitest';
import type { Json } from '../../scheduler/core/index.ts';
import { type Mappable, type TaskContext, builtIns as offered } from '../executors/index.ts';
import { systemClock } from '../../kit/index.ts';
import { builtIns, defineFlow, defineTask } from './index.ts';

const executors = offered(systemClock, { allowCommand: ['true'], allowContainer: 'docker' });

test('every built-in has an executor of its name, and no task can take the name of one', () => {
  // `sql` needs more than a clock: it comes with the engines of a worker.
  const names = [...executors.map(({ name }) => name), 'sql', 'sql.fragment', 'sql.plan'];
  for (const { name } of Object.values(builtIns)) expect(names).toContain(name);
  for (const name of names) {
    expect(() => defineTask({ name, run: () => 1 })).toThrow(
      'The name is reserved for a built-in executor',
    );
  }
});

test('the map of a flow is one that the executor can run', async () => {
  const render = defineTask({
    name: 'render',
    retry: { maxAttempts: 2 },
    run: (page: number) => page,
  });
  const flow = defineFlow({
    name: 'pages',
    build: ({ map }) => map('all', render, [1, 2], { concurrency: 3, timeouts: { runMs: 5 } }),
  });
  const { tasks } = (await flow.toDocument()) as unknown as { tasks: { input: Json }[] };
  const asked: unknown[] = [];
  const context = {
    map: (name: string, what: Mappable<Json, Json>, items: readonly Json[], options: unknown) => {
      asked.push(
        name,
        what.name,
        items.map((item) => what.toTask(item)),
        options,
      );
      return items;
    },
  } as unknown as TaskContext;
  const executor = executors.find(({ name }) => name === 'map');
  expect(executor?.run(tasks[0]!.input, context)).toEqual([1, 2]);
  const options = { executor: 'render', retry: { maxAttempts: 2 }, timeouts: { runMs: 5 } };
  expect(asked).toEqual([
    'item',
    'render',
    [
      { ...options, input: 1 },
      { ...options, input: 2 },
    ],
    { concurrency: 3 },
  ]);
});
