/** Handlers that harm the process they run in: it is replaced, says why, and nobody's work is lost. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { TASKS, ended, expectStillAtWork, ownFolder, startNode } from './single-node.ts';
import type { SingleNode } from './single-node.ts';
import { millrace, stderrLine } from '../rig/cluster/command.ts';
import { fileURLToPath } from 'node:url';
import type { JobShape } from 'millrace';

const STRAY = fileURLToPath(new URL('stray-tasks.ts', import.meta.url));
const node = (): Promise<SingleNode> =>
  startNode({ modules: [TASKS, STRAY], flags: ['--abort-grace-ms', '300ms'] });

/** The task that does harm, and one beside it in the same process. */
async function besides(
  { client }: SingleNode,
  executor: string,
  options: object = {},
): Promise<JobShape> {
  const harmful = { id: 'harmful', executor, input: 'first', ...options };
  return ended(await client.submit({ tasks: [harmful, { id: 'beside', executor: 'neighbour' }] }));
}

// Real processes on a machine that may be busy with others.
vi.setConfig({ testTimeout: 120_000 });

test.each([
  [
    'rejecting',
    /^millrace: A rejected promise was not caught and ends this worker: a stray promise, thrown at \S*stray-tasks\.ts:\d+:\d+\. Running: \S+\/\w+, \S+\/\w+; they run again\. Await every promise/,
  ],
  [
    'exiting',
    /^millrace: A handler called process\.exit\(0\), so this worker exits\. Running: .*; they run again\.$/,
  ],
])(
  '%s: the worker says what ended it, is started again, and both tasks run again',
  async (executor, words) => {
    const solo = await node();
    const job = await besides(solo, executor, { retry: { maxAttempts: 1 } });
    // Nobody failed: the process was lost, which costs no attempt of those that may fail.
    expect(job.tasks).toMatchObject([
      { id: 'harmful', state: 'succeeded', result: 'behaved', attempt: 2 },
      { id: 'beside', state: 'succeeded', result: 'run again', attempt: 2 },
    ]);
    await stderrLine(solo.up, words);
    await stderrLine(solo.up, /The worker of this node has ended \(exit code 1\); restarting it/);
    await expectStillAtWork(solo.client);
  },
);

test('steps that fail beside each other fail the task and not the process', async () => {
  const { client, up } = await node();
  const job = await ended(
    await client.submit({ tasks: [{ id: 'a', executor: 'careless', retry: { maxAttempts: 1 } }] }),
  );
  expect(job.tasks[0]?.error).toEqual({
    code: 'dead',
    message: 'gave up after 1 attempt; the last error was error: the first',
  });
  await expectStillAtWork(client);
  expect(up.output.text()).not.toMatch(/has ended/);
});

test.each([
  [
    'deaf',
    /Task harmful of job \S+ did not stop within 300 ms of its abort signal.*Make the executor deaf observe its AbortSignal/,
  ],
  [
    'busy',
    /this worker exits: the leader ordered a task to stop, and a handler has blocked this process/,
  ],
])(
  '%s: a handler that never ends is ended by its runMs, with its process',
  async (executor, words) => {
    const solo = await node();
    const limits = { timeouts: { runMs: 1_000 }, retry: { maxAttempts: 1 } };
    const { tasks } = await besides(solo, executor, limits);
    expect(tasks).toMatchObject([
      {
        state: 'failed',
        error: {
          code: 'dead',
          message:
            'gave up after 1 attempt; the last error was timeout: the attempt ran longer than timeouts.runMs',
        },
      },
      { id: 'beside', state: 'succeeded', result: 'run again', attempt: 2 },
    ]);
    await stderrLine(solo.up, words);
    await expectStillAtWork(solo.client);
  },
);

test('a module that ends the process while it is loaded is named as the reason', async () => {
  const folder = ownFolder();
  const module = join(folder, 'exits.mjs');
  writeFileSync(module, 'process.exit(0);');
  const ports = ['--port', '0', '--grpc-port', '0'];
  const said = await millrace(['up', '--data', join(folder, 'data'), ...ports, '--module', module]);
  expect(said).toMatchObject({ code: 2, out: '' });
  expect(said.err).toContain('A module called process.exit(0) while it was being loaded.');
  expect(said.err).toContain('cannot start with these modules and settings');
});
