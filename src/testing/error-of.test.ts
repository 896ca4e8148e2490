/** The error of a task, in the input of another one. */
import { expect, test } from 'vitest';
import { z } from 'zod';
import { FatalError, defineFlow, defineTask } from '../client/millrace.ts';
import { createTestRuntime } from './index.ts';

const pay = defineTask({
  name: 'pay',
  input: z.object({ cents: z.number() }),
  run: ({ cents }) => {
    if (cents > 100) throw Object.assign(new FatalError('not enough money'), { code: 'no_money' });
    return { receipt: 'r' };
  },
});
const error = z.object({ code: z.string(), message: z.string(), task: z.string() }).nullable();
const undo = defineTask({
  name: 'undo',
  input: z.object({ error, before: z.string().nullable() }),
  run: (input) => input,
});
const order = defineFlow({
  name: 'order',
  input: z.object({ cents: z.number() }),
  build: ({ input, task, failed, errorOf, orNull }) => {
    const paid = task('pay', pay, { cents: input.cents });
    const after = task('ship', pay, { cents: 1 }, { after: [paid] });
    const undone = task(
      'undo',
      undo,
      { error: errorOf(after), before: null },
      { when: failed(after) },
    );
    const always = task('report', undo, { error: errorOf(paid), before: null });
    return { undone: orNull(undone), always };
  },
});

test.each(['submitted', 'started by name'])(
  'a task that undoes another one gets the reason of the failure: %s',
  async (how) => {
    await using runtime = await createTestRuntime({ flows: [order] });
    const begin = async (cents: number): Promise<string> =>
      how === 'submitted'
        ? (await runtime.submit(order, { cents })).id
        : (await runtime.start('order', { cents })).id;
    const bad = await begin(500);
    await expect(runtime.result(bad)).rejects.toThrow('not enough money');
    const { tasks } = await runtime.job(bad);
    const resultOf = (id: string): unknown => tasks.find((task) => task.id === id)?.result;
    expect(resultOf('report')).toEqual({
      error: { code: 'no_money', message: 'not enough money', task: 'pay' },
      before: null,
    });
    // It did not run, because of the other one.
    expect(resultOf('undo')).toMatchObject({ error: { task: 'ship' } });
    const good = await begin(5);
    expect(await runtime.result(good)).toMatchObject({
      undone: null,
      always: { error: null, before: null },
    });
  },
);

test('errorOf takes a task, and cannot be a condition', () => {
  const define = (build: (kit: never) => unknown) => (): unknown =>
    defineFlow({ name: 'f', input: z.object({ cents: z.number() }), build: build as never });
  type Kit = Record<string, (...args: unknown[]) => { receipt: unknown }> & { input: unknown };
  expect(define((kit: Kit) => kit['errorOf']?.(kit.input))).toThrow(/takes what 'task'/);
  expect(
    define((kit: Kit) => {
      const paid = kit['task']?.('p', pay, { cents: 1 });
      kit['task']?.('q', pay, { cents: 1 }, { when: kit['errorOf']?.(paid) });
    }),
  ).toThrow(/Use failed\(p\)/);
});

test('a document refers to the error of a task', async () => {
  await using runtime = await createTestRuntime({ tasks: [pay] });
  const tasks = [
    { id: 'pay', executor: 'pay', input: { cents: 500 } },
    {
      id: 'tell',
      executor: 'echo',
      dependsOn: [{ id: 'pay', required: false }],
      input: {
        all: { $from: 'pay', error: true },
        code: { $from: 'pay', error: true, path: '/code' },
        none: { $from: 'pay', error: true, path: '/nothing' },
      },
    },
  ];
  const job = await runtime.submit({ name: 'd', tasks });
  await runtime.result(job).catch(() => {});
  const { tasks: ended } = await runtime.job(job);
  expect(ended.find(({ id }) => id === 'tell')?.result).toEqual({
    all: { code: 'no_money', message: 'not enough money', task: 'pay' },
    code: 'no_money',
    none: null,
  });
  const wrong = [{ ...tasks[1], input: { $from: 'pay', error: 'yes' } }, tasks[0]];
  await expect(runtime.submit({ name: 'd', tasks: wrong })).rejects.toThrow(/Must be true/);
});
