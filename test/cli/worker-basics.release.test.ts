import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { identify } from '../rig/identify.ts';
import { FakeLeader, assignment, lease } from '../rig/fake-leader.ts';
import { openDoor } from '../rig/leader-entry.ts';
import { module, itemOf, start, startReady } from './worker-setup.ts';

const BIN = fileURLToPath(new URL('../../bin/millrace.js', import.meta.url));

test('it says that it is ready, runs tasks of its modules, drains on SIGTERM and exits 0', async () => {
  const { leader, worker } = await startReady('--capability', 'gpu=nvidia', '--slots', '3');
  const [offer] = leader.registered;
  expect(offer).toMatchObject({
    id: 'w-1',
    executors: [
      ...['aggregate', 'block', 'deaf', 'double', 'echo', 'http', 'map', 'sleep'],
      ...['sql', 'sql.fragment', 'wait'],
    ],
    slots: 3,
    capabilities: { gpu: 'nvidia', os: process.platform },
  });
  const address = offer?.address ?? '';
  expect(await identify(address)).toBe('shown');

  const done = itemOf(leader, 'completed');
  leader.give(assignment(1, 'double', { input: '21' }));
  expect(await done).toMatchObject({ kind: 'completed', lease: lease(1), result: '42' });

  const started = itemOf(leader, 'started');
  leader.give(assignment(2, 'wait'));
  await started;
  worker.kill('SIGTERM');
  const released = itemOf(leader, 'released');
  leader.orders = { abort: [lease(2)], drain: false, slowDownMs: 0 };
  const aborted = itemOf(leader, 'aborted');
  expect(await Promise.race([released, aborted])).toMatchObject({ lease: lease(2) });
  expect(await worker.exited).toEqual({ code: 0, signal: null });
  expect(leader.left).toHaveLength(1);
});

test('what is expected and not registered ends it with 2 before it registers', async () => {
  const { leader, worker } = await start('--expect', 'double', '--expect', 'train');
  expect(await worker.exited).toMatchObject({ code: 2 });
  await worker.output.line(/not registered on this worker: train/, 'stderr');
  expect(leader.registered).toEqual([]);
});

test('a handler that blocks its thread keeps its lease, and its start is reported', async () => {
  const { leader, worker } = await startReady('--slots', '1');
  const started = itemOf(leader, 'started');
  const done = itemOf(leader, 'completed');
  // Longer than the TTL of 2 s.
  leader.give(assignment(1, 'block', { input: '3000' }));
  expect(await started).toMatchObject({ lease: lease(1) });
  expect(await done).toMatchObject({ result: '"let go"' });
  expect(leader.registered).toHaveLength(1);
  worker.kill('SIGTERM');
  expect(await worker.exited).toMatchObject({ code: 0 });
});

test('started by a node it tells that it is ready, and ends with the node', async () => {
  const leader = new FakeLeader();
  const server = await openDoor(leader);
  const flags = ['worker', '--server', server, '--node-id', 'w-1', '--module', module];
  const child = spawn(process.execPath, [BIN, ...flags], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const exited = once(child, 'exit');
  expect(await once(child, 'message')).toEqual(['ready', undefined]);
  const started = itemOf(leader, 'started');
  leader.give(assignment(1, 'wait'));
  await started;
  const released = itemOf(leader, 'released');
  // As it is when the node is killed.
  child.disconnect();
  expect(await released).toMatchObject({ lease: lease(1) });
  expect(await exited).toEqual([0, null]);
  expect(leader.left).toHaveLength(1);
});
