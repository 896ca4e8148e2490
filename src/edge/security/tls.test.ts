import { once } from 'node:events';
import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { createServer, request } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  credentials,
  makeGenericClientConstructor,
  Server,
  ServerCredentials,
  status,
} from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  makeAuthority,
  makeCertificate,
  type PemPair,
  writePair,
} from '../../../test/rig/certificates.ts';
import { isMillraceError } from '../../scheduler/core/index.ts';
import { httpsOptions, loadClientTls, loadServerTls, type TlsFiles } from './index.ts';

const NONE: TlsFiles = { tlsCert: undefined, tlsKey: undefined, tlsCa: undefined };

let folder: string;
let authority: PemPair;
let tlsCa: string;
let node: { readonly tlsCert: string; readonly tlsKey: string };
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-tls-'));
  authority = await makeAuthority();
  tlsCa = file('ca.pem', authority.cert);
  node = writePair(folder, 'node', await makeCertificate(authority, 'node-1'));
});
afterAll(() => rmSync(folder, { recursive: true }));

function file(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

function refusal(files: Partial<TlsFiles>): string {
  try {
    loadServerTls({ ...NONE, ...files });
  } catch (error) {
    if (isMillraceError(error, 'bad_setting')) return error.message;
    throw error;
  }
  throw new Error('nothing was refused');
}

test('without files a server uses plain text, and a client the system’s authorities', () => {
  expect(loadServerTls(NONE)).toBeUndefined();
  expect(loadClientTls(NONE)).toEqual({ cert: undefined, key: undefined, ca: undefined });
});

describe('a wrong file stops the start and says which', () => {
  test('a missing file, or a folder', () => {
    const tlsCert = join(folder, 'none.pem');
    expect(refusal({ ...node, tlsCert })).toBe(`--tls-cert ${tlsCert} does not exist.`);
    expect(refusal({ ...node, tlsKey: folder })).toBe(
      `--tls-key ${folder} cannot be read (EISDIR).`,
    );
  });

  test('a file that is not PEM', () => {
    const junk = file('junk.pem', 'hello');
    const broken = file(
      'broken.pem',
      '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n',
    );
    expect(refusal({ ...node, tlsCert: junk })).toContain('contains no certificate in PEM format');
    expect(refusal({ ...node, tlsCert: broken })).toContain('an invalid certificate');
    expect(refusal({ ...node, tlsCa: junk })).toContain(`--tls-ca ${junk} contains no certificate`);
    expect(refusal({ ...node, tlsKey: junk })).toContain('contains no private key in PEM format');
    // A certificate in the place of the key is a slip that happens.
    expect(refusal({ ...node, tlsKey: node.tlsCert })).toContain('contains no private key');
  });

  test('a key of another certificate', async () => {
    const other = writePair(folder, 'other', await makeCertificate(authority, 'other'));
    expect(refusal({ ...node, tlsKey: other.tlsKey })).toBe(
      `--tls-key ${other.tlsKey} does not belong to the certificate ${node.tlsCert}.`,
    );
  });

  test('a key behind a passphrase', () => {
    const { privateKey } = generateKeyPairSync('ec', {
      namedCurve: 'P-256',
      publicKeyEncoding: { type: 'spki', format: 'pem' },
      privateKeyEncoding: { type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'x' },
    });
    const message = refusal({ ...node, tlsKey: file('locked.pem', privateKey) });
    expect(message).toContain('is encrypted with a passphrase');
  });

  test('an expired certificate, or one that is not valid yet', async () => {
    const old = await makeCertificate(authority, 'old', { from: -3, to: -2 });
    const young = await makeCertificate(authority, 'young', { from: 2, to: 3 });
    expect(refusal(writePair(folder, 'old', old))).toMatch(/old\.pem expired on /);
    expect(refusal(writePair(folder, 'young', young))).toMatch(/young\.pem is not valid before /);
    const inFourYears = new Date(Date.now() + 4 * 365 * 24 * 3_600_000);
    expect(() => loadClientTls({ ...NONE, tlsCa }, inFourYears)).toThrow(
      `--tls-ca ${tlsCa} expired`,
    );
  });

  test('a certificate without a key', () => {
    expect(refusal({ tlsCert: node.tlsCert })).toBe('--tls-cert is set without --tls-key.');
    expect(refusal({ tlsKey: node.tlsKey })).toBe('--tls-key is set without --tls-cert.');
    expect(refusal({ tlsCa })).toContain('needs --tls-cert and --tls-key');
  });

  test('and no error contains a line of a key', async () => {
    const { key } = await makeCertificate(authority, 'leak');
    const broken = file('leak.pem', key.replace('BEGIN PRIVATE', 'BEGIN'));
    const line = key.split('\n')[1] ?? '';
    expect(line.length).toBeGreaterThan(20);
    expect(refusal({ ...node, tlsKey: broken })).not.toContain(line);
  });
});

function serverTls() {
  const tls = loadServerTls({ ...node, tlsCa });
  if (tls === undefined) throw new Error('no TLS');
  return tls;
}

test('HTTPS serves whoever trusts the authority, without asking for a certificate', async () => {
  const server = createServer(httpsOptions(serverTls()), (_request, response) => response.end());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const get = async (ca: Buffer | undefined): Promise<number | undefined> => {
    const asked = request({ host: '127.0.0.1', port, ca, agent: false }).end();
    const [response] = (await once(asked, 'response')) as [IncomingMessage];
    response.resume();
    return response.statusCode;
  };
  try {
    expect(await get(loadClientTls({ ...NONE, tlsCa }).ca)).toBe(200);
    await expect(get(undefined)).rejects.toThrow(/certificate/);
  } finally {
    server.close();
  }
});

test('gRPC with an authority set serves only peers whose certificate it has signed', async () => {
  const method = {
    path: '/test.Echo/Say',
    requestStream: false,
    responseStream: false,
    requestSerialize: (value: string) => Buffer.from(value),
    requestDeserialize: String,
    responseSerialize: (value: string) => Buffer.from(value),
    responseDeserialize: String,
  } as const;
  const { cert, key, ca } = serverTls();
  const server = new Server();
  server.addService(
    { say: method },
    {
      say(call: { request: string }, done: (error: null, value: string) => void) {
        done(null, call.request);
      },
    },
  );
  const own = ServerCredentials.createSsl(
    ca ?? null,
    [{ cert_chain: cert, private_key: key }],
    true,
  );
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', own, (error, bound) =>
      error ? reject(error) : resolve(bound),
    );
  });
  const Client = makeGenericClientConstructor({ say: method }, 'test.Echo');
  const say = async (files: TlsFiles): Promise<string> => {
    const tls = loadClientTls(files);
    const shown = credentials.createSsl(tls.ca, tls.key, tls.cert);
    const client = new Client(`localhost:${port}`, shown);
    try {
      return await new Promise<string>((resolve, reject) => {
        const { path, requestSerialize, responseDeserialize } = method;
        client.makeUnaryRequest(
          path,
          requestSerialize,
          responseDeserialize,
          'hello',
          (error, value) => (error ? reject(error) : resolve(value ?? '')),
        );
      });
    } finally {
      client.close();
    }
  };
  try {
    const stranger = await makeCertificate(await makeAuthority('another'), 'stranger');
    expect(await say({ ...node, tlsCa })).toBe('hello');
    await expect(say({ ...NONE, tlsCa })).rejects.toMatchObject({ code: status.UNAVAILABLE });
    await expect(say({ ...writePair(folder, 'stranger', stranger), tlsCa })).rejects.toMatchObject({
      code: status.UNAVAILABLE,
    });
  } finally {
    server.forceShutdown();
  }
});
