import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, onTestFinished, test, vi } from 'vitest';
import { ScriptedServer } from '../../test/rig/scripted-server.ts';
import { connect } from './connect.ts';

afterEach(() => vi.unstubAllEnvs());

test('without an address, server and token are those of the environment', async () => {
  await using server = await scripted();
  vi.stubEnv('MILLRACE_SERVER', server.url.replace('http://', ''));
  vi.stubEnv('MILLRACE_TOKEN', 'secret-of-the-environment');
  await using client = connect();
  expect(await client.flows()).toEqual([]);
  expect(server.received[0]?.headers.authorization).toBe('Bearer secret-of-the-environment');
});

test('of a file of tokens, one that may submit is taken', async () => {
  await using server = await scripted();
  const folder = mkdtempSync(join(tmpdir(), 'millrace-connect-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'tokens');
  writeFileSync(file, 'worker wwwwwwwwwwwwwwwwwwwwwwww\nsubmit ssssssssssssssssssssssss\n', {
    mode: 0o600,
  });
  vi.stubEnv('MILLRACE_SERVER', server.url);
  vi.stubEnv('MILLRACE_TOKEN_FILE', file);
  await using client = connect();
  await client.flows();
  expect(server.received[0]?.headers.authorization).toBe('Bearer ssssssssssssssssssssssss');
});

test('the token of the environment is not shown to a server that the program names', async () => {
  await using server = await scripted();
  vi.stubEnv('MILLRACE_TOKEN', 'secret-of-the-environment');
  await using client = connect(server.url);
  expect(await client.flows()).toEqual([]);
  expect(server.received[0]?.headers.authorization).toBeUndefined();
});

async function scripted() {
  const server = await ScriptedServer.start();
  server.script('GET /api/v1/flows', { json: { flows: [] } });
  return Object.assign(server, { [Symbol.asyncDispose]: () => server.close() });
}
