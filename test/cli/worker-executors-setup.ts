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

const folder = mkdtempSync(join(tmpdir(), 'millrace-executors-'));
const module = join(folder, 'tasks.ts');

export async function startWorker(...flags: readonly string[]) {
  const leader = new FakeLeader();
  const server = await openDoor(leader);
  const worker = TestProcess.start([
    ...['worker', '--server', server, '--node-id', 'w-1', '--module', module, ...flags],
  ]);
  await worker.line(/^millrace worker ready w-1$/);
  const reported = (...kinds: readonly WorkerReport['kind'][]): Promise<WorkerReport> => {
    const found = deferred<WorkerReport>();
    const before = leader.onReport;
    leader.onReport = async (items) => {
      const item = items.find(({ kind }) => kinds.includes(kind));
      if (item !== undefined) found.resolve(item);
      await before(items);
    };
    return within(
      20_000,
      found.promise,
      () => `${kinds.join()}; reported: ${leader.reported.join()}`,
    );
  };
  return { leader, worker, reported };
}

writeFileSync(
  module,
  `import { pathToFileURL } from 'node:url';
   import { threadId } from 'node:worker_threads';
   interface Definition { kind: 'millrace.task'; name: string; thread?: string; run(input: unknown): unknown }
   const here = pathToFileURL(${JSON.stringify(module)}).href;
   export const where: Definition = { kind: 'millrace.task', name: 'where', thread: here, run: () => threadId };
   export const spin: Definition = { kind: 'millrace.task', name: 'spin', thread: here, run: () => { for (;;); } };`,
);
afterAll(() => rmSync(folder, { recursive: true }));
