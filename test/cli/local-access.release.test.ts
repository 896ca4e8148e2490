import { spawn } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test, vi } from 'vitest';
import { freePort } from '../rig/cluster/free-port.ts';
import { TestProcess } from '../rig/cluster/process.ts';

const SOMEBODY_ELSE = 65_534;
const isRoot = process.geteuid?.() === 0;

async function startServer(...flags: readonly string[]) {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-local-access-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const [port, grpcPort] = [await freePort(), await freePort()];
  const server = TestProcess.start(
    [
      ...['up', '--port', `${port}`, '--grpc-port', `${grpcPort}`, '--slots', '1'],
      ...['--data', join(folder, 'data'), ...flags],
    ],
    { folder, environment: { XDG_RUNTIME_DIR: folder } },
  );
  await server.line(/^millrace ready/);
  const token = (): string => readFileSync(join(folder, 'millrace', `${port}.token`), 'utf8');
  return { url: `http://127.0.0.1:${port}`, grpc: `127.0.0.1:${grpcPort}`, port, folder, token };
}

/** Runs a script as another user of this machine; answers what it prints. */
async function asSomebodyElse(script: string): Promise<string> {
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    ...{ uid: SOMEBODY_ELSE, gid: SOMEBODY_ELSE, cwd: '/' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  return (await text(child.stdout)).trim();
}

const JOB = { tasks: [{ id: 'a', executor: 'echo', input: 1 }] };
const headers = { 'content-type': 'application/json' };

test('the user who started a server on loopback needs no token, for jobs and any file that he names', async () => {
  const { url, folder } = await startServer();
  const outside = mkdtempSync(join(tmpdir(), 'millrace-outside-'));
  onTestFinished(() => rmSync(outside, { recursive: true, force: true }));
  const path = join(outside, 'a.csv');
  writeFileSync(path, 'x\n1\n');
  expect(path.startsWith(folder)).toBe(false);
  const post = (to: string, body: unknown) =>
    fetch(`${url}${to}`, { method: 'POST', headers, body: JSON.stringify(body) });
  expect((await post('/api/v1/jobs', JOB)).status).toBe(201);
  const query = { sql: 'select x from t', tables: { t: path } };
  expect((await post('/api/v1/queries', query)).status).toBe(201);
});

test.runIf(isRoot)('another user of the machine is refused over HTTP and gRPC', async () => {
  const { url, grpc, port, token } = await startServer();
  const said = await asSomebodyElse(`
    const answer = await fetch('${url}/api/v1/jobs', {
      method: 'POST', headers: ${JSON.stringify(headers)}, body: '${JSON.stringify(JOB)}',
    });
    const { code, detail } = await answer.json();
    console.log(answer.status, code, detail);
    console.log((await fetch('${url}/healthz')).status);`);
  expect(said).toContain('401 unauthenticated');
  expect(said).toContain(`user ${SOMEBODY_ELSE}`);
  expect(said.endsWith('200')).toBe(true);
  const library = import.meta.resolve('@grpc/grpc-js');
  const called = await asSomebodyElse(`
    import { Client, credentials } from '${library}';
    const client = new Client('${grpc}', credentials.createInsecure());
    const bytes = (value) => value;
    client.makeUnaryRequest('/millrace.v1.ControlPlane/ListJobs', bytes, bytes, Buffer.alloc(0), (error) => {
      console.log(error?.code ?? 'served');
      client.close();
    });`);
  expect(called).toBe('16');
  // A socket that its process has closed belongs to nobody, and to the kernel that looks like root.
  await asSomebodyElse(`
    import { connect } from 'node:net';
    const body = '${JSON.stringify(JOB)}';
    for (let n = 0; n < 30; n += 1) {
      await new Promise((resolve) => {
        const socket = connect(${port}, '127.0.0.1', () => {
          socket.write('POST /api/v1/jobs HTTP/1.1\\r\\nHost: 127.0.0.1\\r\\nContent-Type: application/json\\r\\nContent-Length: ' + body.length + '\\r\\n\\r\\n' + body);
          socket.destroySoon();
          socket.on('close', resolve);
        });
      });
    }`);
  const jobs: unknown = await (await fetch(`${url}/api/v1/jobs`)).json();
  expect(jobs).toMatchObject({ jobs: [] });
  const shown = await asSomebodyElse(`
    const authorization = 'Bearer ${token()}';
    console.log((await fetch('${url}/api/v1/jobs', { headers: { authorization } })).status);`);
  expect(shown).toBe('200');
});

test('with tokens on loopback a query reads the working folder and what the catalog names, and no more', async () => {
  const outside = mkdtempSync(join(tmpdir(), 'millrace-outside-'));
  onTestFinished(() => rmSync(outside, { recursive: true, force: true }));
  writeFileSync(join(outside, 'a.csv'), 'x\n1\n');
  writeFileSync(
    join(outside, 'tokens'),
    'submit submit-0123456789abcdef\nworker worker-0123456789abcdef',
    { mode: 0o600 },
  );
  const catalog = join(outside, 'catalog.json');
  writeFileSync(catalog, JSON.stringify({ tables: { known: join(outside, 'a.csv') } }));
  const flags = ['--token-file', join(outside, 'tokens'), '--catalog', catalog, '--slots', '0'];
  const { url, folder } = await startServer(...flags);
  writeFileSync(join(folder, 'b.csv'), 'x\n2\n');
  const ask = async (sql: string, tables: object) => {
    const response = await fetch(`${url}/api/v1/queries`, {
      method: 'POST',
      headers: { ...headers, authorization: 'Bearer submit-0123456789abcdef' },
      body: JSON.stringify({ sql, tables }),
    });
    const { code = 'accepted' } = (await response.json()) as { readonly code?: string };
    return code;
  };
  expect(await ask('select * from t', { t: join(folder, 'b.csv') })).toBe('accepted');
  expect(await ask('select * from t', { t: 'b.csv' })).toBe('accepted');
  expect(await ask('select * from known', {})).toBe('accepted');
  expect(await ask('select * from t', { t: join(outside, 'a.csv') })).toBe('path_refused');
  expect(await ask('select * from t', { t: '/etc/passwd' })).toBe('path_refused');
});

test('the data of a node is private to its user, also where it was not before', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-modes-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const data = join(folder, '.millrace');
  mkdirSync(data, { mode: 0o755 });
  const module = join(folder, 'write.mjs');
  const written = join(folder, 'by-handler');
  writeFileSync(
    module,
    `import { writeFileSync } from 'node:fs';
     import { defineTask } from '${new URL('../../dist/client/millrace.js', import.meta.url).href}';
     export const write = defineTask({ name: 'write', run: (input) => writeFileSync(input, 'x') });`,
  );
  const csv = join(folder, 'a.csv');
  writeFileSync(csv, 'x\n1\n2\n');
  const port = await freePort();
  const before = process.umask(0o022);
  const server = TestProcess.start(
    ['up', '--port', `${port}`, '--grpc-port', '0', '--module', module, '--slots', '1'],
    { folder, environment: { XDG_RUNTIME_DIR: folder } },
  );
  process.umask(before);
  await server.line(/^millrace ready/);
  const url = `http://127.0.0.1:${port}/api/v1`;
  const post = async (path: string, body: unknown): Promise<unknown> => {
    const sent = { method: 'POST', headers, body: JSON.stringify(body) };
    return (await fetch(`${url}${path}`, sent)).json();
  };
  const succeeded = async (path: string, body: unknown): Promise<void> => {
    const { id } = (await post(path, body)) as { readonly id: string };
    const isDone = async (): Promise<boolean> =>
      ((await (await fetch(`${url}${path}/${id}`)).json()) as { state: string }).state ===
      'succeeded';
    await vi.waitUntil(isDone, { timeout: 20_000 });
  };
  await succeeded('/queries', { sql: 'select x from t', tables: { t: csv } });
  await succeeded('/jobs', { tasks: [{ id: 'a', executor: 'write', input: written }] });
  const kept = [
    data,
    ...readdirSync(data, { recursive: true, encoding: 'utf8' }).map((name) => join(data, name)),
  ];
  expect(kept.length).toBeGreaterThan(2);
  const open = kept.filter((path) => (statSync(path).mode & 0o077) !== 0);
  expect(open).toEqual([]);
  // What handlers write is theirs.
  expect(statSync(written).mode & 0o777).toBe(0o644);
  expect(await server.stop()).toMatchObject({ code: 0 });
});
