/** Jobs that cannot be, or that nobody can run: reported on the command line, by files and by a server. */
import { expect, test, vi } from 'vitest';
import { within } from '../rig/cluster/deadline.ts';
import { TestProcess } from '../rig/cluster/process.ts';
import { TASKS, ended, expectStillAtWork, startNode } from './single-node.ts';
import { file } from './documents-setup.ts';
import { millrace } from '../rig/cluster/command.ts';

// Real processes on a machine that may be busy with others.
vi.setConfig({ testTimeout: 120_000 });

const LIMIT_MS = 60_000;

const lines = ({ output }: TestProcess, from: 'stdout' | 'stderr'): readonly string[] =>
  output.lines.filter((line) => line.from === from).map(({ text }) => text);

test('an executor that nobody has: refused where nobody can come, and reported where somebody may', async () => {
  const alone = await millrace(['run', file('job.yaml', 'tasks: [{ id: a, executor: doublin }]')]);
  expect(alone).toMatchObject({ code: 2, out: '' });
  expect(alone.err).toMatch(
    /Task 'a' needs the executor 'doublin', which is not registered here\. .*--module.*--server/,
  );

  const { url, grpc, client } = await startNode({ modules: [] });
  const document = file('job.yaml', 'tasks: [{ id: a, executor: doubling, input: { n: 4 } }]');
  const run = TestProcess.start(['run', document, '--server', url, '--json']);
  const why = "no node fits; the nearest, solo, lacks executor 'doubling'";
  const waits = run.output.line(new RegExp(`^Task a waits: ${why}.$`), 'stderr');
  await within(LIMIT_MS, waits, () => run.output.text());
  const [id = ''] = lines(run, 'stderr').flatMap(
    (line) => /^Submitted job (\S+)\.$/.exec(line)?.[1] ?? [],
  );
  expect(await client.job(id)).toMatchObject({
    state: 'queued',
    tasks: [{ state: 'ready', waiting: why }],
  });
  expect(await client.explain(id, 'a')).toMatchObject({
    code: 'no_node_fits',
    nearest: [{ nodeId: 'solo', lacks: ["executor 'doubling'"] }],
  });
  const explained = await millrace(['explain', `${id}/a`, '--server', url]);
  expect(explained.out).toContain(`: ${why}.`);
  // Whoever has it may come later.
  const worker = TestProcess.start([
    'worker',
    '--server',
    grpc,
    '--node-id',
    'able',
    '--module',
    TASKS,
  ]);
  await worker.line(/^millrace worker ready able$/);
  expect(await within(LIMIT_MS, run.exited, () => run.output.text())).toEqual({
    code: 0,
    signal: null,
  });
  expect(JSON.parse(lines(run, 'stdout').at(-1) ?? '')).toMatchObject({
    ...{ id, state: 'succeeded', result: { doubled: 8 } },
    tasks: [{ node: 'able' }],
  });
});

test('a task that nobody takes ends with its queueMs', async () => {
  const { url, client } = await startNode();
  const text = 'tasks: [{ id: a, executor: nobody, timeouts: { queueMs: 300 } }]';
  const said = await millrace(['run', file('job.yaml', text), '--server', url]);
  expect(said).toMatchObject({ code: 1, out: '' });
  expect(said.err).toMatch(
    /a {2}queue_timeout: the task waited longer than timeouts.queueMs for a node/,
  );
  await expectStillAtWork(client);
});

test('a signal that nobody can take is refused with the reason', async () => {
  const { url, client } = await startNode();
  const handle = await client.submit({ tasks: [{ id: 'a', executor: 'echo' }] });
  await ended(handle);
  await expect(handle.signal('go', 1)).rejects.toMatchObject({
    code: 'conflict',
    message: expect.stringMatching(
      /has ended \(succeeded\) and cannot receive signals. Send signals while/,
    ) as string,
  });
  await expect(client.signal('nobody', 'go', 1)).rejects.toMatchObject({
    code: 'not_found',
    message: expect.stringContaining('There is no job nobody.') as string,
  });
  const live = await client.submit({ tasks: [{ id: 'a', executor: 'nobody' }] });
  await expect(live.signal('go on!', 1)).rejects.toMatchObject({ code: 'bad_input' });
  const signal = (...args: readonly string[]) => millrace(['signal', ...args, '--server', url]);
  expect(await signal(handle.id, 'go', '1')).toMatchObject({
    code: 1,
    err: expect.stringContaining('has ended') as string,
  });
  expect(await signal('nobody', 'go', '1')).toMatchObject({ code: 2 });
  const unquoted = await signal(live.id, 'go', 'yes');
  expect(unquoted).toMatchObject({ code: 2 });
  expect(unquoted.err).toContain(
    "'yes' is not valid JSON for the signal. A JSON string needs its own quotes",
  );
});
