import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { runAgainst } from '../../test/rig/command-line.ts';
import { ScriptedServer } from '../../test/rig/scripted-server.ts';
import { exit } from './exit.ts';

const SEND = 'POST /api/v1/triggers/order.created';
let server: ScriptedServer;

beforeEach(async () => {
  server = await ScriptedServer.start();
});
afterEach(() => server.close());

const send = (...args: readonly string[]) => runAgainst(server, ['send', 'order.created', ...args]);
const started = { flow: 'order', id: 'j-1', state: 'queued', isNew: true };
const error = { code: 'bad_input', detail: '/input/n: It is missing.', path: '/input/n' };

test('send shows the job of each flow', async () => {
  const jobs = [
    started,
    { ...started, flow: 'thanks', id: 'j-2', isNew: false, because: 'sent_before' },
    { flow: 'sync', id: 'j-3', state: 'running', isNew: false, because: 'singleton' },
  ];
  server.script(SEND, { json: { event: 'order.created', id: 'e1', jobs } });
  const { out, code } = await send('--data', '{"n": 1}', '--id', 'e1', '--label', 'a=b');
  expect(out.split('\n').map((line) => line.trim())).toEqual([
    'FLOW    JOB  STATE',
    'order   j-1  queued',
    'thanks  j-2  queued, started before',
    'sync    j-3  running, not started: singleton',
    '',
  ]);
  expect(code).toBe(exit.done);
  const sent = JSON.parse(server.received.at(-1)?.body ?? '') as unknown;
  expect(sent).toEqual({ data: { n: 1 }, id: 'e1', labels: { a: 'b' } });
});

test('send says that no flow listens, and --json prints nothing else', async () => {
  const note = "No flow is started by 'order.created'.";
  server.script(SEND, { json: { event: 'order.created', id: 'e1', jobs: [], note } });
  expect(await send()).toMatchObject({ code: exit.done, out: `${note}\n` });
  const { out } = await send('--json');
  expect(JSON.parse(out)).toMatchObject({ event: 'order.created', jobs: [], note });
});

test('a flow that does not accept the data makes it fail, and says why', async () => {
  server.script(SEND, {
    status: 207,
    json: { event: 'order.created', id: 'e1', jobs: [started, { flow: 'thanks', error }] },
  });
  const { out, code } = await send('--data', '{}');
  expect(out).toContain('not started: /input/n: It is missing.');
  expect(code).toBe(exit.wrongUse);
});

test('--file sends all events of a file, and what is refused is the exit code', async () => {
  const many = 'POST /api/v1/triggers';
  const answer = { event: 'order.created', id: 'e1', jobs: [started], woken: [], cancelled: [] };
  server.script(many, { status: 207, json: [answer, { error }] });
  const file = join(mkdtempSync(join(tmpdir(), 'send-')), 'events.yaml');
  writeFileSync(file, '- {event: order.created, data: {n: 1}, id: e1}\n- {event: x, id: e2}\n');
  const { out, code } = await runAgainst(server, ['send', '--file', file]);
  expect([out.split('\n')[0], code]).toEqual(['order.created (e1)', exit.wrongUse]);
  expect(out).toMatch(/order +j-1 +queued\nnumber 2: .*It is missing/);
  const sent = JSON.parse(server.received.at(-1)?.body ?? '') as unknown;
  expect(sent).toEqual([
    { event: 'order.created', data: { n: 1 }, id: 'e1' },
    { event: 'x', id: 'e2' },
  ]);
});

test.each([
  [[], 'send needs an event.'],
  [['tick', '--file', 'x.json'], '--file names its events itself.'],
  [['--file', 'x.json', '--id', 'e'], '--file names its events itself.'],
])('%j is wrong use', async (args, said) => {
  const { code, err } = await runAgainst(server, ['send', ...args]);
  expect([code, err]).toEqual([exit.wrongUse, expect.stringContaining(said)]);
});

test('data that is not JSON is refused before anything is sent', async () => {
  expect(await send('--data', '{')).toMatchObject({ code: exit.wrongUse });
  expect(server.received).toEqual([]);
});
