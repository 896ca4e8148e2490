/** Bad input to the library itself, with a runtime in this very process. */
import { expect, onTestFinished, test, vi } from 'vitest';
import { ended, expectStillAtWork } from './single-node.ts';
import { createRuntime, defineTask, isMillraceError } from 'millrace';
import type { Runtime, RuntimeOptions } from 'millrace';
import doubled, { deeper, doubling, throwing } from './tasks.ts';

async function start(options: RuntimeOptions = {}): Promise<Runtime> {
  const runtime = await createRuntime({ store: 'memory', tasks: [doubling], ...options });
  onTestFinished(() => runtime.close());
  return runtime;
}

// A busy machine.
vi.setConfig({ testTimeout: 120_000 });

test('an input that does not fit is refused before anything is stored, with the path of the field', async () => {
  const runtime = await start();
  const thrown: unknown = await runtime
    .submit(doubled, { n: 'four' as unknown as number })
    .catch((error: unknown) => error);
  expect(isMillraceError(thrown, 'bad_input')).toBe(true);
  expect(thrown).toMatchObject({
    path: '/n',
    message: expect.stringMatching(
      /The input of flow 'doubled' does not match its schema: .*number/,
    ) as string,
  });
  await expect(runtime.submit(throwing, new Map() as unknown as string)).rejects.toThrow(
    "Task 'throws': the input is a Map, which is not JSON; make it a list or a plain object.",
  );
  for await (const job of runtime.jobs()) expect(job).toBeUndefined();
  // A document carries its input past the flow, and is checked where it runs.
  const late = await ended(
    await runtime.submit({ tasks: [{ id: 'a', executor: 'doubling', input: { n: 'four' } }] }),
  );
  expect(late.tasks).toMatchObject([
    {
      state: 'failed',
      attempt: 1,
      error: {
        code: 'bad_input',
        message: expect.stringMatching(
          /^\/n: The input of task 'doubling' does not match its schema/,
        ) as string,
      },
    },
  ]);
  await expectStillAtWork(runtime);
});

test('a result that its schema refuses fails for good, and its waiting callers get the error', async () => {
  const runtime = await start();
  const handle = await runtime.submit(doubled, { n: 51 });
  await expect(handle.result()).rejects.toMatchObject({
    name: 'JobError',
    code: 'bad_result',
    task: { id: 'double' },
    message: expect.stringMatching(
      /failed at task double: The result of task 'doubling' does not match its schema: \/doubled: .*100/,
    ) as string,
  });
  expect((await handle.job()).tasks).toMatchObject([{ attempt: 1 }]);
  await expectStillAtWork(runtime);
});

test('what a handler throws does not harm this process', async () => {
  const runtime = await start();
  await expect((await runtime.submit(throwing, 'proxy')).result()).rejects.toThrow(
    'the handler threw something that cannot be shown; throw an Error',
  );
  await expectStillAtWork(runtime);
});

test('a task that calls itself ends with an error', async () => {
  const runtime = await start();
  const handle = await runtime.submit(deeper, 0, { jobId: 'root' });
  const { tasks } = await ended(handle);
  expect(tasks).toMatchObject([{ state: 'failed', error: { code: 'child_job_failed' } }]);
  const jobs: string[] = [];
  let innermost = '';
  for await (const { id, state } of runtime.jobs()) {
    jobs.push(state);
    if (id.length > innermost.length) innermost = id;
  }
  // Each level makes the id longer, and an id has 200 characters.
  expect(jobs).toEqual(Array.from({ length: 16 }, () => 'failed'));
  const [last] = (await runtime.job(innermost)).tasks;
  expect(last?.error).toMatchObject({
    code: 'bad_input',
    message: expect.stringMatching(
      /^The call next would create a job with an id of 212 characters; the limit is 200\. .*Nest fewer calls/,
    ) as string,
  });
  // The error passes from job to job up to the outermost one.
  expect(tasks[0]?.error?.message).toMatch(
    /^the job root\.\w+ \(deeper\) failed: .*Nest fewer calls/,
  );
  await expectStillAtWork(runtime);
});

test('a handler that never ends is given up by its runMs, and its slot is free again', async () => {
  const lines: string[] = [];
  const write = (line: string): void => void lines.push(line);
  const deaf = defineTask({ name: 'deaf', run: (): Promise<never> => new Promise(() => {}) });
  const runtime = await start({
    ...{ tasks: [deaf, doubling], slots: 1, drainMs: 100 },
    settings: { abortGraceMs: 200 },
    log: { debug: write, info: write, warn: write, error: write },
  });
  const limits = { timeouts: { runMs: 200 }, retry: { maxAttempts: 1 } };
  const job = await ended(
    await runtime.submit({ tasks: [{ id: 'a', executor: 'deaf', ...limits }] }),
  );
  expect(job.tasks).toMatchObject([{ state: 'failed', error: { code: 'dead' } }]);
  await expectStillAtWork(runtime);
  expect(lines.join('\n')).toMatch(
    /Task a of job \S+ did not stop within 200 ms of its abort signal\. Its slot is used for other tasks/,
  );
});

test('a map over ten thousand items gives ten thousand results, and one over no list is refused', async () => {
  const runtime = await start();
  const items = Array.from({ length: 10_000 }, (_, at) => at);
  const each = { id: 'each', executor: 'map', input: { items, task: { executor: 'echo' } } };
  const { state, result } = await ended(
    await runtime.submit({ output: { $from: 'each' }, tasks: [each] }),
  );
  expect(state).toBe('succeeded');
  expect(result).toEqual(items);
  const wrong = { ...each, input: { ...each.input, items: 'abc' } };
  expect((await ended(await runtime.submit({ tasks: [wrong] }))).tasks).toMatchObject([
    {
      state: 'failed',
      error: { code: 'bad_input', message: expect.stringContaining('/items: ') as string },
    },
  ]);
  await expectStillAtWork(runtime);
});
