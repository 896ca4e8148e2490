import { readFile } from 'node:fs/promises';
import { beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { FatalError, JobError, builtIns, defineFlow, defineTask } from '../client/millrace.ts';
import { StandstillError, createTestRuntime } from './index.ts';

const DAY_MS = 24 * 3_600_000;

const greet = defineTask({
  name: 'greet',
  input: z.object({ name: z.string() }),
  run: ({ name }) => ({ text: `Hello, ${name}.` }),
});

const hello = defineFlow({
  name: 'hello',
  input: z.object({ name: z.string() }),
  build: ({ input, task }) => task('greet', greet, { name: input.name }).text,
});

test('a flow runs to its result, which has its type', async () => {
  const runtime = await createTestRuntime({ flows: [hello] });
  const job = await runtime.submit(hello, { name: 'Ada' });
  const result: string = await job.result();
  expect(result).toBe('Hello, Ada.');
  expect(runtime.ran('greet')).toMatchObject([
    { attempt: 1, steps: [], outcome: 'succeeded', job: 'job-1' },
  ]);
});

test('what is submitted need not be named before', async () => {
  const runtime = await createTestRuntime();
  const job = await runtime.submit(hello, { name: 'Ada' });
  await expect(job.result()).resolves.toBe('Hello, Ada.');
  const alone = await runtime.submit(greet, { name: 'Bob' });
  await expect(runtime.result(alone)).resolves.toEqual({ text: 'Hello, Bob.' });
  const raw = await runtime.submit({ tasks: [{ id: 'a', executor: 'echo', input: 7 }] });
  await expect(raw.result()).resolves.toBe(7);
});

test('three days of sleep take milliseconds, and happen once', async () => {
  const nap = defineTask({
    name: 'nap',
    run: async (_input, ctx) => {
      await ctx.step('before', () => 1);
      await ctx.sleep('long', '3d');
      return ctx.step('after', () => 2);
    },
  });
  const runtime = await createTestRuntime({ tasks: [nap] });
  const began = performance.now();
  const startMs = runtime.now().getTime();
  const job = await runtime.submit(nap, null);
  await expect(job.result()).resolves.toBe(2);
  expect(runtime.now().getTime() - startMs).toBeGreaterThanOrEqual(3 * DAY_MS);
  expect(runtime.now().getTime() - startMs).toBeLessThan(3 * DAY_MS + 1_000);
  expect(performance.now() - began).toBeLessThan(2_000);
  expect(runtime.ran('nap')).toMatchObject([
    { attempt: 1, steps: ['before'], outcome: 'suspended' },
    { attempt: 1, steps: ['after'], outcome: 'succeeded' },
  ]);
  expect(runtime.stepsRun('nap')).toEqual(['before', 'after']);
});

describe('a worker that crashes', () => {
  const effects: string[] = [];
  const order = defineTask({
    name: 'order',
    run: async (_input, ctx) => {
      const paid = await ctx.step('pay', () => effects.push('pay'));
      const sent = await ctx.step('send', () => effects.push('send'));
      return { paid, sent };
    },
  });

  beforeEach(() => {
    effects.length = 0;
  });

  test.each([
    ['before a step does nothing of it', 'before', ['pay', 'send'], [['pay'], ['send']]],
    [
      'during a step has done it, and it is done again',
      'during',
      ['pay', 'send', 'send'],
      [['pay', 'send'], ['send']],
    ],
    ['after a step does not repeat it', 'after', ['pay', 'send'], [['pay', 'send'], []]],
  ] as const)('%s', async (_name, at, done, steps) => {
    const runtime = await createTestRuntime({ tasks: [order] });
    runtime.crash({ task: 'order', step: 'send', at });
    const job = await runtime.submit(order, null);
    await job.result();
    expect(effects).toEqual(done);
    const executions = runtime.ran('order', job);
    expect(executions.map((each) => each.steps)).toEqual(steps);
    expect(executions.map(({ outcome }) => outcome)).toEqual(['crashed', 'succeeded']);
    expect(runtime.crashesLeft).toEqual([]);
  });

  test.each([
    ['before a task', 'before', [[], ['pay', 'send']], ['crashed', 'succeeded']],
    ['with its result untold', 'during', [['pay', 'send'], []], ['crashed', 'succeeded']],
    ['after it has reported it', 'after', [['pay', 'send']], ['succeeded']],
  ] as const)('%s leaves the rest to the next one', async (_name, at, steps, outcomes) => {
    const runtime = await createTestRuntime({ tasks: [order, greet] });
    runtime.crash({ task: 'order', at });
    const job = await runtime.submit({
      tasks: [
        { id: 'order', executor: 'order' },
        { id: 'next', executor: 'echo', input: 1, dependsOn: ['order'] },
      ],
    });
    await expect(job.result()).resolves.toBe(1);
    expect(effects).toEqual(['pay', 'send']);
    const executions = runtime.ran('order', job);
    expect(executions.map((each) => each.steps)).toEqual(steps);
    expect(executions.map(({ outcome }) => outcome)).toEqual(outcomes);
    expect(runtime.crashesLeft).toEqual([]);
  });

  test('takes with it what else it runs, and each crash happens once', async () => {
    const pair = defineFlow({
      name: 'pair',
      build: ({ task }) => ({ a: task('a', order, null), b: task('b', order, null) }),
    });
    const runtime = await createTestRuntime();
    runtime.crash({ task: 'a', step: 'pay', at: 'after' });
    runtime.crash({ task: 'a', step: 'send', at: 'before' });
    runtime.crash({ task: 'none', at: 'before' });
    const job = await runtime.submit(pair);
    await job.result();
    expect(effects.filter((effect) => effect === 'pay')).toHaveLength(2);
    expect(runtime.ran('a').map(({ outcome }) => outcome)).toEqual([
      'crashed',
      'crashed',
      'succeeded',
    ]);
    expect(runtime.crashesLeft).toEqual([{ task: 'none', at: 'before' }]);
    expect(() => runtime.crash({ task: 'a', at: 'never' as 'after' })).toThrow('never');
  });

  test('in the middle of a sleep changes nothing of when it ends', async () => {
    const nap = defineTask({
      name: 'nap',
      run: async (_input, ctx) => {
        await ctx.sleep('long', '1d');
        await ctx.step('woken', () => 1);
        return 'awake';
      },
    });
    const runtime = await createTestRuntime({ tasks: [nap, order] });
    const job = await runtime.submit(nap, null);
    await runtime.advance('12h');
    runtime.crash({ task: 'order', at: 'before' });
    await (await runtime.submit(order, null)).result();
    expect(runtime.crashesLeft).toEqual([]);
    await runtime.advance('11h');
    expect((await job.job()).state).toBe('running');
    await runtime.advance('1h');
    expect((await job.job()).state).toBe('succeeded');
    expect(runtime.stepsRun('nap')).toEqual(['woken']);
  });
});

describe('signals', () => {
  const approval = defineTask({
    name: 'approval',
    run: async (_input, ctx) => {
      const by = await ctx.waitFor<string>('approved', { timeout: '2d' });
      return by === undefined ? 'too late' : `approved by ${by}`;
    },
  });
  const patient = defineTask({
    name: 'patient',
    run: async (_input, ctx) => ({ said: await ctx.waitFor('word') }),
  });

  test('come when the test sends them', async () => {
    const runtime = await createTestRuntime({ tasks: [approval] });
    const job = await runtime.submit(approval, null);
    await runtime.advance('1d');
    await job.signal('approved', 'Ada');
    await expect(job.result()).resolves.toBe('approved by Ada');
    expect(runtime.now().toISOString()).toMatch(/^2030-01-02T00:00:00/);
  });

  test('that do not come let the timeout pass by itself', async () => {
    const runtime = await createTestRuntime({ tasks: [approval], startAt: '2026-01-01T00:00:00Z' });
    await expect((await runtime.submit(approval, null)).result()).resolves.toBe('too late');
    expect(runtime.now().toISOString()).toMatch(/^2026-01-03T00:00:00/);
  });

  test('that do not fit the schema are left aside, in every attempt, and do not move the end', async () => {
    const decision = defineTask({
      name: 'decision',
      run: async (_input, ctx) => {
        const schema = z.object({ by: z.string().trim() });
        const answer = await ctx.waitFor('decision', { schema, timeout: '2d' });
        await ctx.sleep('payday', '1d');
        return answer === undefined ? 'nobody' : answer.by;
      },
    });
    const runtime = await createTestRuntime({ tasks: [decision] });
    const job = await runtime.submit(decision, null);
    for (const wrong of ['yes', { by: 5 }]) await job.signal('decision', wrong);
    await runtime.advance('1d');
    expect((await job.job()).state).toBe('running');
    await job.signal('decision', { by: ' Ada ' });
    await expect(job.result()).resolves.toBe('Ada');
    const late = await runtime.submit(decision, null);
    await late.signal('decision', 'no');
    const begun = runtime.now().getTime();
    await expect(late.result()).resolves.toBe('nobody');
    expect(Math.round((runtime.now().getTime() - begun) / 86_400_000)).toBe(3);
  });

  test('that only the test can send end the wait for the result with a clear error', async () => {
    const runtime = await createTestRuntime({ tasks: [patient] });
    const job = await runtime.submit(patient, null);
    const error = await job.result().catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(StandstillError);
    expect(error).toMatchObject({ jobId: job.id, waiting: { patient: 'waits for signal word' } });
    expect((error as Error).message).toContain('task patient waits for signal word');
    await runtime.settle();
    await job.signal('word');
    await expect(job.result()).resolves.toEqual({ said: null });
  });

  test('for a job that was called are named with it', async () => {
    const caller = defineTask({
      name: 'caller',
      run: (_input, ctx) => ctx.call('ask', patient, null),
    });
    const runtime = await createTestRuntime({ tasks: [caller, patient] });
    const job = await runtime.submit(caller, null);
    const error = await job.result().catch((thrown: unknown) => thrown);
    const [where] = Object.keys((error as StandstillError).waiting);
    expect(where).toMatch(/^job-1\.[0-9a-f]+\/patient$/);
    await runtime.signal(where!.split('/')[0]!, 'word', 'yes');
    await expect(job.result()).resolves.toEqual({ said: 'yes' });
  });
});

describe('time', () => {
  test('passes for retries, for the built-in sleep and for run timeouts', async () => {
    const flaky = defineTask({
      name: 'flaky',
      retry: { maxAttempts: 3, backoffMs: 60_000 },
      run: (_input, { attempt }) => {
        if (attempt < 3) throw new Error(`attempt ${attempt}`);
        return attempt;
      },
    });
    const runtime = await createTestRuntime();
    await expect((await runtime.submit(flaky, null)).result()).resolves.toBe(3);
    expect(runtime.ran('flaky').map(({ outcome, error }) => [outcome, error?.message])).toEqual([
      ['failed', 'attempt 1'],
      ['failed', 'attempt 2'],
      ['succeeded', undefined],
    ]);
    const nap = await runtime.submit({
      tasks: [{ id: 'nap', executor: 'sleep', input: { ms: 86_400_000 } }],
    });
    await expect(nap.result()).resolves.toBeNull();
    const deaf = defineTask({
      name: 'deaf',
      retry: { maxAttempts: 1 },
      timeouts: { runMs: 3_600_000 },
      run: (_input, { signal }) =>
        new Promise((_, reject) => {
          signal.addEventListener('abort', () => reject(new Error('stopped')));
        }),
    });
    const impatient = await createTestRuntime({ realTimeoutMs: 20 });
    const job = await impatient.submit(deaf, null);
    await expect(job.result()).rejects.toMatchObject({ name: 'JobError', state: 'failed' });
  });

  test('waits for handlers that do real work', async () => {
    const read = defineTask({
      name: 'read',
      run: async () => String(await readFile(import.meta.filename)),
    });
    const runtime = await createTestRuntime({ tasks: [read], realTimeoutMs: 60_000 });
    const job = await runtime.submit(read, null);
    await expect(job.result()).resolves.toContain('waits for handlers that do real work');
    expect(runtime.now().toISOString()).toBe('2030-01-01T00:00:00.000Z');
  });

  test('does not hide a handler that never ends, or a task that nobody can run', async () => {
    const hung = defineTask({ name: 'hung', run: () => new Promise<never>(() => {}) });
    const runtime = await createTestRuntime({ realTimeoutMs: 10 });
    const job = await runtime.submit(hung, null);
    await expect(job.result()).rejects.toThrow(/task hung is still running after 10 ms/);
    const strange = await runtime.submit({ tasks: [{ id: 'a', executor: 'nobody' }] });
    await expect(strange.result()).rejects.toThrow(/task a no node fits.*nobody/);
    await job.cancel();
    expect((await job.job()).tasks[0]?.state).toBe('running');
  });
});

test('a failed job throws what its task said, as with any runtime', async () => {
  const fail = defineTask({
    name: 'fail',
    run: (): never => {
      throw new FatalError('no use');
    },
  });
  const runtime = await createTestRuntime();
  const job = await runtime.submit(fail, null);
  const error = await job.result().catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(JobError);
  expect(error).toMatchObject({ state: 'failed', task: { id: 'fail' } });
});

test('a fake stands for a task or a built-in executor', async () => {
  const runtime = await createTestRuntime({
    fakes: {
      greet: () => ({ text: 'Hello from a fake.' }),
      http: (input) => ({ status: 200, headers: {}, body: { asked: input } }),
    },
  });
  const flow = defineFlow({
    name: 'both',
    build: ({ task }) => {
      const answer = task('ask', builtIns.http, { url: 'https://example.org/' });
      return { text: task('greet', greet, { name: 'x' }).text, status: answer.status };
    },
  });
  const job = await runtime.submit(flow);
  await expect(job.result()).resolves.toEqual({ text: 'Hello from a fake.', status: 200 });
});

test('maps, calls and cancels work as they do anywhere', async () => {
  const square = defineTask({ name: 'square', run: (value: number) => value * value });
  const sum = defineTask({
    name: 'sum',
    run: async (values: readonly number[], ctx) => {
      const squares = await ctx.map('each', square, values, { concurrency: 2 });
      return squares.reduce((total, each) => total + each, 0);
    },
  });
  const runtime = await createTestRuntime({ tasks: [square] });
  await expect((await runtime.submit(sum, [1, 2, 3])).result()).resolves.toBe(14);
  expect(runtime.ran('sum.each.2')).toMatchObject([{ outcome: 'succeeded' }]);
  const waiting = defineTask({ name: 'waiting', run: (_input, ctx) => ctx.waitFor('never') });
  const job = await runtime.submit(waiting, null);
  await runtime.settle();
  await job.cancel('enough');
  await expect(job.result()).rejects.toMatchObject({ state: 'cancelled' });
});

test('the same test runs the same way every time', async () => {
  const flow = defineFlow({
    name: 'same',
    build: ({ task }) => ({
      a: task('a', greet, { name: 'a' }),
      b: task('b', greet, { name: 'b' }),
    }),
  });
  const once = async (): Promise<unknown> => {
    const runtime = await createTestRuntime();
    runtime.crash({ task: 'b', at: 'during' });
    const job = await runtime.submit(flow);
    await job.result();
    const { tasks, ...rest } = await job.job();
    await runtime.close();
    return { tasks, rest, a: runtime.ran('a'), b: runtime.ran('b') };
  };
  expect(await once()).toEqual(await once());
});

test('wrong use is refused in words', async () => {
  await expect(createTestRuntime({ startAt: 'noon' })).rejects.toThrow(
    'startAt noon is not a valid time',
  );
  const runtime = await createTestRuntime({ tasks: [greet] });
  await expect(runtime.job('none')).rejects.toMatchObject({ code: 'not_found' });
  await expect(runtime.result('none')).rejects.toMatchObject({ code: 'not_found' });
  await expect(runtime.advance('soon')).rejects.toThrow('"soon" is not a valid duration');
  const other = defineTask({ name: 'greet', run: () => 1 });
  await expect(runtime.submit(other, null)).rejects.toThrow('Two different tasks');
  const job = await runtime.submit(hello, { name: 'x' });
  await expect(job.signal('go', () => {})).rejects.toThrow('not valid JSON');
});

test('SQL is not run, and the error says what to do instead', async () => {
  const flow = defineFlow({
    name: 'count',
    build: ({ task }) => task('count', builtIns.sql, { sql: 'select 1' }).rows,
  });
  const bare = await createTestRuntime();
  await expect((await bare.submit(flow)).result()).rejects.toThrow('fakes: { sql: () =>');
  const runtime = await createTestRuntime({
    fakes: { sql: () => ({ queryId: 'q', columns: [], rows: [['7']] }) },
  });
  expect(await (await runtime.submit(flow)).result()).toEqual([['7']]);
});
