import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { asOf } from '../rig/command-line.ts';
import { eventStream, ScriptedServer, sse } from '../rig/scripted-server.ts';

const bin = new URL('../../bin/millrace.js', import.meta.url).pathname;
const page = { json: { jobs: [], cursor: null, asOf } };

let server: ScriptedServer;
const children: ChildProcessWithoutNullStreams[] = [];

beforeEach(async () => {
  server = await ScriptedServer.start();
});
afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  await server.close();
});

/** A process of its own, with the server in its environment. */
function millrace(...args: string[]): ChildProcessWithoutNullStreams {
  const env = { ...process.env, MILLRACE_SERVER: server.url };
  const child = spawn(process.execPath, [bin, ...args], { env, timeout: 20_000 });
  children.push(child);
  return child;
}

test('submit - reads the document from stdin', async () => {
  server.script('POST /api/v1/jobs', { status: 201, json: { id: 'j-1', state: 'queued' } });
  const child = millrace('submit', '-');
  const ended = once(child, 'exit');
  child.stdin.end('tasks: [{id: a, executor: echo}]');
  expect(await text(child.stdout)).toBe('j-1\n');
  expect(await ended).toEqual([0, null]);
  expect(JSON.parse(server.received[0]?.body ?? '')).toEqual({
    tasks: [{ id: 'a', executor: 'echo' }],
  });
});

test.each([
  ['SIGINT', ['events', '--follow']],
  ['SIGTERM', ['events', '--follow', '--json']],
] as const)('%s ends %j with 130', async (signal, args) => {
  server
    .script('GET /api/v1/jobs', page)
    .script('GET /api/v1/events', eventStream(sse(10, 'created')));
  const child = millrace(...args);
  const ended = once(child, 'exit');
  child.stdout.once('data', () => child.kill(signal));
  expect(await ended).toEqual([130, null]);
  expect(await text(child.stderr)).toBe('');
});

test('Ctrl-C ends a command that waits for its stdin', async () => {
  const child = millrace('submit', '-');
  const ended = once(child, 'exit');
  const complaint = text(child.stderr);
  // It has begun to read when it takes more than a pipe holds.
  const wrote = new Promise((resolve) => {
    child.stdin.write('#'.repeat(1_000_000), resolve);
  });
  await wrote;
  child.kill('SIGINT');
  expect(await ended).toEqual([130, null]);
  expect(await complaint).not.toContain('    at ');
});

test('a closed pipe ends events without an error', async () => {
  server.script('GET /api/v1/jobs', page);
  const many = Array.from({ length: 2_000 }, (_, at) => sse(10 + at, 'created'));
  server.script('GET /api/v1/events', eventStream(...many));
  const child = millrace('events', '--follow');
  const ended = once(child, 'exit');
  child.stdout.once('data', () => child.stdout.destroy());
  expect(await ended).toEqual([0, null]);
});
