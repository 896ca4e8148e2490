import { afterEach, beforeEach, expect, test } from 'vitest';
import { asOf, runAgainst, summary } from '../../../test/rig/command-line.ts';
import { ScriptedServer } from '../../../test/rig/scripted-server.ts';
import { exit } from '../exit.ts';

let server: ScriptedServer;

beforeEach(async () => {
  server = await ScriptedServer.start();
});
afterEach(() => server.close());

test.each([
  { changed: true, state: 'queued', says: 'has priority 0 now' },
  { changed: false, state: 'running', says: 'is not changed' },
  { changed: false, state: 'succeeded', says: 'is succeeded: its priority does not change' },
])('says what has become of a job that is $state', async ({ changed, state, says }) => {
  const job = { ...summary, id: 'j-1', state, priority: 0, tasks: [], history: [], result: null };
  server.script('POST /api/v1/jobs/j-1/priority', { json: { ...job, changed, asOf } });
  const { code, out } = await runAgainst(server, ['priority', 'j-1', '0']);
  expect([code, out]).toEqual([exit.done, expect.stringContaining(says)]);
  expect(server.received[0]?.body).toBe('{"priority":0}');
});

test.each(['4', 'high', '-1', ''])('%s is not a valid priority', async (word) => {
  const { code, err } = await runAgainst(server, ['priority', 'j-1', '--', word]);
  expect([code, err]).toEqual([
    exit.wrongUse,
    expect.stringContaining('Use 0 (urgent) to 3 (low)'),
  ]);
});
