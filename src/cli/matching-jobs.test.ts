import { afterEach, beforeEach, expect, test } from 'vitest';
import { asOf, over, runAgainst } from '../../test/rig/command-line.ts';
import { problem, ScriptedServer } from '../../test/rig/scripted-server.ts';
import { exit } from './exit.ts';

const BULK = 'POST /api/v1/bulk';
const JOB = 'GET /api/v1/jobs/b-1';
const accepted = { status: 201, json: { id: 'b-1', state: 'queued' } };
const none = { found: 0, changed: 0, unchanged: 0, failed: 0, errors: [] };

let server: ScriptedServer;

beforeEach(async () => {
  server = await ScriptedServer.start();
});
afterEach(() => server.close());

const millrace = (...args: readonly string[]) => runAgainst(server, args);

function ends(result: object): void {
  server.script(BULK, accepted).script(JOB, { json: { ...over, id: 'b-1', result } });
}

test('a filter in place of an id acts on all jobs that fit', async () => {
  ends({ ...none, found: 3, changed: 2, unchanged: 1 });
  const { code, out } = await millrace('rerun', '--state', 'failed', '--label', 'tenant=acme');
  expect([code, out]).toEqual([
    exit.done,
    '3 jobs fit: 2 run again, 1 had nothing to run again.\n',
  ]);
  expect(JSON.parse(server.received[0]?.body ?? '')).toEqual({
    action: 'rerun',
    filter: { state: 'failed', labels: ['tenant:acme'] },
  });
});

test.each([
  ['cancel', '1 job fits: 1 cancelled.'],
  ['redrive', '1 job fits: 1 redriven.'],
])('%s says what it has done', async (action, said) => {
  ends({ ...none, found: 1, changed: 1 });
  expect((await millrace(action, '--name', 'import')).out.trim()).toBe(said);
  expect(JSON.parse(server.received[0]?.body ?? '')).toEqual({
    action,
    filter: { name: 'import' },
  });
});

test.each([
  [['remove', '--name', 'n'], { action: 'remove' }, '2 removed'],
  [['priority', '0', '--name', 'n'], { action: 'priority', priority: 0 }, '2 changed'],
  [['reschedule', '--now', '--name', 'n'], { action: 'reschedule', runAt: 'now' }, '2 rescheduled'],
  [['signal', 'ok', '--name', 'n'], { action: 'signal', signal: 'ok', value: null }, '2 signalled'],
  [['signal', 'ok', '{"a":1}', '--name', 'n'], { action: 'signal', value: { a: 1 } }, '2 signal'],
])('%j acts on all jobs that fit', async (args, body, said) => {
  ends({ ...none, found: 2, changed: 2 });
  const { code, out } = await millrace(...args);
  expect([code, out]).toEqual([exit.done, expect.stringContaining(said)]);
  expect(JSON.parse(server.received[0]?.body ?? '')).toMatchObject({
    ...body,
    filter: { name: 'n' },
  });
});

test('a time is a filter, too: a duration counts back by the clock of the server', async () => {
  server.script('GET /api/v1/jobs', { json: { jobs: [], cursor: null, asOf } });
  ends(none);
  await millrace('cancel', '--since', '2h', '--until', '2026-11-15T05:00:00+01:00');
  expect(JSON.parse(server.received[1]?.body ?? '')).toEqual({
    action: 'cancel',
    filter: { since: '2026-11-15T04:00:00.000Z', until: '2026-11-15T04:00:00.000Z' },
  });
});

test('a schedule and what has started them are filters, too', async () => {
  ends(none);
  await millrace('rerun', '--schedule', 'nightly', '--started-by', 'event/tick');
  expect(JSON.parse(server.received[0]?.body ?? '')).toEqual({
    action: 'rerun',
    filter: { schedule: 'nightly', startedBy: 'event/tick' },
  });
});

test('what failed is listed, and is the exit code', async () => {
  const errors = [{ job: 'j-7', message: 'It is gone.' }];
  ends({ ...none, found: 2, changed: 1, failed: 1, errors });
  const { code, out } = await millrace('cancel', '--name', 'import');
  expect([code, out.split('\n')]).toEqual([
    exit.workFailed,
    ['2 jobs fit: 1 cancelled, 1 failed.', '  j-7: It is gone.', ''],
  ]);
});

test('a filter that nothing fits changes nothing, and --json prints the job alone', async () => {
  ends(none);
  const { code, out, err } = await millrace('cancel', '--name', 'import', '--json');
  expect([code, err]).toEqual([exit.done, 'No job fits.\n']);
  expect(JSON.parse(out)).toMatchObject({ id: 'b-1', result: none });
});

test('a bulk job that is refused or does not succeed is not reported as done', async () => {
  const failed = { ...over, id: 'b-1', state: 'failed', error: { code: 'dead', message: 'No.' } };
  server.script(BULK, accepted).script(JOB, { json: failed });
  const { code, out } = await millrace('cancel', '--name', 'import');
  expect([code, out]).toEqual([exit.workFailed, 'Job b-1, which does it, failed: No.\n']);
  server.script(BULK, problem(403, { code: 'forbidden', detail: 'No.' }));
  expect((await millrace('cancel', '--name', 'import')).code).not.toBe(exit.done);
});

test.each([
  [['cancel'], 'cancel needs a job, or a filter for many.'],
  [['rerun', 'j-1', '--state', 'failed'], 'rerun takes one job, or a filter for many, not both.'],
  [['rerun', '--state', 'failed', '--follow'], '--follow is for one job.'],
  [['cancel', '--state', 'queued', '--reason', 'x'], '--reason is for one job.'],
  [['redrive', '--state', 'dead'], "'dead' is not a valid job state."],
  [['remove'], 'remove needs a job, or a filter for many.'],
  [['signal', 'ok'], 'signal needs a name.'],
  [['signal', '--name', 'n'], 'signal needs a name.'],
  [['signal', 'j-1', 'ok', '1', '--name', 'n'], 'signal takes one job, or a filter'],
  [['signal', 'ok', '--id', 'x', '--name', 'n'], '--id is for one job.'],
  [['priority', 'j-1', '0', '--name', 'n'], 'priority takes one job, or a filter'],
  [['priority', 'j-1', '--name', 'n'], "'j-1' is not a valid priority."],
  [['cancel', '--since', 'lately'], "'lately' is not a valid time."],
  [['cancel', 'j-1', '--since', '2h'], 'cancel takes one job, or a filter for many, not both.'],
  [['cancel', ''], 'The id of the job is empty.'],
])('%j is wrong use', async (args, said) => {
  const { code, err } = await millrace(...args);
  expect([code, err]).toEqual([exit.wrongUse, expect.stringContaining(said)]);
  expect(server.received).toEqual([]);
});
