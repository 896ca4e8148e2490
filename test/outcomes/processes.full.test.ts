/** Handlers that cost their process again and again, until they are given up. */
import { fileURLToPath } from 'node:url';
import { expect, test, vi } from 'vitest';
import { TASKS, ended, expectStillAtWork, startNode } from './single-node.ts';
import { stderrLine } from '../rig/cluster/command.ts';

// The pauses before a worker is started again grow.
vi.setConfig({ testTimeout: 180_000 });

const STRAY = fileURLToPath(new URL('stray-tasks.ts', import.meta.url));
const modules = [TASKS, STRAY];

test.each([
  [
    'throwingLater',
    /^millrace: An error was not caught and ends this worker: a stray callback, thrown at \S*stray-tasks\.ts:\d+:\d+\. Running: \S+\/a; they run again\./,
    {},
  ],
  ['exiting', /^millrace: A handler called process\.exit\(0\)/, {}],
  // Small enough that it does not take long, large enough for the node itself.
  ['eating', /JavaScript heap out of memory/, { NODE_OPTIONS: '--max-old-space-size=160' }],
])(
  '%s: a task that ends its process each time is dead in the end, and says where to look',
  async (executor, words, environment) => {
    const { client, up } = await startNode({ modules, environment });
    const retry = { maxLosses: 1 };
    const tasks = [{ id: 'a', executor, input: 'always', retry }];
    const job = await ended(await client.submit({ tasks }));
    expect(job.tasks).toMatchObject([
      {
        state: 'failed',
        error: {
          code: 'dead',
          message: expect.stringMatching(
            /^lost its node 2 times, the last one solo: .*; see the last log lines of that node$/,
          ) as string,
        },
      },
    ]);
    await stderrLine(up, words);
    await expectStillAtWork(client);
  },
);
