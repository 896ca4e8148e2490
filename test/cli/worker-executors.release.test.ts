import { expect, test } from 'vitest';
import { assignment, lease } from '../rig/fake-leader.ts';
import { startWorker } from './worker-executors-setup.ts';

test('a task in TypeScript that spins on its thread can be stopped, and the worker goes on', async () => {
  const { leader, worker, reported } = await startWorker('--abort-grace-ms', '2s');
  const started = reported('started');
  leader.give(assignment(1, 'spin'));
  await started;
  const ended = reported('aborted', 'failed', 'completed');
  leader.orders = { abort: [lease(1)], drain: false, slowDownMs: 0 };
  expect(await ended).toMatchObject({ kind: 'aborted', lease: lease(1) });
  leader.orders = { abort: [], drain: false, slowDownMs: 0 };

  const done = reported('completed');
  leader.give(assignment(2, 'where'));
  expect(await done).toMatchObject({
    lease: lease(2),
    result: expect.not.stringMatching(/^0$/) as string,
  });
  worker.kill('SIGTERM');
  expect(await worker.exited).toEqual({ code: 0, signal: null });
});
