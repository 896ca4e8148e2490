import { expect, test } from 'vitest';
import { freePort } from '../rig/cluster/free-port.ts';
import { single, expectCleanFolder } from './up-setup.ts';
import { stderrLine, millrace } from '../rig/cluster/command.ts';
import { until } from '../rig/until.ts';

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
