import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { asOf, over, runAgainst, shape } from '../../../test/rig/command-line.ts';
import { eventStream, problem, ScriptedServer, sse } from '../../../test/rig/scripted-server.ts';
import { exit } from '../exit.ts';

const JOB = 'GET /api/v1/jobs/j-1';
const SUBMIT = 'POST /api/v1/jobs';
const HEAD = 'GET /api/v1/jobs';
const accepted = { status: 201, json: { id: 'j-1', state: 'queued' } };
const small = 'tasks: [{id: a, executor: echo}]';
/** The log ends at `seq` when the job is submitted. */
const head = (seq: number) => ({ json: { jobs: [], cursor: null, asOf: { ...asOf, seq } } });

let server: ScriptedServer;
let folder: string;

beforeEach(async () => {
  server = await ScriptedServer.start();
  folder = mkdtempSync(join(tmpdir(), 'millrace-commands-'));
});
afterEach(async () => {
  await server.close();
  rmSync(folder, { recursive: true, force: true });
});

const millrace = (args: readonly string[], signal?: AbortSignal) =>
  runAgainst(server, args, signal);

function file(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

test.each([
  ['job.json', '{"tasks": [{"id": "a", "executor": "echo"}]}'],
  ['job.yaml', 'tasks:\n  - id: a\n    executor: echo\n'],
  ['job', '# YAML, whatever its name\ntasks: [{id: a, executor: echo}]'],
])('%s is sent, and the id is all that is printed', async (name, text) => {
  server.script(SUBMIT, accepted);
  const { code, out, err } = await millrace(['submit', file(name, text)]);
  expect({ code, out, err }).toEqual({ code: exit.done, out: 'j-1\n', err: '' });
  expect(JSON.parse(server.received[0]?.body ?? '')).toEqual({
    tasks: [{ id: 'a', executor: 'echo' }],
  });
});

test('--json answers for machines', async () => {
  server.script(SUBMIT, accepted);
  const { out, err } = await millrace(['submit', file('x', small), '--json']);
  expect(JSON.parse(out)).toMatchObject({ id: 'j-1', state: 'queued' });
  expect(err).toBe('j-1\n');
});

test.each([
  ['succeeded', exit.done],
  ['failed', exit.workFailed],
  ['cancelled', exit.workFailed],
])('--wait follows to the end; %s ends with %i', async (state, code) => {
  const ended = { ...over, state, asOf: { ...asOf, seq: 10 } };
  server.script(HEAD, head(8));
  server.script(SUBMIT, accepted).script(JOB, { json: shape }, { json: ended });
  const events = [sse(9, 'started', { job: 'j-1' }), sse(10, `job.${state}`, { job: 'j-1' })];
  server.script('GET /api/v1/events', eventStream(...events));
  const submitted = await millrace(['submit', file('x', small), '--wait']);
  expect(submitted.code).toBe(code);
  expect(submitted.out).toContain(`Job j-1 ${state} after 2m, 1 task.`);
  // From where the log ended before the job was there: nothing of it is missed.
  expect(submitted.out).toContain('started');
  expect(server.received.find(({ path }) => path.endsWith('/events'))?.query).toEqual({
    job: 'j-1',
    after: '8',
  });
});

test('--wait shows the result of a job that succeeded, and why one that failed did', async () => {
  server.script(HEAD, head(9)).script(SUBMIT, accepted);
  server.script(JOB, { json: { ...over, result: { sum: 4 } } });
  const good = await millrace(['submit', file('x', small), '--wait']);
  expect(good.out).toContain('{\n  "sum": 4\n}\n');
  const error = { code: 'http_404', message: 'There is no such page.' };
  const tasks = [{ ...over.tasks[0], state: 'failed', error }];
  server.script(JOB, { json: { ...over, state: 'failed', tasks } });
  const bad = await millrace(['submit', file('x', small), '--wait']);
  expect(bad.out).toContain('  fetch  http_404: There is no such page.\n');
});

test('--wait --json ends with the job, and progress goes to people', async () => {
  server
    .script(HEAD, head(7))
    .script(SUBMIT, accepted)
    .script(JOB, { json: { ...shape, asOf: { ...asOf, seq: 7 } } }, { json: over });
  const started = sse(8, 'started', { job: 'j-1', task: 'sum', node: 'w-1', attempt: 2 });
  server.script(
    'GET /api/v1/events',
    eventStream(started, sse(9, 'job.succeeded', { job: 'j-1' })),
  );
  const { out, err } = await millrace(['submit', file('x', small), '--wait', '--json']);
  expect(JSON.parse(out)).toEqual(over);
  expect(err).toMatch(/ 8 {2}06:00:00.000 {2}started {9}sum {2}on w-1 {2}attempt 2\n/);
});

test('a list, or several YAML documents, are answered one by one', async () => {
  const error = { code: 'conflict', detail: 'Its key is taken.', status: 409 };
  server.script(SUBMIT, { status: 207, json: [accepted.json, { error }] });
  const several = file('x.yaml', `${small}\n---\n${small}\n`);
  const { code, out } = await millrace(['submit', several]);
  expect({ code, out }).toEqual({
    code: exit.workFailed,
    out: 'j-1\nnumber 2: Its key is taken.\n',
  });
  server.script(SUBMIT, { json: [accepted.json] }).script(JOB, { json: over });
  const list = file('l', '[{"tasks": [{"id": "a", "executor": "echo"}]}]');
  const waited = await millrace(['submit', list, '--wait', '--json']);
  expect(waited.code).toBe(exit.done);
  expect(JSON.parse(waited.out)).toEqual([over]);
});

test.each([
  ['x.yaml', `${small}\n---\ntasks: []\n`, 'x.yaml:3:1: /tasks: The list is empty.'],
  [
    'x.json',
    '[{"tasks": [{"id": "a", "executor": "echo"}]},\n {"tasks": [{"id": "a"}]}]',
    "x.json:2:13: /1/tasks/0/executor: The field 'executor' is missing.",
  ],
])('one mistake in %s, and none of its jobs is sent', async (name, text, sentence) => {
  const { code, err } = await millrace(['submit', file(name, text)]);
  expect(code).toBe(exit.wrongUse);
  expect(err).toContain(sentence);
  expect(server.received).toEqual([]);
});

test('a flow in a module is submitted with its input', async () => {
  const module = file(
    'flow.mjs',
    `const toDocument = (input) => ({ name: 'order', tasks: [{ id: 'a', executor: 'echo', input }] });
     export default { kind: 'millrace.flow', name: 'order', tasks: [], toDocument };`,
  );
  server.script(SUBMIT, accepted);
  const { code } = await millrace(['submit', module, '--input', '{"cents": 7}']);
  expect(code).toBe(exit.done);
  expect(JSON.parse(server.received[0]?.body ?? '')).toEqual({
    name: 'order',
    tasks: [{ id: 'a', executor: 'echo', input: { cents: 7 } }],
  });
});

test.each([
  ['tasks: [', 'is neither JSON nor YAML'],
  ['', 'is empty'],
  ['# nothing', 'is empty'],
])('a file with %j is refused in a sentence', async (text, sentence) => {
  const { code, err } = await millrace(['submit', file('x', text)]);
  expect(code).toBe(exit.wrongUse);
  expect(err).toContain(sentence);
  expect(server.received).toEqual([]);
});

test('what only the server finds is reported with its place in the file as well', async () => {
  const path = '/tasks/0/input';
  server.script(SUBMIT, problem(413, { code: 'too_large', detail: 'It is too large.', path }));
  const document = file('x', 'tasks:\n  - id: a\n    executor: echo\n    input: 7\n');
  const { code, err } = await millrace(['submit', document]);
  expect({ code, err }).toEqual({
    code: 2,
    err: `millrace: ${document}:4:12: /tasks/0/input: It is too large.\n`,
  });
});

test('Ctrl-C while waiting leaves the job and says how to stop it', async () => {
  const interruption = new AbortController();
  server.script(HEAD, head(9)).script(SUBMIT, accepted).script(JOB, { json: shape });
  server.script('GET /api/v1/events', eventStream());
  const waiting = millrace(['submit', file('x', small), '--wait'], interruption.signal);
  await server.arrival(4);
  interruption.abort();
  const { code, out, err } = await waiting;
  expect({ code, err }).toEqual({ code: exit.interrupted, err: '' });
  expect(out).toContain('millrace cancel j-1');
});

test('flags say how a job is debounced, batched, shared and reported', async () => {
  server.script(SUBMIT, accepted, accepted);
  const given = file('x', small);
  await millrace([
    ...['submit', given, '--debounce', 'docs = a=30s,5m', '--fairness-key', 'acme'],
    ...['--job-id', 'order-7'],
    ...['--webhook', 'https://a.example/', '--webhook', 'https://b.example/'],
  ]);
  expect(JSON.parse(server.received[0]?.body ?? '')).toMatchObject({
    debounce: { key: 'docs = a', ms: 30_000, maxMs: 300_000 },
    fairnessKey: 'acme',
    webhooks: [{ url: 'https://a.example/' }, { url: 'https://b.example/' }],
  });
  expect(server.received[0]?.headers['millrace-job-id']).toBe('order-7');
  const listed = file('list', 'tasks: [{id: a, executor: echo, input: [1]}]');
  await millrace(['submit', listed, '--batch', 'mail=100,500ms']);
  expect(JSON.parse(server.received[1]?.body ?? '')).toMatchObject({
    batch: { key: 'mail', max: 100, ms: 500 },
  });
});

test('flags make a job a singleton', async () => {
  server.script(SUBMIT, accepted, accepted);
  const given = file('x', small);
  await millrace(['submit', given, '--singleton', 'import']);
  await millrace(['submit', given, '--singleton', 'import', '--when-busy', 'replace']);
  expect(server.received.map(({ body }) => (JSON.parse(body) as Draft).singleton)).toEqual([
    { key: 'import' },
    { key: 'import', whenBusy: 'replace' },
  ]);
  const { code, err } = await millrace(['submit', given, '--when-busy', 'replace']);
  expect([code, err]).toEqual([exit.wrongUse, expect.stringContaining('--when-busy is for')]);
});

interface Draft {
  readonly singleton?: unknown;
}

test.each([
  ['fork', ['j-0', '--from', 'a'], 'POST /api/v1/jobs/j-0/fork'],
  ['rerun', ['j-1'], 'POST /api/v1/jobs/j-1/rerun'],
  ['redrive', ['j-1', 'sum'], 'POST /api/v1/jobs/j-1/tasks/sum/redrive'],
])('%s --follow follows the job to its end', async (name, args, route) => {
  server.script(HEAD, head(8)).script(route, { json: { ...shape, state: 'running' } });
  const failed = { ...over, state: 'failed', asOf: { ...asOf, seq: 10 } };
  const looks = name === 'fork' ? [] : [{ json: shape }];
  server.script(JOB, { json: shape }, ...looks, { json: failed });
  const ended = sse(10, 'job.failed', { job: 'j-1' });
  server.script('GET /api/v1/events', eventStream(ended));
  const { code, out } = await millrace([name, ...args, '--follow']);
  expect([code, out]).toEqual([exit.workFailed, expect.stringContaining('Job j-1 failed')]);
});
