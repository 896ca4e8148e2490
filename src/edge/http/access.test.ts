import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request as httpsRequest } from 'node:https';
import { request as httpRequest } from 'node:http';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { IncomingMessage } from 'node:http';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type ApiBench, openApi } from '../../../test/rig/api.ts';
import { makeAuthority, makeCertificate, writePair } from '../../../test/rig/certificates.ts';
import { type Access, tokenAccess, loadServerTls, type Role } from '../security/index.ts';
import { ROUTES } from './routes/index.ts';

const ROLES = ['admin', 'submit', 'read', 'worker'] as const;
const tokenOf = (role: Role): string => `${role}-0123456789abcdef`;
const GRANTS: Readonly<Record<Role, readonly Role[]>> = {
  admin: ['admin', 'submit', 'read'],
  submit: ['submit', 'read'],
  read: ['read'],
  worker: ['worker'],
};

let folder: string;
let access: Access;
let bench: ApiBench;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-api-'));
  const tokenFile = join(folder, 'tokens');
  const lines = ROLES.map((role) => `${role} ${tokenOf(role)}`);
  writeFileSync(tokenFile, lines.join('\n'), { mode: 0o600 });
  access = tokenAccess({ path: tokenFile, warn: () => {} });
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('with tokens', () => {
  beforeEach(async () => {
    bench = await openApi({ access });
  });
  afterEach(() => bench.close());

  test('every route requires its role, and no other', async () => {
    for (const { method, path, role } of ROUTES) {
      const real = path.replaceAll(/:\w+/g, 'x');
      const anybody = await bench.call(method, `${real}?nonsense=1`);
      if (role === null) {
        expect([path, anybody.status]).toEqual([path, 400]);
        continue;
      }
      expect([path, anybody.status, anybody.body.code]).toEqual([path, 401, 'unauthenticated']);
      expect(anybody.headers.get('www-authenticate')).toBe('Bearer realm="millrace"');
      for (const shown of ROLES) {
        const headers = { authorization: `Bearer ${tokenOf(shown)}` };
        const { status } = await bench.call(method, `${real}?nonsense=1`, undefined, headers);
        // Once authorised, it is refused for the missing parameter.
        const wanted = [role].flat().some((each) => GRANTS[shown].includes(each)) ? 400 : 403;
        expect([method, path, shown, status]).toEqual([method, path, shown, wanted]);
      }
    }
  });

  test('a wrong token is 401, also where no token is needed', async () => {
    const headers = { authorization: 'Bearer wrong-0123456789abcdef' };
    const { status, body } = await bench.call('GET', '/api/v1/jobs', undefined, headers);
    expect(status).toBe(401);
    expect(JSON.stringify(body)).not.toContain('wrong-');
  });

  test('cross-origin requests with a token are accepted', async () => {
    const headers = { authorization: `Bearer ${tokenOf('read')}`, origin: 'https://example.org' };
    expect((await bench.call('GET', '/api/v1/jobs', undefined, headers)).status).toBe(200);
  });
});

describe('without tokens on this machine', () => {
  beforeEach(async () => {
    bench = await openApi();
  });
  afterEach(() => bench.close());

  async function statusWith(headers: Record<string, string>): Promise<number> {
    const path = `${bench.api.url}/api/v1/nodes/w/drain`;
    const request = httpRequest(path, { method: 'POST', headers, agent: false });
    request.end();
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    response.resume();
    return response.statusCode ?? 0;
  }

  test('a cross-origin page, and DNS rebinding, are refused', async () => {
    expect(await statusWith({})).toBe(404);
    expect(await statusWith({ origin: bench.api.url })).toBe(404);
    expect(await statusWith({ origin: 'http://127.0.0.1:3000' })).toBe(403);
    expect(await statusWith({ origin: 'https://example.org' })).toBe(403);
    expect(await statusWith({ host: 'example.org' })).toBe(403);
  });
});

test('over TLS the same is served', async () => {
  const authority = await makeAuthority();
  const files = writePair(folder, 'server', await makeCertificate(authority, 'server'));
  const tls = loadServerTls({ ...files, tlsCa: undefined });
  if (tls === undefined) throw new Error('no certificate');
  bench = await openApi({ tls, access });
  expect(bench.api.url).toMatch(/^https:\/\/127\.0\.0\.1:\d+$/);
  const headers = { authorization: `Bearer ${tokenOf('read')}` };
  const options = { ca: authority.cert, headers, agent: false as const };
  const request = httpsRequest(`${bench.api.url}/api/v1/leader`, options);
  request.end();
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  expect(response.statusCode).toBe(200);
  response.resume();
  await once(response, 'end');
  await bench.close();
});
