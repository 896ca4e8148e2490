/** Handlers that harm the process they run in: it is replaced, says why, and nobody's work is lost. */
import { expect, test, vi } from 'vitest';
import { ended, expectStillAtWork } from './single-node.ts';
import { node, besides } from './processes-setup.ts';
import { stderrLine } from '../rig/cluster/command.ts';

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
    await stderrLine(solo.up, /^The worker of this node has ended \(exit code 1\); restarting it/);
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
