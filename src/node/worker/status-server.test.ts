import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { accessWith, openAccess, tokenAccess } from '../../edge/security/index.ts';
import { startStatusServer } from './status-server.ts';
import type { StatusServerOptions } from './status-server.ts';

async function open(given: Partial<StatusServerOptions> = {}): Promise<string> {
  const server = await startStatusServer({
    host: '127.0.0.1',
    port: 0,
    tls: undefined,
    access: openAccess,
    isRegistered: () => true,
    metrics: () => 'one 1\n',
    ...given,
  });
  onTestFinished(() => server.close());
  return `http://127.0.0.1:${server.port}`;
}

test('a worker without a session is alive and not ready', async () => {
  let isRegistered = false;
  const url = await open({ isRegistered: () => isRegistered });
  expect((await fetch(`${url}/healthz`)).status).toBe(200);
  expect((await fetch(`${url}/readyz`)).status).toBe(503);
  isRegistered = true;
  expect((await fetch(`${url}/readyz`)).status).toBe(200);
});

test('metrics need the token that the worker was given, health checks do not', async () => {
  const url = await open({ access: accessWith('right') });
  const ask = async (token: string): Promise<number> =>
    (await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${token}` } })).status;
  expect((await fetch(`${url}/metrics`)).status).toBe(401);
  expect(await ask('wrong')).toBe(401);
  expect(await ask('right')).toBe(200);
  expect((await fetch(`${url}/healthz`)).status).toBe(200);
});

test('metrics need the role read, which a worker token does not have', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tokens-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'tokens');
  writeFileSync(path, 'worker a-token-of-a-worker w\n', { mode: 0o600 });
  const url = await open({ access: tokenAccess({ path, warn: () => {} }) });
  const headers = { authorization: 'Bearer a-token-of-a-worker' };
  expect((await fetch(`${url}/metrics`, { headers })).status).toBe(403);
});

test('a page of another site cannot read the metrics, nor write anything', async () => {
  const url = await open();
  const headers = { origin: 'https://evil.example' };
  expect((await fetch(`${url}/metrics`, { headers })).status).toBe(403);
  expect((await fetch(`${url}/metrics`, { method: 'POST', body: 'x' })).status).toBe(405);
  expect((await fetch(`${url}/other`)).status).toBe(404);
});
