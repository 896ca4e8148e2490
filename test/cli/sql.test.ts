/** `millrace sql` as people use it: real processes, to their end or to Ctrl-C, and nothing left of them. */
import { expect, onTestFinished, test } from 'vitest';
import { HttpClient } from '../../src/client/index.ts';
import { within } from '../rig/cluster/deadline.ts';
import { LIMIT_MS, start, said, alive } from './sql-setup.ts';
import { until } from '../rig/until.ts';

test('at a server, wrong SQL is shown where it is wrong, and Ctrl-C cancels the query', async () => {
  const node = start('up', '--data', 'data', '--port', '0', '--grpc-port', '0', '--slots', '1');
  const [, url = ''] = await node.line(/^millrace ready (\S+)$/, LIMIT_MS);
  const wrong = start('sql', 'select itme\nfrom (select 1 as item)', '--json', '--server', url);
  expect(await within(LIMIT_MS, wrong.exited, () => wrong.output.text())).toMatchObject({
    code: 2,
  });
  expect(said(wrong, 'stderr')).toContain('select itme\n       ^');
  expect(JSON.parse(said(wrong, 'stdout'))).toMatchObject({ error: { code: 'bad_query' } });

  const { queries, close } = client(url);
  onTestFinished(close);
  const endless =
    'select count(*) from range(10000000) a, range(10000000) b where a.range < b.range';
  const command = start('sql', endless, '--server', url);
  const isRunning = async (): Promise<boolean> =>
    (await queries.list({ state: 'running' })).queries.length === 1;
  await until(isRunning, 'the query runs');
  command.kill('SIGINT', 'process');
  expect(await within(LIMIT_MS, command.exited, () => command.output.text())).toEqual({
    code: 130,
    signal: null,
  });
  const { queries: all } = await queries.list();
  expect(all.map(({ state }) => state)).toEqual(['cancelled']);
  expect(await node.stop()).toEqual({ code: 0, signal: null });
  await until(async () => alive().length === 0, 'nothing of the node is alive');
});

function client(server: string) {
  const http = new HttpClient({ server });
  return { queries: http.queries, close: () => http.end() };
}
