import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, credentials, Metadata, status } from '@grpc/grpc-js';
import type { MethodDefinition, ServiceError } from '@grpc/grpc-js';
import { expect, onTestFinished, test } from 'vitest';
import { ControlPlaneService } from '../../src/edge/grpc/gen/millrace/v1/control_plane.ts';
import { freePort } from '../rig/cluster/free-port.ts';
import { TestProcess } from '../rig/cluster/process.ts';
import { freshDatabase } from '../rig/postgres.ts';
import { makeAuthority, makeCertificate, writePair } from '../rig/certificates.ts';
import { complaint, millrace, until } from './scene.ts';
import type { Said } from './scene.ts';

const TOKENS = {
  admin: 'admin-secret-0123456789',
  submit: 'submit-secret-0123456789',
  read: 'read-secret-0123456789',
  worker: 'worker-secret-0123456789',
} as const;
type Role = keyof typeof TOKENS;

/** All that any process of a test has said, to be searched for secrets. */
class Ear {
  readonly #processes: TestProcess[] = [];
  readonly #said: Said[] = [];

  start(args: readonly string[], environment: Record<string, string> = {}): TestProcess {
    const started = TestProcess.start(args, { environment });
    this.#processes.push(started);
    return started;
  }

  async run(args: readonly string[], environment: Record<string, string> = {}): Promise<Said> {
    const said = await millrace(args, environment);
    this.#said.push(said);
    return said;
  }

  /** Nobody may have said one of these. */
  expectSilenceOn(...secrets: readonly string[]): void {
    const texts = [
      ...this.#processes.map(({ output }) => output.text()),
      ...this.#said.flatMap(({ out, err }) => [out, err]),
    ];
    for (const text of texts) for (const secret of secrets) expect(text).not.toContain(secret);
  }
}

async function surroundings(): Promise<{ folder: string; database: string; ear: Ear }> {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-security-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const database = await freshDatabase();
  onTestFinished(() => database.drop());
  return { folder, database: database.url, ear: new Ear() };
}

function tokenFile(folder: string): string {
  const file = join(folder, 'tokens');
  const lines = Object.entries(TOKENS).map(([role, token]) => `${role} ${token}`);
  writeFileSync(file, lines.join('\n'), { mode: 0o600 });
  return file;
}

const ANYWHERE = ['--host', '0.0.0.0', '--port', '0', '--grpc-port', '0', '--slots', '0'];

test('nobody listens to strangers without TLS and tokens, unless told to', async () => {
  const { folder, database, ear } = await surroundings();
  const serve = ['serve', '--database', database, ...ANYWHERE];
  const up = ['up', '--data', join(folder, 'data'), ...ANYWHERE];
  const worker = ['worker', '--server', '127.0.0.1:1', '--listen', '0.0.0.0:0'];
  for (const args of [serve, up, worker]) {
    const refused = await ear.run(args);
    expect(refused).toMatchObject({ code: 2, out: '' });
    for (const flag of ['--tls-cert', '--tls-key', '--token-file', '--insecure'])
      expect(refused.err).toContain(flag);
  }
  const half = await ear.run([...serve, '--token-file', tokenFile(folder)]);
  expect(half.code).toBe(2);
  expect(half.err).toMatch(/TLS \(--tls-cert and --tls-key\) is missing/);
  for (const args of [serve, up]) {
    const open = ear.start([...args, '--insecure']);
    await open.line(/^millrace ready http:/);
    await complaint(open, /Anybody who reaches 0\.0\.0\.0 may do everything/);
    expect(await open.stop()).toEqual({ code: 0, signal: null });
  }
});

/** The status of one call, as it is on the wire. */
async function grpcStatus<Q, A>(
  address: string,
  method: MethodDefinition<Q, A>,
  request: Q,
  token: string | null,
): Promise<status> {
  const client = new Client(address, credentials.createInsecure());
  const metadata = new Metadata();
  if (token !== null) metadata.set('authorization', `Bearer ${token}`);
  const { path, requestSerialize, responseDeserialize } = method;
  const answered = await new Promise<ServiceError | null>((resolve) => {
    client.makeUnaryRequest(
      path,
      requestSerialize,
      responseDeserialize,
      request,
      metadata,
      resolve,
    );
  });
  client.close();
  return answered?.code ?? status.OK;
}

