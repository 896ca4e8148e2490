import { expect, test } from 'vitest';
import { assignment, lease } from '../rig/fake-leader.ts';
import { itemOf, startReady } from './worker-setup.ts';

test('a blocked handler that is asked to stop costs the process after its grace period', async () => {
  const { leader, worker } = await startReady('--abort-grace-ms', '300');
  const started = itemOf(leader, 'started');
  leader.give(assignment(1, 'block', { input: '60000' }));
  await started;
  leader.orders = { abort: [lease(1)], drain: false, slowDownMs: 0 };
  expect(await worker.exited).toEqual({ code: null, signal: 'SIGKILL' });
  await worker.output.line(/a handler has blocked this process for 300 ms/, 'stderr');
});

test('a handler that only ignores its abort costs the process as well, with exit code 1', async () => {
  const { leader, worker } = await startReady('--abort-grace-ms', '300');
  const started = itemOf(leader, 'started');
  leader.give(assignment(1, 'deaf'));
  await started;
  leader.orders = { abort: [lease(1)], drain: false, slowDownMs: 0 };
  expect(await worker.exited).toEqual({ code: 1, signal: null });
  await worker.output.line(
    /t1 of job job did not stop within 300 ms of its abort signal/,
    'stderr',
  );
});

test('a clock that is ten minutes off changes nothing but the times in its lines', async () => {
  const { leader, worker } = await startReady('--clock-offset-ms', '600000');
  const done = itemOf(leader, 'completed');
  leader.give(assignment(1, 'sleep', { input: '{"ms":2500}' }));
  await done;
  expect(leader.registered).toHaveLength(1);
  worker.kill('SIGTERM');
  expect(await worker.exited).toMatchObject({ code: 0 });
});
