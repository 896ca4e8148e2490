import { afterEach, beforeEach, expect, test } from 'vitest';
import { asOf, runAgainst, summary } from '../../../test/rig/command-line.ts';
import { ScriptedServer } from '../../../test/rig/scripted-server.ts';
import { exit } from '../exit.ts';

let server: ScriptedServer;

beforeEach(async () => {
  server = await ScriptedServer.start();
});
afterEach(() => server.close());

const AT = '2026-11-16T02:00:00.000Z';

test.each([
  { flags: ['--now'], sent: 'now', answer: { changed: true }, says: 'starts now.' },
  { flags: ['--at', AT], sent: AT, answer: { changed: true }, says: `starts at ${AT}.` },
  {
    flags: ['--now'],
    sent: 'now',
    answer: { changed: false, why: 'It has begun.' },
    says: 'is not changed. It has begun.',
  },
])('$flags says what has become of the job', async ({ flags, sent, answer, says }) => {
  const job = { ...summary, id: 'j-1', runAt: AT, tasks: [], history: [], result: null };
  server.script('POST /api/v1/jobs/j-1/reschedule', { json: { ...job, ...answer, asOf } });
  const { code, out } = await runAgainst(server, ['reschedule', 'j-1', ...flags]);
  expect([code, out]).toEqual([exit.done, `Job j-1 ${says}\n`]);
  expect(JSON.parse(server.received[0]?.body ?? '')).toEqual({ runAt: sent });
});

test.each([[[]], [['--now', '--at', AT]]])('%j is wrong use', async (flags) => {
  const { code, err } = await runAgainst(server, ['reschedule', 'j-1', ...flags]);
  expect([code, err]).toEqual([exit.wrongUse, expect.stringContaining('Write --at TIME')]);
  expect(server.received).toEqual([]);
});
