import { afterAll } from 'vitest';
import { mkdtempSync, writeFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { deferred } from '../../src/kit/index.ts';
import type { WorkerReport } from '../../src/scheduler/contract/index.ts';
import { within } from '../rig/cluster/deadline.ts';
import { TestProcess } from '../rig/cluster/process.ts';
import { FakeLeader } from '../rig/fake-leader.ts';
import { openDoor } from '../rig/leader-entry.ts';

const folder = mkdtempSync(join(tmpdir(), 'millrace-worker-'));
export const module = join(folder, 'tasks.mjs');

/** Resolves with the first item of the kind. */
export function itemOf(leader: FakeLeader, kind: WorkerReport['kind']): Promise<WorkerReport> {
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

export interface Started {
  readonly leader: FakeLeader;
  readonly worker: TestProcess;
}

export async function start(...flags: readonly string[]): Promise<Started> {
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

export async function startReady(...flags: readonly string[]): Promise<Started> {
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
