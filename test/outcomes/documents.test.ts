/** Jobs that cannot be, or that nobody can run: reported on the command line, by files and by a server. */
import { isMillraceError } from 'millrace';
import { expect, test, vi } from 'vitest';
import { expectStillAtWork, startNode } from './single-node.ts';
import { file, echo } from './documents-setup.ts';
import { millrace } from '../rig/cluster/command.ts';

// Real processes on a machine that may be busy with others.
vi.setConfig({ testTimeout: 120_000 });

const ROUND = { tasks: [echo('a', 'c'), echo('b', 'a'), echo('c', 'b')] };

const CYCLE =
  'The dependencies form a cycle: a -> c -> b -> a. None of these tasks could ever start';

test('a cycle is refused with its way: in a file with the line, by a server with the path', async () => {
  const yaml = file(
    'round.yaml',
    `tasks:
  - { id: a, executor: echo, dependsOn: [c] }
  - { id: b, executor: echo, dependsOn: [a] }
  - { id: c, executor: echo, dependsOn: [b] }
`,
  );
  const json = file('round.json', JSON.stringify(ROUND, null, 2));
  const refused = await millrace(['run', yaml]);
  expect(refused).toMatchObject({ code: 2, out: '' });
  expect(refused.err).toContain(`round.yaml:2:42: /tasks/0/dependsOn/0: ${CYCLE}`);
  const refusedJson = await millrace(['run', json, '--json']);
  expect(refusedJson.code).toBe(2);
  expect(refusedJson.err).toContain(`round.json:7:9: /tasks/0/dependsOn/0: ${CYCLE}`);
  expect(JSON.parse(refusedJson.out)).toMatchObject({ error: { code: 'bad_input' } });

  const { client } = await startNode();
  const thrown: unknown = await client.submit(ROUND).catch((error: unknown) => error);
  expect(isMillraceError(thrown, 'bad_input')).toBe(true);
  expect(thrown).toMatchObject({
    path: '/tasks/0/dependsOn/0',
    message: expect.stringContaining(CYCLE) as string,
  });
  // Nothing of it is stored.
  for await (const job of client.jobs()) expect(job).toBeUndefined();
  await expectStillAtWork(client);
});