test('tokens decide who may do what, by HTTP and by gRPC', async () => {
  const { folder, database, ear } = await surroundings();
  const [port, grpcPort] = [await freePort(), await freePort()];
  const file = tokenFile(folder);
  const addresses = ['--port', `${port}`, '--grpc-port', `${grpcPort}`, '--slots', '0'];
  const node = ear.start(['serve', '--database', database, '--token-file', file, ...addresses]);
  await node.line(/^millrace ready/);
  const url = `http://127.0.0.1:${port}`;
  const grpc = `127.0.0.1:${grpcPort}`;
  const body = JSON.stringify({ tasks: [{ id: 'a', executor: 'echo', input: 1 }] });
  const ask = async (method: string, path: string, token: string | null): Promise<number> => {
    const authorization = token === null ? {} : { authorization: `Bearer ${token}` };
    const headers = { ...authorization, 'content-type': 'application/json' };
    const sent = path === '/api/v1/jobs' && method === 'POST' ? { body } : {};
    const answer = await fetch(new URL(path, url), { method, headers, ...sent });
    await answer.arrayBuffer();
    return answer.status;
  };
  const table: readonly [string, string, Partial<Record<Role, number>>][] = [
    ['GET', '/api/v1/jobs', { admin: 200, submit: 200, read: 200, worker: 403 }],
    ['POST', '/api/v1/jobs', { admin: 201, submit: 201, read: 403, worker: 403 }],
    ['POST', '/api/v1/jobs/nothing/cancel', { admin: 404, submit: 404, read: 403, worker: 403 }],
    ['POST', '/api/v1/nodes/nobody/drain', { admin: 404, submit: 403, read: 403, worker: 403 }],
    ['GET', '/api/v1/events?after=x', { admin: 400, read: 400, worker: 403 }],
    ['GET', '/metrics', { admin: 200, read: 200, worker: 403 }],
  ];
  for (const [method, path, expected] of table) {
    expect(await ask(method, path, null), `${method} ${path}`).toBe(401);
    expect(await ask(method, path, 'a-wrong-token-0123456789'), `wrong, ${path}`).toBe(401);
    for (const [role, code] of Object.entries(expected))
      expect(await ask(method, path, TOKENS[role as Role]), `${path} as ${role}`).toBe(code);
  }
  expect(await ask('GET', '/healthz', null)).toBe(200);

  const { submitJob, cancelJob, getLeader, deregisterWorker } = ControlPlaneService;
  const job = { jobId: 'nothing', reason: '' };
  const { UNAUTHENTICATED, PERMISSION_DENIED } = status;
  expect(await grpcStatus(grpc, submitJob, { jobs: [] }, null)).toBe(UNAUTHENTICATED);
  expect(await grpcStatus(grpc, submitJob, { jobs: [] }, 'wrong')).toBe(UNAUTHENTICATED);
  expect(await grpcStatus(grpc, submitJob, { jobs: [] }, TOKENS.worker)).toBe(PERMISSION_DENIED);
  expect(await grpcStatus(grpc, cancelJob, job, TOKENS.read)).toBe(PERMISSION_DENIED);
  expect(await grpcStatus(grpc, cancelJob, job, TOKENS.submit)).toBe(status.NOT_FOUND);
  expect(await grpcStatus(grpc, getLeader, {}, TOKENS.read)).toBe(status.OK);
  const session = { workerId: 'w', sessionId: 's' };
  expect(await grpcStatus(grpc, deregisterWorker, session, TOKENS.submit)).toBe(PERMISSION_DENIED);

  const work = ['worker', '--server', grpc, '--node-id', 'w-1'];
  const stranger = ear.start(work);
  expect(await stranger.exited).toMatchObject({ code: 2 });
  await complaint(stranger, /needs a token/);
  const wrong = ear.start(work, { MILLRACE_TOKEN: TOKENS.read });
  expect(await wrong.exited).toMatchObject({ code: 2 });
  const worker = ear.start(work, { MILLRACE_TOKEN: TOKENS.worker });
  await worker.line(/^millrace worker ready w-1$/);
  const jobs = ['jobs', '--server', url];
  expect(await ear.run(jobs)).toMatchObject({ code: 2, out: '' });
  const isDone = async (): Promise<boolean> =>
    (await ear.run([...jobs, '--token-file', file])).out.includes('succeeded');
  await until(isDone, 'the jobs to be done');
  for (const each of [worker, node]) expect(await each.stop()).toMatchObject({ code: 0 });
  ear.expectSilenceOn(...Object.values(TOKENS));
});

