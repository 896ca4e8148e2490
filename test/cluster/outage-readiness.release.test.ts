import { expect, onTestFinished, test } from 'vitest';
import { connect } from '../../src/client/millrace.ts';
import { freePort } from '../rig/cluster/free-port.ts';
import { TestProcess } from '../rig/cluster/process.ts';
import { Proxy } from '../rig/cluster/proxy.ts';
import { freshDatabase } from '../rig/postgres.ts';
import { stderrLine } from '../rig/cluster/command.ts';
import { until } from '../rig/until.ts';

test('while the database is away a node is not ready, calls name it, and a result is waited for', async () => {
  const database = await freshDatabase();
  onTestFinished(() => database.drop());
  const direct = new URL(database.url);
  const proxy = await Proxy.start({ host: direct.hostname, port: Number(direct.port) });
  const through = new URL(proxy.through(database.url));
  // Nobody asks for it here, so any will do.
  through.password ||= 'correct-horse';
  const port = await freePort();
  const node = TestProcess.start([
    ...['serve', '--database', through.href, '--port', `${port}`, '--grpc-port', '0'],
    ...['--node-id', 'n-1', '--slots', '1'],
  ]);
  await node.line(/^millrace ready/);
  const url = `http://127.0.0.1:${port}`;
  const status = async (path: string): Promise<number> => (await fetch(url + path)).status;
  expect(await status('/readyz')).toBe(200);
  const waits: string[] = [];
  const client = connect(url, { onWait: (why) => waits.push(why.message) });
  onTestFinished(() => client.close());
  const job = await client.submit({
    tasks: [{ id: 'a', executor: 'sleep', input: { ms: 3_000 } }],
  });
  const result = job.result();

  await proxy.refuse();
  await until(async () => (await status('/readyz')) === 503, 'a node that is not ready');
  expect(await status('/healthz')).toBe(200);
  const name = `database ${direct.pathname.slice(1)} at ${proxy.address}`;
  await stderrLine(node, new RegExp(`Waiting: PostgreSQL \\(${name}\\) is not available`));
  const refused = await fetch(`${url}/api/v1/jobs`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ tasks: [{ id: 'a', executor: 'echo' }] }),
  });
  expect(refused.status).toBe(503);
  expect(await refused.text()).toContain(name);

  await proxy.heal();
  await until(async () => (await status('/readyz')) === 200, 'a node that is ready again');
  expect(await result).toBeDefined();
  expect(node.output.text()).not.toContain(through.password);
});
