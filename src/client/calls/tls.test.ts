import { afterEach, beforeEach, expect, test } from 'vitest';
import { makeAuthority, makeCertificate } from '../../../test/rig/certificates.ts';
import { HastyClock } from '../../../test/rig/hasty-clock.ts';
import { notLeader, ScriptedServer } from '../../../test/rig/scripted-server.ts';
import { HttpClient } from '../http-client.ts';

const leader = { json: { nodeId: 'n-1', url: null, grpc: null, epoch: 1 } };
const token = 'a-long-secret-token';

let ca: Buffer;
let server: ScriptedServer;
let plain: ScriptedServer;
const clients: HttpClient[] = [];

beforeEach(async () => {
  const authority = await makeAuthority();
  ca = Buffer.from(authority.cert);
  server = await ScriptedServer.start(await makeCertificate(authority, 'n-1'));
  plain = await ScriptedServer.start();
});
afterEach(async () => {
  for (const client of clients.splice(0)) client.end();
  await Promise.all([server.close(), plain.close()]);
});

function client(url: string, authority: Buffer | undefined = ca): HttpClient {
  const tls = { ca: authority, cert: undefined, key: undefined };
  const made = new HttpClient({ server: url, token, tls, clock: new HastyClock() });
  clients.push(made);
  return made;
}

test('a server whose certificate a trusted authority has signed is called, also on a new connection', async () => {
  server.script('GET /api/v1/leader', leader).script('POST /api/v1/schedules/s/trigger', {
    json: { id: 's' },
  });
  const trusting = client(server.url);
  expect(await trusting.leader()).toEqual(leader.json);
  expect(await trusting.changeSchedule('s' as never, 'trigger')).toEqual({ id: 's' });
});

test('a certificate of another authority is rejected, and the token is not sent', async () => {
  const other = Buffer.from((await makeAuthority('somebody else')).cert);
  await expect(client(server.url, other).leader()).rejects.toMatchObject({
    code: 'unreachable',
    what: `The certificate of ${server.url}/ is not trusted.`,
    todo: expect.stringContaining('--tls-ca') as string,
  });
  expect(server.received).toEqual([]);
});

test('a token that was sent encrypted is never sent on unencrypted', async () => {
  server.script('GET /api/v1/leader', notLeader(plain.url));
  await expect(client(server.url).leader()).rejects.toMatchObject({ code: 'not_leader' });
  expect(plain.received).toEqual([]);
});

test('a server without TLS is reported as such', async () => {
  await expect(client(plain.url.replace('http:', 'https:')).leader()).rejects.toMatchObject({
    code: 'unreachable',
    why: 'The server does not use TLS. Use http:// instead of https://.',
  });
});

test('a token is not sent unencrypted to another machine, unless the network is trusted', async () => {
  const made = (insecure: boolean) =>
    new HttpClient({ server: 'http://mill.example:7070', token, insecure });
  expect(() => made(false)).toThrow(
    expect.objectContaining({
      code: 'bad_setting',
      todo: expect.stringContaining('https://') as string,
    }),
  );
  clients.push(made(true));
});

test('a leader that is named is not followed where the token would travel unencrypted', async () => {
  plain.script('GET /api/v1/leader', notLeader('http://mill.example:7070'));
  await expect(client(plain.url).leader()).rejects.toMatchObject({
    code: 'bad_setting',
    what: 'The token would be sent to mill.example:7070 unencrypted.',
  });
});
