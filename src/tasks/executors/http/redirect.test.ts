import type { LookupFunction } from 'node:net';
import { expect, test } from 'vitest';
import type { Json } from '../../../scheduler/core/index.ts';
import { systemClock } from '../../../kit/index.ts';
import { testContext, thrownBy } from '../../../../test/rig/task-context.ts';
import { serveWeb } from '../../../../test/rig/web-server.ts';
import { classifyFailure } from '../failure.ts';
import type { Failure } from '../failure.ts';
import { isRefusedAddress } from './address.ts';
import type { HttpResult } from './answer.ts';
import { httpExecutor } from './http.ts';
import type { HttpOptions } from './http.ts';

const open: HttpOptions = { isRefused: () => false };
/** As if the one address where the tests listen were public, and no other of this machine. */
const onlyFirst: HttpOptions = {
  isRefused: (address) => address !== '127.0.0.1' && isRefusedAddress(address),
};

function call(input: Json, options: HttpOptions = open) {
  const running = httpExecutor(systemClock, options).run(input, testContext());
  return Promise.resolve(running) as Promise<HttpResult>;
}

async function failure(input: Json, options: HttpOptions = open): Promise<Failure> {
  return classifyFailure(await thrownBy(() => call(input, options)));
}

test('redirects are followed: 303 and a POST become GET, 307 keeps all', async () => {
  const { url, seen } = await serveWeb((request, response) => {
    const [, status = '', to = ''] = request.url.split('/');
    if (status === 'end') response.end('there');
    else response.writeHead(Number(status), { location: `/${to}` }).end('on you go');
  });
  for (const [status, method, then] of [
    [301, 'POST', 'GET'],
    [302, 'POST', 'GET'],
    [302, 'PUT', 'PUT'],
    [303, 'PUT', 'GET'],
    [307, 'POST', 'POST'],
    [308, 'DELETE', 'DELETE'],
  ] as const) {
    seen.length = 0;
    expect(await call({ url: `${url}/${status}/end`, method, body: { a: 1 } })).toMatchObject({
      status: 200,
      body: 'there',
    });
    const kept = then === method;
    expect(seen[1]).toMatchObject({ method: then, body: kept ? '{"a":1}' : '' });
    expect('content-type' in (seen[1]?.headers ?? {})).toBe(kept);
    expect(seen[1]?.headers['idempotency-key']).toBe('key-1');
  }
});

test('sends no header that the author added to another origin after a redirect', async () => {
  const other = await serveWeb((_request, response) => response.end());
  const { url, seen } = await serveWeb((request, response) => {
    const location = request.url === '/away' ? `${other.url}/` : '/here';
    if (request.url === '/here') response.end();
    else response.writeHead(307, { location }).end();
  });
  const input = {
    method: 'POST',
    auth: { bearer: 'secret-token' },
    headers: { cookie: 'a=b', 'X-Api-Key': 'secret-key', 'accept-language': 'de' },
    body: { a: 1 },
  };
  await call({ ...input, url });
  await call({ ...input, url: `${url}/away` });
  expect(seen[1]?.headers).toMatchObject({
    authorization: 'Bearer secret-token',
    cookie: 'a=b',
    'x-api-key': 'secret-key',
  });
  const { headers = {} } = other.seen[0] ?? {};
  expect(Object.keys(headers).toSorted()).toEqual([
    ...['accept', 'accept-encoding', 'accept-language', 'connection', 'content-length'],
    ...['content-type', 'host', 'idempotency-key', 'user-agent'],
  ]);
});

test('the number of redirects is limited, and only http and https are followed', async () => {
  const { url, seen } = await serveWeb((request, response) => {
    const location = request.url === '/file' ? 'file:///etc/passwd' : '/round';
    response.writeHead(302, { location }).end();
  });
  expect(await failure({ url, redirects: 3 })).toMatchObject({
    failure: 'fatal',
    error: { code: 'too_many_redirects' },
  });
  expect(seen).toHaveLength(4);
  expect(await failure({ url, redirects: 0 })).toMatchObject({
    failure: 'fatal',
    error: { code: 'http_302' },
  });
  expect(await failure({ url: `${url}/file` })).toMatchObject({
    failure: 'fatal',
    error: { code: 'bad_redirect' },
  });
});

test.each([
  'http://127.0.0.1:1/',
  'http://127.1:1/',
  'http://2130706433:1/',
  'http://0x7f000001:1/',
  'http://0177.0.0.1:1/',
  'http://0/',
  'http://[::1]:1/',
  'http://[::ffff:127.0.0.1]:1/',
  'http://[::ffff:7f00:1]:1/',
  'http://[64:ff9b::127.0.0.1]:1/',
  'http://169.254.169.254/latest/meta-data',
  'http://localhost:1/',
  'https://localhost:1/',
])('%s is refused for good', async (url) => {
  expect(await failure({ url }, { isRefused: isRefusedAddress })).toMatchObject({
    failure: 'fatal',
    error: { code: 'refused_address' },
  });
});

test('a redirect to a private address is refused, by name, by number and in IPv6', async () => {
  const inner = await serveWeb((_request, response) => response.end('inner'), '127.0.0.2');
  const targets: Record<string, string> = {
    '/number': inner.url,
    '/name': `http://inner.example:${inner.port}/`,
    '/six': `http://[::ffff:7f00:2]:${inner.port}/`,
  };
  const { url } = await serveWeb((request, response) => {
    response.writeHead(302, { location: targets[request.url] ?? '' }).end();
  });
  const lookup: LookupFunction = (_host, _options, callback) => {
    callback(null, [{ address: '127.0.0.2', family: 4 }]);
  };
  for (const path of Object.keys(targets)) {
    expect(await failure({ url: url + path }, { ...onlyFirst, lookup })).toMatchObject({
      failure: 'fatal',
      error: { code: 'refused_address' },
    });
  }
  expect(inner.seen).toEqual([]);
  // The target is there: whoever may go there gets through.
  expect(await call({ url: `${url}/name` }, { ...open, lookup })).toMatchObject({ body: 'inner' });
});

test('a name is resolved and checked for each request', async () => {
  const inner = await serveWeb((_request, response) => response.end('inner'), '127.0.0.2');
  const asked: string[] = [];
  const answers = ['127.0.0.1', '127.0.0.2'];
  const lookup: LookupFunction = (host, _options, callback) => {
    asked.push(host);
    callback(null, [{ address: answers[asked.length - 1] ?? '', family: 4 }]);
  };
  const { port } = await serveWeb((_request, response) => {
    response.writeHead(302, { location: `http://turncoat.example:${inner.port}/` }).end();
  });
  const { error } = await failure(
    { url: `http://turncoat.example:${port}/` },
    { ...onlyFirst, lookup },
  );
  expect(error.code).toBe('refused_address');
  expect(asked).toEqual(['turncoat.example', 'turncoat.example']);
  expect(inner.seen).toEqual([]);
});

test('the connection is made to the address that was checked', async () => {
  const { port, seen } = await serveWeb((_request, response) => response.end('ok'));
  const lookup: LookupFunction = (_host, _options, callback) => {
    callback(null, [
      { address: '127.0.0.2', family: 4 },
      { address: '127.0.0.1', family: 4 },
    ]);
  };
  const url = `http://public.example:${port}/`;
  expect(await call({ url }, { ...onlyFirst, lookup })).toMatchObject({ body: 'ok' });
  expect(seen[0]?.headers.host).toBe(`public.example:${port}`);
});
