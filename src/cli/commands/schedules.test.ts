import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { asOf, runAgainst } from '../../../test/rig/command-line.ts';
import { problem, ScriptedServer } from '../../../test/rig/scripted-server.ts';
import { exit } from '../exit.ts';

const PUT = 'PUT /api/v1/schedules/nightly';
const job = 'tasks: [{id: a, executor: echo}]';
const document = { tasks: [{ id: 'a', executor: 'echo' }] };
const nightly = {
  id: 'nightly',
  spec: {
    timing: { cron: '0 2 * * *', zone: 'Europe/Berlin' },
    misfire: 'once',
    overlap: 'queue',
  },
  paused: false,
  nextAt: '2026-11-16T01:00:00.000Z',
  lastAt: null,
  lastJob: 'j-1',
  upcoming: [16, 17, 18, 19].map((day) => `2026-11-${day}T01:00:00.000Z`),
};

let server: ScriptedServer;
let folder: string;

beforeEach(async () => {
  server = await ScriptedServer.start();
  folder = mkdtempSync(join(tmpdir(), 'millrace-schedules-'));
});
afterEach(async () => {
  await server.close();
  rmSync(folder, { recursive: true, force: true });
});

const millrace = (...args: readonly string[]) => runAgainst(server, ['schedules', ...args]);

