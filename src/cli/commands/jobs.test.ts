import { afterEach, beforeEach, expect, test } from 'vitest';
import { asOf, runAgainst, summary } from '../../../test/rig/command-line.ts';
import { ScriptedServer } from '../../../test/rig/scripted-server.ts';
import { exit } from '../exit.ts';

let server: ScriptedServer;

beforeEach(async () => {
  server = await ScriptedServer.start();
});
afterEach(() => server.close());

test.each(['30m', '2026-11-15T05:30:00Z'])('--since %s leaves out older jobs', async (since) => {
  const ages = ['05:59', '05:30', '05:29', '01:00'];
  const jobs = ages.map((at, no) => {
    return { ...summary, id: `j-${no}`, createdAt: `2026-11-15T${at}:00.000Z` };
  });
  server.script('GET /api/v1/jobs', { json: { jobs, cursor: 'more', asOf } });
  const { code, out } = await runAgainst(server, ['jobs', '--since', since, '--json']);
  const page = JSON.parse(out) as { readonly jobs: readonly { readonly id: string }[] };
  expect([code, page.jobs.map(({ id }) => id)]).toEqual([exit.done, ['j-0', 'j-1']]);
  expect(page).toMatchObject({ cursor: null });
  // What is older is not asked for.
  expect(server.received).toHaveLength(1);
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
