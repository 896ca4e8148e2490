import { expect, test } from 'vitest';
import { freePort } from '../rig/cluster/free-port.ts';
import { millrace, stderrLine } from '../rig/cluster/command.ts';
import { until } from '../rig/until.ts';
import { writeFileSync } from 'node:fs';
import { expectCleanFolder, single } from '../rig/cluster/single.ts';

test('`up` is a whole system on one machine, to be used from the command line', async () => {
  const solo = await single();
  const up = solo.start();
  expect((await up.line(/^millrace ready (\S+)$/))[1]).toBe(solo.url);
  const document = solo.file('job.yaml');
  writeFileSync(document, 'name: nightly\ntasks: [{ id: a, executor: note, input: { value: 7 } }]');
  const submitted = await solo.run('submit', document);
  expect(submitted).toMatchObject({ code: 0, err: '' });
  const id = submitted.out.trim();
  solo.client.acknowledged.add(id);
  expect(await solo.client.waitForJob(id)).toMatchObject({
    state: 'succeeded',
    tasks: [{ node: 'solo', result: { value: 7 } }],
  });
  expect((await solo.run('jobs')).out).toMatch(/nightly.*succeeded|succeeded.*nightly/);
  const shown = await solo.run('job', id, '--json');
  expect(JSON.parse(shown.out)).toMatchObject({ id, state: 'succeeded' });
  const log = await solo.run('events', '--job', id, '--json');
  const kinds = log.out
    .trim()
    .split('\n')
    .map((line) => (JSON.parse(line) as { kind: string }).kind);
  expect(kinds).toEqual(expect.arrayContaining(['job.created', 'assigned', 'completed']));
  expect((await solo.run('nodes')).out).toMatch(/solo +healthy/);

  const file = solo.file('go');
  const slow = await solo.client.submit({
    tasks: [{ id: 'b', executor: 'waitForFile', input: { file } }],
  });
  await solo.effects.wait({ job: slow.id, what: 'begin' });
  expect(await solo.run('drain', 'solo')).toMatchObject({ code: 0 });
  expect((await solo.run('nodes')).out).toMatch(/solo +healthy \(leader; draining\)/);
  writeFileSync(file, '');
  expect(await solo.client.waitForJob(slow.id)).toMatchObject({ state: 'succeeded' });
  await stderrLine(up, /The worker of this node was drained and has exited/);
  expect(await up.stop()).toEqual({ code: 0, signal: null });
  await expectCleanFolder(solo);
});

test('jobs of an `up` that was killed go on when it is started again', async () => {
  const solo = await single();
  const first = solo.start();
  await first.line(/^millrace ready/);
  const file = solo.file('go');
  const { id } = await solo.client.submit({
    tasks: [
      { id: 'a', executor: 'note' },
      { id: 'b', executor: 'waitForFile', input: { file }, dependsOn: ['a'] },
      { id: 'c', executor: 'note', dependsOn: ['b'] },
    ],
  });
  const [before] = await solo.effects.wait({ job: id, task: 'b', what: 'begin' });
  await first.crash();
  const second = solo.start();
  await second.line(/^millrace ready/);
  const [, after] = await solo.effects.wait({ job: id, task: 'b', what: 'begin' }, 2);
  expect(after?.key).toBe(before?.key);
  writeFileSync(file, '');
  expect(await solo.client.waitForJob(id)).toMatchObject({ state: 'succeeded' });
  expect(solo.effects.all({ job: id, task: 'a', what: 'begin' })).toHaveLength(1);
  expect(await second.stop()).toEqual({ code: 0, signal: null });
  await expectCleanFolder(solo);
});

test('a cluster cannot run on DuckDB, and `serve` says so', async () => {
  for (const args of [[], ['--database', './work/millrace.duckdb'], ['--database', 'duckdb://x']]) {
    const refused = await millrace(['serve', ...args], { MILLRACE_DATABASE: '' });
    expect(refused).toMatchObject({ code: 2, out: '' });
    expect(refused.err).toMatch(/postgres/i);
  }
});