function file(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

test('the list shows timing, zone, policies, the last job and the next three runs', async () => {
  const often = {
    ...nightly,
    id: 'often',
    spec: { timing: { everyMs: 60_000 }, misfire: 'skip', overlap: 'skip' },
    paused: true,
    upcoming: [],
  };
  server.script('GET /api/v1/schedules', { json: { schedules: [nightly, often], asOf } });
  const { out } = await millrace();
  const lines = out.trimEnd().split('\n');
  expect(lines).toHaveLength(5);
  expect(lines[1]).toMatch(
    /^nightly +0 2 \* \* \* +Europe\/Berlin +once +queue +active +2026-11-16T01:00:00.000Z +- +j-1 +-$/,
  );
  expect(lines[2]).toMatch(/^ +2026-11-17T01:00:00.000Z$/);
  expect(lines[3]).toMatch(/^ +2026-11-18T01:00:00.000Z$/);
  expect(lines[4]).toMatch(/^often +every 1m +- +skip +skip +paused +- +- +j-1 +-$/);
});

test('no schedules: the list says how to make one', async () => {
  server.script('GET /api/v1/schedules', { json: { schedules: [], asOf } });
  expect((await millrace('list')).out).toContain('millrace schedules create');
});

test.each([
  [
    ['--cron', '0 2 * * *', '--zone', 'Europe/Berlin'],
    { cron: '0 2 * * *', zone: 'Europe/Berlin' },
  ],
  [['--every', '1h30m'], { everyMs: 5_400_000 }],
  [['--at', '2026-11-15T02:00:00Z'], { at: '2026-11-15T02:00:00Z' }],
])('create takes a job document and %j', async (flags, timing) => {
  server.script(PUT, { json: nightly });
  const policies = ['--misfire', 'all', '--overlap', 'cancel'];
  const made = await millrace('create', 'nightly', file('job.yaml', job), ...flags, ...policies);
  expect(made).toEqual({
    code: exit.done,
    out: 'Schedule nightly runs next at 2026-11-16T01:00:00.000Z.\n',
    err: '',
  });
  const sent: unknown = JSON.parse(server.received[0]?.body ?? '');
  expect(sent).toEqual({ timing, misfire: 'all', overlap: 'cancel', document });
});

test('create takes a flow with its input', async () => {
  const toDocument = `(input) => ({ tasks: [{ id: 'a', executor: 'echo', input }] })`;
  const flow = `{ kind: 'millrace.flow', name: 'f', tasks: [], toDocument: ${toDocument} }`;
  const module = file('flow.mjs', `export default ${flow};`);
  server.script(PUT, { json: nightly });
  await millrace('create', 'nightly', module, '--every', '1h', '--input', '[1]');
  expect(JSON.parse(server.received[0]?.body ?? '')).toEqual({
    timing: { everyMs: 3_600_000 },
    document: { tasks: [{ id: 'a', executor: 'echo', input: [1] }] },
  });
});

test('create takes a flow by its name, without a file', async () => {
  server.script(PUT, { json: nightly });
  const input = '{"shop": "north"}';
  const line = ['--flow', 'report', '--cron', '0 2 * * *', '--overlap', 'queue', '--input', input];
  const { code } = await millrace('create', 'nightly', ...line);
  expect(code).toBe(exit.done);
  expect(JSON.parse(server.received[0]?.body ?? '')).toEqual({
    timing: { cron: '0 2 * * *' },
    overlap: 'queue',
    flow: 'report',
    input: { shop: 'north' },
  });
});

test.each([
  [[], 'A file or a flow is required.'],
  [['--flow', 'report'], 'The schedule has no timing.'],
  [['--cron', '0 2 * * *'], 'A file or a flow is required.'],
])('create %j says what is missing', async (flags, what) => {
  const { code, err } = await millrace('create', 'nightly', ...flags);
  expect([code, err]).toEqual([exit.wrongUse, expect.stringContaining(what)]);
});

test('create takes a whole schedule from a file', async () => {
  server.script(PUT, { json: { ...nightly, nextAt: null } });
  const whole = file('s.yaml', `timing: {at: 5}\ndocument:\n  ${job}\n`);
  const { out } = await millrace('put', 'nightly', whole);
  expect(out).toBe('Schedule nightly has no further runs.\n');
  expect(JSON.parse(server.received[0]?.body ?? '')).toEqual({ timing: { at: 5 }, document });
});

test('a mistake in the job is reported with its line before anything is sent', async () => {
  const whole = file('s.yaml', `timing: {at: 5}\ndocument:\n  tasks:\n    - id: a\n`);
  const refused = await millrace('create', 'nightly', whole);
  expect(refused.code).toBe(exit.wrongUse);
  expect(refused.err).toContain(`${whole}:4:7: /document/tasks/0/executor: `);
  const plain = file('job.yaml', 'tasks:\n  - id: a\n');
  const other = await millrace('create', 'nightly', plain, '--every', '1h');
  expect(other.err).toContain(`${plain}:2:5: /tasks/0/executor: `);
  expect((await millrace('create', 'nightly', file('j', job))).err).toContain('has no timing');
  expect(server.received).toEqual([]);
});

test('what the server refuses is reported with its line only if the file has it', async () => {
  const plain = file('job.yaml', job);
  const refusal = (path: string) => problem(400, { code: 'bad_input', detail: 'No.', path });
  server.script(PUT, refusal('/timing/cron'), refusal('/document/tasks/0/id'));
  const create = () => millrace('create', 'nightly', plain, '--cron', 'x');
  expect((await create()).err).toBe('millrace: /timing/cron: No.\n');
  expect((await create()).err).toBe(`millrace: ${plain}:1:14: /tasks/0/id: No.\n`);
});

test('schedules are paused, resumed, triggered and deleted', async () => {
  for (const action of ['pause', 'resume', 'trigger']) {
    server.script(`POST /api/v1/schedules/nightly/${action}`, { json: nightly });
  }
  expect((await millrace('pause', 'nightly')).out).toBe('Schedule nightly is paused.\n');
  expect((await millrace('resume', 'nightly')).out).toContain('runs next at 2026-11-16');
  expect((await millrace('trigger', 'nightly')).out).toContain('has started job j-1');
  server.script('DELETE /api/v1/schedules/nightly', { status: 204, text: '' });
  const gone = await millrace('delete', 'nightly', '--json');
  expect(JSON.parse(gone.out)).toEqual({ id: 'nightly', deleted: true });
});

test('flags say when a schedule ends, and the list shows that it has', async () => {
  server.script(PUT, { json: nightly });
  const ends = ['--max-runs', '14', '--end-at', '2027-01-31T00:00:00Z'];
  await millrace('create', 'nightly', file('job.yaml', job), '--every', '1d', ...ends);
  expect(JSON.parse(server.received[0]?.body ?? '')).toEqual({
    timing: { everyMs: 86_400_000 },
    endAt: '2027-01-31T00:00:00Z',
    maxRuns: 14,
    document,
  });
  const ended = { ...nightly, nextAt: null, upcoming: [], state: 'ended' };
  server.script('GET /api/v1/schedules', { json: { schedules: [ended], asOf } });
  expect((await millrace()).out).toMatch(/nightly .* ended /);
  const { code } = await millrace('create', 'nightly', file('job.yaml', job), '--max-runs', 'two');
  expect(code).toBe(exit.wrongUse);
});

test('a backfill says how many jobs it has started, and a trigger takes a time', async () => {
  const jobs = [
    { at: '2026-11-01T01:00:00.000Z', id: 'nightly@1.0', isNew: false },
    { at: '2026-11-02T01:00:00.000Z', id: 'nightly@2.0', isNew: true },
  ];
  const path = 'POST /api/v1/schedules/nightly';
  server.script(`${path}/backfill`, { json: { id: 'nightly', started: 1, jobs } });
  server.script(`${path}/trigger`, { json: nightly });
  const from = '2026-11-01T00:00:00Z';
  const { out } = await millrace('backfill', 'nightly', '--from', from, '--to', from);
  expect(out).toBe('Schedule nightly has started 1 job; 1 were started before.\n');
  expect((await millrace('backfill', 'nightly')).code).toBe(exit.wrongUse);
  await millrace('trigger', 'nightly', '--at', from);
  expect(server.received.map(({ body }) => JSON.parse(body) as unknown)).toEqual([
    { from, to: from },
    { at: from },
  ]);
});
