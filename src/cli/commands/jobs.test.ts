import { afterEach, beforeEach, expect, test } from 'vitest';
import { asOf, runAgainst, summary } from '../../../test/rig/command-line.ts';
import { ScriptedServer } from '../../../test/rig/scripted-server.ts';
import { exit } from '../exit.ts';

let server: ScriptedServer;

beforeEach(async () => {
  server = await ScriptedServer.start();
});
afterEach(() => server.close());

test.each(['30m', '2026-11-15T05:30:00Z'])('--since %s asks for newer jobs', async (since) => {
  server.script('GET /api/v1/jobs', { json: { jobs: [], cursor: null, asOf } });
  const { code } = await runAgainst(server, ['jobs', '--since', since, '--until', '0s']);
  // The clock is that of the server: the first call asks for its time.
  expect([code, server.received.at(-1)?.query]).toEqual([
    exit.done,
    { limit: '20', since: '2026-11-15T05:30:00.000Z', until: '2026-11-15T06:00:00.000Z' },
  ]);
});

test('--since with something else is wrong use', async () => {
  const { code, err } = await runAgainst(server, ['jobs', '--since', 'lately']);
  expect([code, err]).toEqual([exit.wrongUse, expect.stringContaining('Write --since 2h')]);
});

test('--waiting-for asks for the jobs that wait for a signal, and shows which one', async () => {
  const jobs = [{ ...summary, id: 'j-1', waitsFor: ['approval', 'veto'] }];
  server.script('GET /api/v1/jobs', { json: { jobs, cursor: null, asOf } });
  const { code, out } = await runAgainst(server, ['jobs', '--waiting-for', 'approval']);
  expect([code, server.received[0]?.query['waitingFor']]).toEqual([exit.done, 'approval']);
  expect(out).toMatch(/WAITS FOR\n.*approval, veto/);
});

test('--schedule and --started-by ask for the jobs that they have started', async () => {
  server.script('GET /api/v1/jobs', { json: { jobs: [], cursor: null, asOf } });
  const flags = ['--schedule', 'nightly', '--started-by', 'job/j-1/pay'];
  expect((await runAgainst(server, ['jobs', ...flags])).code).toBe(exit.done);
  const asked = { schedule: 'nightly', startedBy: 'job/j-1/pay' };
  expect(server.received[0]?.query).toMatchObject(asked);
});
