import { expect, test } from 'vitest';
import { FatalError, RetryAfterError, defineTask } from '../client/millrace.ts';
import type { StepRetry } from '../client/millrace.ts';
import { createTestRuntime } from './index.ts';

const QUICK = { maxAttempts: 3, backoffMs: 0 };

/** A task whose step throws these, one after the other, and then succeeds. */
function scene(failures: readonly Error[], retry: StepRetry) {
  const left = [...failures];
  const lines: string[] = [];
  const pay = defineTask({
    name: 'pay',
    retry: { maxAttempts: 1 },
    run: (_input, ctx) =>
      ctx.step(
        'charge',
        () => {
          const failure = left.shift();
          if (failure !== undefined) throw failure;
          return 'paid';
        },
        { retry },
      ),
  });
  const warn = (line: string): void => void lines.push(line);
  const log = { debug() {}, info() {}, warn, error() {} };
  return { pay, lines, left, start: () => createTestRuntime({ log, realTimeoutMs: 10 }) };
}

test('a step that throws is called again within the attempt, and the log says why', async () => {
  const { pay, lines, start } = scene([new Error('busy'), new Error('still busy')], QUICK);
  await using runtime = await start();
  const job = await runtime.submit(pay);
  await expect(job.result()).resolves.toBe('paid');
  expect(runtime.ran('pay')).toMatchObject([{ attempt: 1, outcome: 'succeeded' }]);
  expect(lines).toEqual([
    'job-1/pay: step charge failed, 1 of 3: busy',
    'job-1/pay: step charge failed, 2 of 3: still busy',
  ]);
});

test('the last error is that of the step', async () => {
  const failures = [new Error('one'), new Error('two'), new Error('three'), new Error('four')];
  const { pay, left, start } = scene(failures, QUICK);
  await using runtime = await start();
  await expect((await runtime.submit(pay)).result()).rejects.toThrow('three');
  expect(left).toHaveLength(1);
});

test.each([
  ['a fatal error', new FatalError('the card is blocked')],
  ['an error that names the next attempt', new RetryAfterError('busy', '1h')],
])('%s ends the step at once', async (_, failure) => {
  const { pay, left, start } = scene([failure, new Error('never')], QUICK);
  await using runtime = await start();
  await expect((await runtime.submit(pay)).result()).rejects.toThrow(failure.message);
  expect(left).toHaveLength(1);
});

test('a cancelled task does not wait for its next call', async () => {
  const retry = { maxAttempts: 2, backoffMs: 60_000, maxBackoffMs: 60_000 };
  const { pay, lines, start } = scene([new Error('busy')], retry);
  await using runtime = await start();
  const job = await runtime.submit(pay);
  await runtime.advance('1s');
  expect(lines).toHaveLength(1);
  await job.cancel();
  await expect(job.result()).rejects.toThrow('cancelled');
  expect(runtime.stepsRun('pay')).toEqual(['charge']);
});

test.each([{ maxAttempts: 0 }, { maxAttempts: 1.5 }, { maxAttempts: 2, backoffMs: -1 }])(
  '%j is refused',
  async (retry) => {
    const { pay, start } = scene([], retry);
    await using runtime = await start();
    const job = await runtime.submit(pay);
    await expect(job.result()).rejects.toThrow(/retry of step charge is not valid/);
  },
);
