/** One file of definitions, without a change: in a program, on the command line, and on a server. */
import { createRuntime } from 'millrace';
import type { Client } from 'millrace';
import { expect, onTestFinished, test, vi } from 'vitest';
import { TASKS, startNode } from './single-node.ts';
import doubled from './tasks.ts';
import { millrace } from '../rig/cluster/command.ts';

// Real processes on a machine that may be busy with others.
vi.setConfig({ testTimeout: 120_000 });

/** Submitted twice under one key it is one job, with one result. */
async function expectOneJob(client: Client): Promise<void> {
  const options = { idempotencyKey: 'one' };
  const first = await client.submit(doubled, { n: 21 }, options);
  const second = await client.submit(doubled, { n: 22 }, options);
  expect([first.isNew, second.isNew, second.id]).toEqual([true, false, first.id]);
  const results: readonly { readonly doubled: number }[] = await Promise.all([
    first.result(),
    second.result(),
  ]);
  expect(results).toEqual([{ doubled: 42 }, { doubled: 42 }]);
}

test('in a program', async () => {
  const runtime = await createRuntime({ store: 'memory' });
  onTestFinished(() => runtime.close());
  await expectOneJob(runtime);
});

test('on the command line, with a wrong input refused as in a program', async () => {
  const run = ['run', TASKS, '--flow', 'doubled', '--input'];
  const said = await millrace([...run, '{"n": 21}']);
  expect(said.code).toBe(0);
  expect(JSON.parse(said.out)).toEqual({ doubled: 42 });
  const refused = await millrace([...run, '{"n": "four"}']);
  expect(refused).toMatchObject({ code: 2, out: '' });
  expect(refused.err).toMatch(/\/n: .*The input of flow 'doubled' does not match its schema/);
});

test('on a server, from a program and from the command line', async () => {
  const { client, url } = await startNode();
  await expectOneJob(client);
  const run = ['run', TASKS, '--flow', 'doubled', '--server', url, '--input'];
  const said = await millrace([...run, '{"n": 4}']);
  expect(said.code).toBe(0);
  expect(JSON.parse(said.out)).toEqual({ doubled: 8 });
});