test('a worker needs a certificate of the authority and a token', async () => {
  const { folder, database, ear } = await surroundings();
  const authority = await makeAuthority();
  const ca = join(folder, 'ca.pem');
  writeFileSync(ca, authority.cert);
  const pairOf = async (name: string): Promise<string[]> => {
    const { tlsCert, tlsKey } = writePair(folder, name, await makeCertificate(authority, name));
    return ['--tls-cert', tlsCert, '--tls-key', tlsKey, '--tls-ca', ca];
  };
  const file = tokenFile(folder);
  const grpcPort = await freePort();
  const port = await freePort();
  const node = ear.start([
    ...['serve', '--database', database, '--port', `${port}`, '--grpc-port', `${grpcPort}`],
    // Its own worker, too, has to show who it is.
    ...['--node-id', 'n-1', '--slots', '1', '--token-file', file, ...(await pairOf('node'))],
  ]);
  await node.line(/^millrace ready https:\/\/127\.0\.0\.1:\d+$/);
  const work = ['worker', '--server', `127.0.0.1:${grpcPort}`];
  const worker = ear.start([...work, '--node-id', 'w-1', ...(await pairOf('worker'))], {
    MILLRACE_TOKEN: TOKENS.worker,
  });
  await worker.line(/^millrace worker ready w-1$/);
  // The authority signs for more than this cluster: its certificate alone makes nobody a worker.
  const tokenless = ear.start([...work, '--node-id', 'w-4', ...(await pairOf('tokenless'))]);
  expect(await tokenless.exited).toMatchObject({ code: 2 });
  await complaint(tokenless, /needs a token/);
  const bare = ear.start([...work, '--node-id', 'w-2', '--tls-ca', ca], {
    MILLRACE_TOKEN: TOKENS.worker,
  });
  await complaint(bare, /No leader took the registration yet|needs --tls-cert/);
  const stranger = await makeCertificate(await makeAuthority('somebody else'), 'stranger');
  const { tlsCert, tlsKey } = writePair(folder, 'stranger', stranger);
  const foreign = ear.start([
    ...[...work, '--node-id', 'w-3'],
    ...['--tls-cert', tlsCert, '--tls-key', tlsKey, '--tls-ca', ca],
  ]);
  await complaint(foreign, /No leader took the registration yet/);
  const server = ['--server', `https://127.0.0.1:${port}`, '--tls-ca', ca, '--token-file', file];
  const document = join(folder, 'job.json');
  const placement = { allowedNodes: ['w-1'] };
  writeFileSync(
    document,
    JSON.stringify({ tasks: [{ id: 'a', executor: 'echo', input: 'by TLS', placement }] }),
  );
  const submitted = await ear.run(['submit', document, ...server]);
  expect(submitted).toMatchObject({ code: 0 });
  const id = submitted.out.trim();
  await until(
    async () => (await ear.run(['job', id, ...server])).out.includes('succeeded'),
    'the job to be done',
  );
  const nodes = await ear.run(['nodes', ...server, '--json']);
  const seen = (JSON.parse(nodes.out) as { nodes: { id: string }[] }).nodes.map((each) => each.id);
  expect(seen.toSorted()).toEqual(['n-1', 'w-1']);
  const untrusting = await ear.run(['nodes', ...server.slice(0, 2), '--token-file', file]);
  expect(untrusting.code).toBe(3);
  for (const each of [foreign, worker, node]) expect(await each.stop()).toMatchObject({ code: 0 });
  ear.expectSilenceOn(...Object.values(TOKENS), 'PRIVATE KEY');
});

test('passwords and tokens are in nothing that any command says, whatever goes wrong', async () => {
  const { folder, database, ear } = await surroundings();
  const password = 'correct-horse-battery';
  const url = new URL(database);
  url.username = 'nobody-at-all';
  url.password = password;
  const refused = url.href;
  url.port = '1';
  const unreachable = url.href;
  const environment = { MILLRACE_TOKEN: TOKENS.admin };
  for (const where of [refused, unreachable, `${unreachable}?nonsense=1`]) {
    for (const args of [
      ['serve', '--database', where, '--port', '0', '--grpc-port', '0'],
      ['migrate', 'status', '--database', where],
    ]) {
      const said = await ear.run([...args, '--debug'], environment);
      expect(said.code, `${args.join(' ')}: ${said.err}`).not.toBe(0);
      expect(said.err).not.toBe('');
    }
  }
  const shown = await ear.run(['config', '--json'], {
    ...environment,
    MILLRACE_DATABASE: refused,
  });
  expect(shown.code).toBe(0);
  expect(shown.out).toContain('nobody-at-all');
  const broken = join(folder, 'broken-tokens');
  writeFileSync(broken, `admin ${TOKENS.admin} name surplus\n`);
  const bad = await ear.run(['serve', '--database', database, '--token-file', broken]);
  expect(bad).toMatchObject({ code: 2 });
  ear.expectSilenceOn(password, encodeURIComponent(password), ...Object.values(TOKENS));
});
