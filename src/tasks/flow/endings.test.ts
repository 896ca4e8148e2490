/** How a task ended decides what its users do: a skipped one may do without, a failed one is not an answer. */
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { createTestRuntime } from '../../testing/index.ts';
import type { Json } from '../../scheduler/core/index.ts';
import { FatalError } from '../executors/index.ts';
import { builtIns, defineFlow, defineTask } from './index.ts';
import type { FlowKit } from './builder.ts';

const { echo } = builtIns;
const refuse = defineTask({
  name: 'refuse',
  run: (): Json => {
    throw new FatalError('the manager said no');
  },
});

interface Ran {
  readonly state: string;
  readonly tasks: Readonly<Record<string, string>>;
  readonly inputs: Readonly<Record<string, unknown>>;
  readonly errors: Readonly<Record<string, string | undefined>>;
}

/** What became of the tasks of such a flow. Of an `echo` the result is its input. */
async function ran(build: (kit: FlowKit<null>) => unknown): Promise<Ran> {
  const flow = defineFlow({
    name: 'flow',
    build: (kit: FlowKit<null>) => {
      build(kit);
      return null;
    },
  });
  const runtime = await createTestRuntime({ flows: [flow], tasks: [refuse] });
  const job = await runtime.submit(flow);
  await job.result().catch(() => {});
  const { state, tasks } = await job.job();
  await runtime.close();
  return {
    state,
    tasks: Object.fromEntries(tasks.map((task) => [task.id, task.state])),
    inputs: Object.fromEntries(tasks.map((task) => [task.id, task.result])),
    errors: Object.fromEntries(tasks.map((task) => [task.id, task.error?.code])),
  };
}

describe('orNull', () => {
  test('a task is not run if a required one was skipped', async () => {
    const { state, tasks, errors } = await ran(({ task, orNull }) => {
      const approval = task('approve', refuse);
      task('charge', echo, { approval: orNull(approval) });
    });
    expect(tasks).toEqual({ approve: 'failed', charge: 'skipped' });
    expect(errors['charge']).toBe('dependency_failed');
    expect(state).toBe('failed');
  });

  test('nor if one further up was skipped', async () => {
    const { tasks } = await ran(({ task, orNull }) => {
      const approval = task('approve', refuse);
      const checked = task('check', echo, approval);
      const noted = task('note', echo, orNull(checked));
      task('charge', echo, { approval: orNull(noted) });
    });
    expect(tasks).toEqual({
      approve: 'failed',
      check: 'skipped',
      note: 'skipped',
      charge: 'skipped',
    });
  });

  test('it is null when the task was skipped, by its own condition or by one further up', async () => {
    const { state, tasks, inputs } = await ran(({ task, orNull }) => {
      const off = task('off', echo, false);
      const own = task('own', echo, 1, { when: off });
      const above = task('above', echo, own);
      task('user', echo, [orNull(own), orNull(above)]);
    });
    expect(tasks).toMatchObject({ own: 'skipped', above: 'skipped', user: 'succeeded' });
    expect(inputs['user']).toEqual([null, null]);
    expect(state).toBe('succeeded');
  });

  test('in a condition it follows the same rule', async () => {
    const { tasks } = await ran(({ task, is, orNull }) => {
      const approval = task('approve', refuse);
      task('charge', echo, 1, { when: is(orNull(approval), '!=', 'no' as never) });
    });
    expect(tasks).toEqual({ approve: 'failed', charge: 'skipped' });
  });
});

test('orNullIfFailed is null when the task failed, was not run because of that, or was skipped', async () => {
  const { state, tasks, inputs } = await ran(({ task, orNullIfFailed }) => {
    const off = task('off', echo, false);
    const skipped = task('skipped', echo, 1, { when: off });
    const failed = task('failed', refuse);
    const below = task('below', echo, failed);
    const fine = task('fine', echo, { n: 1 });
    task(
      'user',
      echo,
      [skipped, failed, below, fine].map((ref) => orNullIfFailed(ref)),
    );
  });
  expect(tasks['user']).toBe('succeeded');
  expect(inputs['user']).toEqual([null, null, null, { n: 1 }]);
  expect(state).toBe('failed');
});

