import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { asOf, over, runAgainst, shape } from '../../../test/fixture/command-line.ts';
import {
  eventStream,
  problem,
  ScriptedServer,
  sse,
} from '../../../test/fixture/scripted-server.ts';
import { exit } from '../exit.ts';

const JOB = 'GET /api/v1/jobs/j-1';
const SUBMIT = 'POST /api/v1/jobs';
const accepted = { status: 201, json: { id: 'j-1', state: 'queued' } };

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
  ['job.json', '{"tasks": [{"id": "a"}]}'],
  ['job.yaml', 'tasks:\n  - id: a\n'],
  ['job', '# YAML, whatever its name\ntasks: [{id: a}]'],
])('%s is sent, and the id is all that is printed', async (name, text) => {
  server.script(SUBMIT, accepted);
  const { code, out, err } = await millrace(['submit', file(name, text)]);
  expect({ code, out, err }).toEqual({ code: exit.done, out: 'j-1\n', err: '' });
  expect(JSON.parse(server.received[0]?.body ?? '')).toEqual({ tasks: [{ id: 'a' }] });
});

test('--json answers for machines', async () => {
  server.script(SUBMIT, accepted);
  const { out, err } = await millrace(['submit', file('x', 'tasks: []'), '--json']);
  expect(JSON.parse(out)).toEqual({ id: 'j-1', state: 'queued' });
  expect(err).toBe('j-1\n');
});

test.each([
  ['succeeded', exit.done],
  ['failed', exit.workFailed],
  ['cancelled', exit.workFailed],
])('--wait follows to the end; %s ends with %i', async (state, code) => {
  const ended = { ...over, state, asOf: { ...asOf, seq: 10 } };
  server.script(SUBMIT, accepted).script(JOB, { json: shape }, { json: ended });
  const events = [sse(9, 'started', { job: 'j-1' }), sse(10, `job.${state}`, { job: 'j-1' })];
  server.script('GET /api/v1/events', eventStream(...events));
  const submitted = await millrace(['submit', file('x', 'tasks: []'), '--wait']);
  expect(submitted.code).toBe(code);
  expect(submitted.out).toContain(`Job j-1 ${state} after 2m, 1 task.`);
  // Everything up to 9 was in the job already.
  expect(submitted.out).not.toContain('started');
});

test('--wait --json ends with the job, and progress goes to people', async () => {
  server
    .script(SUBMIT, accepted)
    .script(JOB, { json: { ...shape, asOf: { ...asOf, seq: 7 } } }, { json: over });
  const started = sse(8, 'started', { job: 'j-1', task: 'sum', node: 'w-1', attempt: 2 });
  server.script(
    'GET /api/v1/events',
    eventStream(started, sse(9, 'job.succeeded', { job: 'j-1' })),
  );
  const { out, err } = await millrace(['submit', file('x', 'tasks: []'), '--wait', '--json']);
  expect(JSON.parse(out)).toEqual(over);
  expect(err).toMatch(/ 8 {2}06:00:00.000 {2}started {9}sum {2}on w-1 {2}attempt 2\n/);
});

test('a list, or several YAML documents, are answered one by one', async () => {
  const error = { code: 'bad_input', detail: 'It is empty.', path: '/tasks', status: 400 };
  server.script(SUBMIT, { status: 207, json: [accepted.json, { error }] });
  const several = file('x.yaml', 'tasks: [1]\n---\ntasks: []\n');
  const { code, out } = await millrace(['submit', several]);
  expect({ code, out }).toEqual({
    code: exit.wrongUse,
    out: 'j-1\nnumber 2: /tasks: It is empty.\n',
  });
  server.script(SUBMIT, { json: [accepted.json] }).script(JOB, { json: over });
  const waited = await millrace(['submit', file('l', '[{}]'), '--wait', '--json']);
  expect(waited.code).toBe(exit.done);
  expect(JSON.parse(waited.out)).toEqual([over]);
});

test.each([
  ['tasks: [', 'is neither JSON nor YAML'],
  ['', 'is empty'],
  ['# nothing', 'is empty'],
])('a file with %j is told in a sentence', async (text, sentence) => {
  const { code, err } = await millrace(['submit', file('x', text)]);
  expect(code).toBe(exit.wrongUse);
  expect(err).toContain(sentence);
  expect(server.received).toEqual([]);
});

test('a refused document is told with its field', async () => {
  server.script(
    SUBMIT,
    problem(400, { code: 'bad_input', detail: 'It is empty.', path: '/tasks' }),
  );
  const { code, err } = await millrace(['submit', file('x', 'tasks: []')]);
  expect({ code, err }).toEqual({ code: 2, err: 'millrace: /tasks: It is empty.\n' });
});

test('Ctrl-C while waiting leaves the job and says how to stop it', async () => {
  const interruption = new AbortController();
  server.script(SUBMIT, accepted).script(JOB, { json: shape });
  server.script('GET /api/v1/events', eventStream());
  const waiting = millrace(['submit', file('x', 'tasks: []'), '--wait'], interruption.signal);
  await server.arrival(3);
  interruption.abort();
  const { code, out, err } = await waiting;
  expect({ code, err }).toEqual({ code: exit.interrupted, err: '' });
  expect(out).toContain('millrace cancel j-1');
});
