import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { deferred } from '../src/kit/index.ts';
import type { WorkerReport } from '../src/scheduler/contract/index.ts';
import { within } from './rig/cluster/deadline.ts';
import { TestProcess } from './rig/cluster/process.ts';
import { FakeLeader, assignment, lease } from './rig/fake-leader.ts';
import { openDoor } from './rig/leader-entry.ts';
import { serveWeb } from './rig/web-server.ts';

const folder = mkdtempSync(join(tmpdir(), 'millrace-executors-'));
const module = join(folder, 'tasks.ts');
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

async function startWorker(...flags: readonly string[]) {
  const leader = new FakeLeader();
  const server = await openDoor(leader);
  const worker = TestProcess.start([
    ...['worker', '--server', server, '--node-id', 'w-1', '--module', module, ...flags],
  ]);
  await worker.line(/^millrace worker ready w-1$/);
  const told = (...kinds: readonly WorkerReport['kind'][]): Promise<WorkerReport> => {
    const found = deferred<WorkerReport>();
    const before = leader.onReport;
    leader.onReport = async (items) => {
      const item = items.find(({ kind }) => kinds.includes(kind));
      if (item !== undefined) found.resolve(item);
      await before(items);
    };
    return within(20_000, found.promise, () => `${kinds.join()}; told: ${leader.told.join()}`);
  };
  return { leader, worker, told };
}

test('a task in TypeScript that spins on its thread can be stopped, and the worker goes on', async () => {
  const { leader, worker, told } = await startWorker('--abort-grace-ms', '2s');
  const started = told('started');
  leader.give(assignment(1, 'spin'));
  await started;
  const ended = told('aborted', 'failed', 'completed');
  leader.orders = { abort: [lease(1)], drain: false, slowDownMs: 0 };
  expect(await ended).toMatchObject({ kind: 'aborted', lease: lease(1) });
  leader.orders = { abort: [], drain: false, slowDownMs: 0 };

  const done = told('completed');
  leader.give(assignment(2, 'where'));
  expect(await done).toMatchObject({
    lease: lease(2),
    result: expect.not.stringMatching(/^0$/) as string,
  });
  worker.kill('SIGTERM');
  expect(await worker.exited).toEqual({ code: 0, signal: null });
});

test('commands and private hosts are refused unless the flags allow them', async () => {
  const { url } = await serveWeb((_request, response) => response.end('hello'));
  const web = JSON.stringify({ url });
  const command = JSON.stringify({ command: process.execPath, args: ['-p', '6 * 7'] });
  const closed = await startWorker();
  expect(closed.leader.registered[0]?.executors).not.toContain('command');
  const refused = closed.told('failed', 'completed');
  closed.leader.give(assignment(1, 'http', { input: web }));
  expect(await refused).toMatchObject({ failure: 'fatal', error: { code: 'refused_address' } });

  const open = await startWorker('--allow-private-http', '--allow-command', process.execPath);
  expect(open.leader.registered[0]?.executors).toContain('command');
  const answered = open.told('failed', 'completed');
  open.leader.give(assignment(1, 'http', { input: web }));
  expect(await answered).toMatchObject({ result: expect.stringContaining('hello') as string });
  const ran = open.told('failed', 'completed');
  open.leader.give(assignment(2, 'command', { input: command }));
  expect(await ran).toMatchObject({ result: '{"exitCode":0,"stdout":"42\\n","stderr":""}' });
});
