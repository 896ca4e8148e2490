import { expect, test } from 'vitest';
import { assignment } from '../rig/fake-leader.ts';
import { serveWeb } from '../rig/web-server.ts';
import { startWorker } from './worker-executors-setup.ts';

test('commands and private hosts are refused unless the flags allow them', async () => {
  const { url } = await serveWeb((_request, response) => response.end('hello'));
  const web = JSON.stringify({ url });
  const command = JSON.stringify({ command: process.execPath, args: ['-p', '6 * 7'] });
  const closed = await startWorker();
  expect(closed.leader.registered[0]?.executors).not.toContain('command');
  const refused = closed.reported('failed', 'completed');
  closed.leader.give(assignment(1, 'http', { input: web }));
  expect(await refused).toMatchObject({ failure: 'fatal', error: { code: 'refused_address' } });

  const open = await startWorker('--allow-private-http', '--allow-command', process.execPath);
  expect(open.leader.registered[0]?.executors).toContain('command');
  const answered = open.reported('failed', 'completed');
  open.leader.give(assignment(1, 'http', { input: web }));
  expect(await answered).toMatchObject({ result: expect.stringContaining('hello') as string });
  const ran = open.reported('failed', 'completed');
  open.leader.give(assignment(2, 'command', { input: command }));
  expect(await ran).toMatchObject({ result: '{"exitCode":0,"stdout":"42\\n","stderr":""}' });
});
