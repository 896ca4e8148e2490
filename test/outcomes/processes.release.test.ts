/** Handlers that harm the process they run in: it is replaced, says why, and nobody's work is lost. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { expectStillAtWork, ownFolder } from './single-node.ts';
import { node, besides } from './processes-setup.ts';
import { stderrLine, millrace } from '../rig/cluster/command.ts';

// Real processes on a machine that may be busy with others.
vi.setConfig({ testTimeout: 120_000 });

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