test('a second `up` on the same folder is refused, and the first one goes on', async () => {
  const solo = await single();
  const up = solo.start();
  await up.line(/^millrace ready/);
  const [port, grpcPort] = [await freePort(), await freePort()];
  const ports = ['--port', `${port}`, '--grpc-port', `${grpcPort}`];
  const second = await millrace(['up', '--data', solo.data, ...ports]);
  expect(second.code).not.toBe(0);
  expect(second.out).toBe('');
  expect(second.err).toContain(solo.data);
  expect(second.err).toMatch(/another|in use|already/i);
  expect(second.err).not.toMatch(/^ {4}at /m);
  const { id } = await solo.client.submit({ tasks: [{ id: 'a', executor: 'note' }] });
  expect(await solo.client.waitForJob(id)).toMatchObject({ state: 'succeeded' });
  expect(await up.stop()).toEqual({ code: 0, signal: null });
});

test('when only its worker dies, `up` starts another one and the task runs again', async () => {
  const solo = await single();
  const up = solo.start();
  await up.line(/^millrace ready/);
  const { id } = await solo.client.submit({
    tasks: [{ id: 'a', executor: 'crash', input: { times: 1 } }],
  });
  expect(await solo.client.waitForJob(id)).toMatchObject({
    state: 'succeeded',
    tasks: [{ attempt: 2 }],
  });
  await stderrLine(up, /The worker of this node has ended \(SIGKILL\)/);
  await until(async () => (await solo.run('nodes')).out.includes('healthy'), 'the node to be well');
  expect(await up.stop()).toEqual({ code: 0, signal: null });
  await expectCleanFolder(solo);
});

test('an `up` whose module cannot be loaded says which and ends with 2', async () => {
  const solo = await single();
  const ports = ['--port', '0', '--grpc-port', '0'];
  const words = ['up', '--data', solo.data, ...ports, '--module', solo.file('none.js')];
  const said = await millrace(words);
  expect(said).toMatchObject({ code: 2 });
  expect(said.err).toContain('none.js');
  expect(said.err).toContain('--slots 0');
});

test('a second signal ends `up` at once, as a shell sees it with 130, and jobs go on when it is started again', async () => {
  const solo = await single();
  const first = solo.start();
  await first.line(/^millrace ready/);
  const file = solo.file('go');
  const { id } = await solo.client.submit({
    tasks: [{ id: 'a', executor: 'waitForFile', input: { file } }],
  });
  await solo.effects.wait({ job: id, what: 'begin' });
  first.kill('SIGTERM');
  await stderrLine(first, /A second signal exits immediately/);
  first.kill('SIGTERM');
  // Not by a defect of what the thread of the node was at.
  expect(await first.exited).toEqual({ code: null, signal: 'SIGINT' });
  writeFileSync(file, '');
  const second = solo.start();
  await second.line(/^millrace ready/);
  expect(await solo.client.waitForJob(id)).toMatchObject({ state: 'succeeded' });
  expect(await second.stop()).toEqual({ code: 0, signal: null });
});

test('a node whose thread dies ends its process, says why, and can be started again', async () => {
  const solo = await single();
  const file = solo.file('die');
  // In the thread of the node only: not around it, and not in its worker.
  const bomb = `
    import { existsSync } from 'node:fs';
    import { workerData } from 'node:worker_threads';
    const look = () => { if (existsSync(${JSON.stringify(file)})) throw new Error('a defect of the node'); };
    if (workerData?.place) setInterval(look, 20).unref();`;
  const first = solo.start({
    NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(bomb)}`,
  });
  await first.line(/^millrace ready/);
  const { id } = await solo.client.submit({ tasks: [{ id: 'a', executor: 'note' }] });
  writeFileSync(file, '');
  await stderrLine(first, /The node of this process has ended\. a defect of the node\./);
  expect(await first.exited).toEqual({ code: 1, signal: null });
  const second = solo.start();
  await second.line(/^millrace ready/);
  expect(await solo.client.waitForJob(id)).toMatchObject({ state: 'succeeded' });
  expect(await second.stop()).toEqual({ code: 0, signal: null });
  await expectCleanFolder(solo);
});