test('failed, skipped and succeeded tell the three ends apart', async () => {
  const { tasks } = await ran(({ task, failed, skipped, succeeded }) => {
    const off = task('off', echo, false);
    const ends = {
      well: task('well', echo, 1),
      ill: task('ill', refuse),
      out: task('out', echo, 1, { when: off }),
    };
    const all = { ...ends, below: task('below', echo, ends.ill) };
    for (const [id, ref] of Object.entries(all)) {
      task(`${id}.failed`, echo, 1, { when: failed(ref) });
      task(`${id}.skipped`, echo, 1, { when: skipped(ref) });
      task(`${id}.succeeded`, echo, 1, { when: succeeded(ref) });
    }
  });
  const held = Object.keys(tasks).filter((id) => id.includes('.') && tasks[id] === 'succeeded');
  // One that did not run because another failed counts as failed: what has to be undone is undone.
  expect(held.toSorted()).toEqual(['below.failed', 'ill.failed', 'out.skipped', 'well.succeeded']);
});

describe('a flow that could never run is refused when it is defined', () => {
  test.each<[string, (kit: FlowKit<null>) => unknown, string]>([
    [
      'failed beside orNull of the same task',
      ({ task, orNull, failed }) => {
        const paid = task('pay', echo, 1);
        task('undo', echo, orNull(paid), { when: failed(paid) });
      },
      'orNullIfFailed(pay)',
    ],
    [
      'failed beside a plain use',
      ({ task, failed }) => {
        const paid = task('pay', echo, 1);
        task('undo', echo, paid, { when: failed(paid) });
      },
      'orNullIfFailed(pay)',
    ],
    [
      'skipped beside a plain use',
      ({ task, skipped }) => {
        const paid = task('pay', echo, 1);
        task('undo', echo, paid, { when: skipped(paid) });
      },
      'orNull(pay)',
    ],
    [
      'optional beside orNull of the same task',
      ({ task, orNull }) => {
        const paid = task('pay', echo, 1);
        task('next', echo, orNull(paid), { optional: [paid] });
      },
      'orNullIfFailed',
    ],
    [
      'orNullIfFailed of the input',
      ({ task, input, orNullIfFailed }) => task('a', echo, orNullIfFailed(input as never)),
      "'orNullIfFailed' takes the result of a task",
    ],
  ])('%s', (_what, build, words) => {
    const define = (): unknown =>
      defineFlow({ name: 'flow', build: (kit: FlowKit<null>) => void build(kit) });
    expect(define).toThrow(words);
  });
});

test('in a document, required: false only asks for an end, and unlessSkipped for more', async () => {
  const runtime = await createTestRuntime({ tasks: [refuse] });
  const job = await runtime.submit({
    output: null,
    tasks: [
      { id: 'off', executor: 'echo', input: false },
      { id: 'out', executor: 'echo', dependsOn: ['off'], when: { $from: 'off' } },
      { id: 'ill', executor: 'refuse' },
      ...['out', 'ill'].flatMap((id) =>
        [true, false, 'unlessSkipped'].map((required) => ({
          id: `${id}.${required}`,
          executor: 'echo',
          dependsOn: [{ id, required }],
        })),
      ),
      {
        id: 'old',
        executor: 'echo',
        dependsOn: [{ id: 'out', required: false }],
        when: { $from: 'out', succeeded: false },
      },
    ],
  });
  await job.result().catch(() => {});
  const { tasks } = await job.job();
  expect(Object.fromEntries(tasks.map(({ id, state }) => [id, state]))).toMatchObject({
    'out.true': 'skipped',
    'out.false': 'succeeded',
    'out.unlessSkipped': 'succeeded',
    'ill.true': 'skipped',
    'ill.false': 'succeeded',
    'ill.unlessSkipped': 'skipped',
    old: 'succeeded',
  });
});

const decide = defineTask({
  name: 'decide',
  input: z.boolean(),
  retry: { maxAttempts: 1 },
  run: (isApproved) => {
    if (!isApproved) throw new Error('rejected');
  },
});
const one = defineTask({ name: 'one', run: () => 1 });

test('a task after orNull of another runs if that was skipped, and not if it failed', async () => {
  const flow = defineFlow({
    name: 'approved-first',
    input: z.object({ cents: z.number(), approved: z.boolean() }),
    build: ({ input, task, is, orNull }) => {
      const approve = task('approve', decide, input.approved, { when: is(input.cents, '>', 5) });
      return task('charge', one, undefined, { after: [orNull(approve)] });
    },
  });
  await using runtime = await createTestRuntime();
  const run = async (cents: number, approved: boolean): Promise<string | undefined> => {
    const job = await runtime.submit(flow, { cents, approved });
    await job.result().catch(() => {});
    return (await job.job()).tasks.find(({ id }) => id === 'charge')?.state;
  };
  expect(await run(1, false)).toBe('succeeded');
  expect(await run(9, true)).toBe('succeeded');
  expect(await run(9, false)).toBe('skipped');
});
