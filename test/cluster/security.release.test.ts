import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { freePort } from '../rig/cluster/free-port.ts';
import { makeAuthority, makeCertificate, writePair } from '../rig/certificates.ts';
import { TOKENS, surroundings, tokenFile } from './security-setup.ts';
import { stderrLine } from '../rig/cluster/command.ts';
import { until } from '../rig/until.ts';

const ANYWHERE = ['--host', '0.0.0.0', '--port', '0', '--grpc-port', '0', '--slots', '0'];

test('no port is open to other machines without TLS and tokens, unless configured so', async () => {
  const { folder, database, log } = await surroundings();
  const serve = ['serve', '--database', database, ...ANYWHERE];
  const up = ['up', '--data', join(folder, 'data'), ...ANYWHERE];
  const worker = ['worker', '--server', '127.0.0.1:1', '--listen', '0.0.0.0:0'];
  for (const args of [serve, up, worker]) {
    const refused = await log.run(args);
    expect(refused).toMatchObject({ code: 2, out: '' });
    for (const flag of ['--tls-cert', '--tls-key', '--token-file', '--insecure'])
      expect(refused.err).toContain(flag);
  }
  const half = await log.run([...serve, '--token-file', tokenFile(folder)]);
  expect(half.code).toBe(2);
  expect(half.err).toMatch(/TLS \(--tls-cert and --tls-key\) is missing/);
  for (const args of [serve, up]) {
    const open = log.start([...args, '--insecure']);
    await open.line(/^millrace ready http:/);
    await stderrLine(open, /Every client that can reach 0\.0\.0\.0 has full access/);
    expect(await open.stop()).toEqual({ code: 0, signal: null });
  }
});

test('a worker needs a certificate of the authority and a token', async () => {
  const { folder, database, log } = await surroundings();
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
  const node = log.start([
    ...['serve', '--database', database, '--port', `${port}`, '--grpc-port', `${grpcPort}`],
    // Its own worker, too, has to show who it is.
    ...['--node-id', 'n-1', '--slots', '1', '--token-file', file, ...(await pairOf('node'))],
  ]);
  await node.line(/^millrace ready https:\/\/127\.0\.0\.1:\d+$/);
  const work = ['worker', '--server', `127.0.0.1:${grpcPort}`];
  const worker = log.start([...work, '--node-id', 'w-1', ...(await pairOf('worker'))], {
    MILLRACE_TOKEN: TOKENS.worker,
  });
  await worker.line(/^millrace worker ready w-1$/);
  // The authority signs for more than this cluster: its certificate alone makes nobody a worker.
  const tokenless = log.start([...work, '--node-id', 'w-4', ...(await pairOf('tokenless'))]);
  expect(await tokenless.exited).toMatchObject({ code: 2 });
  await stderrLine(tokenless, /requires a token/);
  const bare = log.start([...work, '--node-id', 'w-2', '--tls-ca', ca], {
    MILLRACE_TOKEN: TOKENS.worker,
  });
  await stderrLine(bare, /No leader has accepted the registration yet|needs --tls-cert/);
  const stranger = await makeCertificate(await makeAuthority('somebody else'), 'stranger');
  const { tlsCert, tlsKey } = writePair(folder, 'stranger', stranger);
  const foreign = log.start([
    ...[...work, '--node-id', 'w-3'],
    ...['--tls-cert', tlsCert, '--tls-key', tlsKey, '--tls-ca', ca],
  ]);
  await stderrLine(foreign, /No leader has accepted the registration yet/);
  const server = ['--server', `https://127.0.0.1:${port}`, '--tls-ca', ca, '--token-file', file];
  const document = join(folder, 'job.json');
  const placement = { allowedNodes: ['w-1'] };
  writeFileSync(
    document,
    JSON.stringify({ tasks: [{ id: 'a', executor: 'echo', input: 'by TLS', placement }] }),
  );
  const submitted = await log.run(['submit', document, ...server]);
  expect(submitted).toMatchObject({ code: 0 });
  const id = submitted.out.trim();
  await until(
    async () => (await log.run(['job', id, ...server])).out.includes('succeeded'),
    'the job to be done',
  );
  const nodes = await log.run(['nodes', ...server, '--json']);
  const seen = (JSON.parse(nodes.out) as { nodes: { id: string }[] }).nodes.map((each) => each.id);
  expect(seen.toSorted()).toEqual(['n-1', 'w-1']);
  const untrusting = await log.run(['nodes', ...server.slice(0, 2), '--token-file', file]);
  expect(untrusting.code).toBe(3);
  for (const each of [foreign, worker, node]) expect(await each.stop()).toMatchObject({ code: 0 });
  log.expectSilenceOn(...Object.values(TOKENS), 'PRIVATE KEY');
});

test('no output of any command contains passwords or tokens', async () => {
  const { folder, database, log } = await surroundings();
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
      const said = await log.run([...args, '--debug'], environment);
      expect(said.code, `${args.join(' ')}: ${said.err}`).not.toBe(0);
      expect(said.err).not.toBe('');
    }
  }
  const shown = await log.run(['config', '--json'], {
    ...environment,
    MILLRACE_DATABASE: refused,
  });
  expect(shown.code).toBe(0);
  expect(shown.out).toContain('nobody-at-all');
  const broken = join(folder, 'broken-tokens');
  writeFileSync(broken, `admin ${TOKENS.admin} name surplus\n`);
  const bad = await log.run(['serve', '--database', database, '--token-file', broken]);
  expect(bad).toMatchObject({ code: 2 });
  log.expectSilenceOn(password, encodeURIComponent(password), ...Object.values(TOKENS));
});
