import { afterAll, expect, onTestFinished, test } from 'vitest';
import { FakeLeader, assignment, lease } from '../rig/fake-leader.ts';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { identify } from '../rig/identify.ts';
import { openDoor } from '../rig/leader-entry.ts';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { deferred } from '../../src/kit/index.ts';
import type { WorkerReport } from '../../src/scheduler/contract/index.ts';
import { within } from '../rig/cluster/deadline.ts';
import { TestProcess } from '../rig/cluster/process.ts';

const folder = mkdtempSync(join(tmpdir(), 'millrace-worker-'));
const module = join(folder, 'tasks.mjs');

/** Resolves with the first item of the kind. */
function itemOf(leader: FakeLeader, kind: WorkerReport['kind']): Promise<WorkerReport> {
  const found = deferred<WorkerReport>();
  const before = leader.onReport;
  leader.onReport = async (items) => {
    const item = items.find((each) => each.kind === kind);
    if (item !== undefined) found.resolve(item);
    await before(items);
  };
  return within(
    15_000,
    found.promise,
    () => `${kind}; reported so far: ${leader.reported.join(', ')}`,
  );
}

interface Started {
  readonly leader: FakeLeader;
  readonly worker: TestProcess;
}

async function start(...flags: readonly string[]): Promise<Started> {
  const leader = new FakeLeader();
  leader.onRegister = () =>
    Promise.resolve({ sessionTtlMs: 2_000, heartbeatMs: 200, sessionName: 'shown' });
  const server = await openDoor(leader);
  const worker = TestProcess.start([
    ...['worker', '--server', server, '--node-id', 'w-1', '--module', module],
    ...flags,
  ]);
  return { leader, worker };
}

async function startReady(...flags: readonly string[]): Promise<Started> {
  const started = await start(...flags);
  await started.worker.line(/^millrace worker ready w-1$/);
  return started;
}

writeFileSync(
  module,
  `const task = (name, run) => ({ kind: 'millrace.task', name, run });
   const block = (ms) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
   export default [
     task('double', (n) => n * 2),
     task('wait', (_, { signal }) => new Promise((_, no) => {
       signal.addEventListener('abort', () => no(signal.reason));
     })),
     task('block', (ms) => { block(ms); return 'let go'; }),
     task('deaf', () => new Promise(() => {})),
   ];`,
);
afterAll(() => rmSync(folder, { recursive: true }));

const BIN = fileURLToPath(new URL('../../bin/millrace.js', import.meta.url));

test('it reports readiness, runs tasks of its modules, drains on SIGTERM and exits with 0', async () => {
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

test('a missing expected executor ends it with exit code 2 before it registers', async () => {
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

test('as the child of a node it reports readiness, and ends with the node', async () => {
  const leader = new FakeLeader();
  const server = await openDoor(leader);
  const flags = ['worker', '--server', server, '--node-id', 'w-1', '--module', module];
  const child = spawn(process.execPath, [BIN, ...flags], {
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const exited = once(child, 'exit');
  const printed = once(createInterface({ input: child.stdout! }), 'line');
  expect(await once(child, 'message')).toEqual(['ready', undefined]);
  expect(await printed).toEqual(['millrace worker ready w-1']);
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

test('a blocked handler that is cancelled ends the process after its grace period', async () => {
  const { leader, worker } = await startReady('--abort-grace-ms', '300');
  const started = itemOf(leader, 'started');
  leader.give(assignment(1, 'block', { input: '60000' }));
  await started;
  leader.orders = { abort: [lease(1)], drain: false, slowDownMs: 0 };
  expect(await worker.exited).toEqual({ code: null, signal: 'SIGKILL' });
  await worker.output.line(/a handler has blocked this process for 300 ms/, 'stderr');
});

test('a handler that ignores its abort ends the process with exit code 1', async () => {
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
