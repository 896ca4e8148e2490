import { once } from 'node:events';
import { createServer as createTcpServer } from 'node:net';
import type { AddressInfo, LookupFunction } from 'node:net';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { MillraceError } from '../../../scheduler/core/index.ts';
import type { Json, JsonObject } from '../../../scheduler/core/index.ts';
import { deferred, systemClock } from '../../../kit/index.ts';
import { VirtualClock } from '../../../../test/rig/virtual-clock.ts';
import { testContext, thrownBy } from '../../../../test/rig/task-context.ts';
import { serveWeb } from '../../../../test/rig/web-server.ts';
import { classifyFailure } from '../failure.ts';
import type { Failure } from '../failure.ts';
import type { HttpResult } from './answer.ts';
import { httpExecutor } from './http.ts';
import type { HttpOptions } from './http.ts';

const open: HttpOptions = { isRefused: () => false };
function call(input: Json, options: HttpOptions = open, context = testContext()) {
  return Promise.resolve(
    httpExecutor(systemClock, options).run(input, context),
  ) as Promise<HttpResult>;
}

async function failure(input: Json, options: HttpOptions = open): Promise<Failure> {
  return classifyFailure(await thrownBy(() => call(input, options)));
}

test('it sends the trace of its attempt onwards, unless the task says otherwise', async () => {
  const { url, seen } = await serveWeb((_request, response) => response.end());
  const traceHeaders = { traceparent: 'ours', tracestate: 'a=1' };
  await call({ url }, open, testContext({ traceHeaders }));
  await call({ url, headers: { traceparent: 'theirs' } }, open, testContext({ traceHeaders }));
  await call({ url });
  const sent = seen.map(({ headers: { traceparent, tracestate } }) => [traceparent, tracestate]);
  expect(sent).toEqual([
    ['ours', 'a=1'],
    ['theirs', undefined],
    [undefined, undefined],
  ]);
});

test('it sends the given request and answers status, headers and JSON', async () => {
  const { url, seen } = await serveWeb((_request, response) => {
    response.writeHead(201, { 'content-type': 'application/json; charset=utf-8', 'x-a': 'b' });
    response.end('{"rows":[1,2]}');
  });
  const result = await call({
    url: `${url}/path?q=1`,
    method: 'put',
    headers: { 'X-Number': 7, 'x-list': ['a', 'b'], 'x-none': null },
    body: { a: [null, 'ü'] },
    auth: { bearer: 'secret-token' },
  });
  expect(result).toMatchObject({
    status: 201,
    headers: { 'content-type': 'application/json; charset=utf-8', 'x-a': 'b' },
    body: { rows: [1, 2] },
  });
  expect(seen).toMatchObject([
    {
      method: 'PUT',
      url: '/path?q=1',
      body: '{"a":[null,"ü"]}',
      headers: {
        'content-type': 'application/json',
        'x-number': '7',
        'x-list': 'a, b',
        authorization: 'Bearer secret-token',
        'idempotency-key': 'key-1',
      },
    },
  ]);
  expect(seen[0]?.headers).not.toHaveProperty('x-none');
});

test('text is sent and returned unchanged, and a body without a method is a POST', async () => {
  const { url, seen } = await serveWeb((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/plain; charset=latin1' });
    response.end(Buffer.from([0x66, 0xfc, 0x72]));
  });
  expect(await call({ url, body: 'plain' })).toMatchObject({ body: 'für' });
  expect(seen).toMatchObject([{ method: 'POST', body: 'plain' }]);
  expect(seen[0]?.headers).not.toHaveProperty('content-type');
});

test('user and password come from auth or from the URL, and a key that the user sets stays', async () => {
  const { url, port, seen } = await serveWeb((_request, response) => response.end());
  const headers = { 'Idempotency-Key': 'mine' };
  await call({ url, auth: { basic: { user: 'u', password: 'p:w' } }, headers });
  await call({ url: `http://u%40x:p@127.0.0.1:${port}/` });
  expect(seen.map((each) => each.headers.authorization)).toEqual([
    `Basic ${Buffer.from('u:p:w').toString('base64')}`,
    `Basic ${Buffer.from('u@x:p').toString('base64')}`,
  ]);
  expect(seen[0]?.headers['idempotency-key']).toBe('mine');
});

test.each([
  ['gzip', gzipSync],
  ['deflate', deflateSync],
  ['br', brotliCompressSync],
])('an answer packed with %s is unpacked', async (coding, pack) => {
  const { url } = await serveWeb((_request, response) => {
    response.writeHead(200, { 'content-encoding': coding, 'content-type': 'application/json' });
    response.end(pack('{"a":1}'));
  });
  expect((await call({ url })).body).toEqual({ a: 1 });
});

test('an empty JSON response is null, and HEAD has no body', async () => {
  const { url } = await serveWeb((_request, response) => {
    response.writeHead(200, { 'content-type': 'application/problem+json' });
    response.end();
  });
  expect((await call({ url })).body).toBe(null);
  expect((await call({ url, method: 'HEAD' })).body).toBe(null);
});

test.each([
  [400, 'fatal'],
  [401, 'fatal'],
  [404, 'fatal'],
  [304, 'fatal'],
  [408, 'retryable'],
  [425, 'retryable'],
  [429, 'retryable'],
  [500, 'retryable'],
  [503, 'retryable'],
] as const)('status %i is %s', async (status, expected) => {
  const { url } = await serveWeb((_request, response) => response.writeHead(status).end());
  expect(await failure({ url })).toMatchObject({
    failure: expected,
    error: { code: `http_${status}` },
  });
});

test.each([
  ['a time that has passed', 'Fri, 13 Feb 2009 23:31:30 GMT', 0],
  ['more than an hour', '99999999999', 3_600_000],
  ['nothing that can be read', 'soon', undefined],
])('a server that asks to wait for %s', async (_, header, expected) => {
  const { url } = await serveWeb((_request, response) =>
    response.writeHead(503, { 'retry-after': header }).end(),
  );
  expect((await failure({ url })).retryAfterMs).toBe(expected);
});

test('a failure contains the beginning of the body and the retry delay, without secrets', async () => {
  const { url } = await serveWeb((request, response) => {
    response.writeHead(429, { 'retry-after': '120' });
    response.end(`no, ${request.headers.authorization} and ${'x'.repeat(10_000)}`);
  });
  const { error, retryAfterMs } = await failure({
    url: `${url}/a?key=hidden-key`,
    auth: { bearer: 'secret-token' },
  });
  expect(error.message).toContain(`GET ${url}/a?... answered 429: no, Bearer *** and xxx`);
  expect(error.message).toContain('Retry-After: 120');
  expect(retryAfterMs).toBe(120_000);
  expect(error.message).not.toMatch(/secret-token|hidden-key/);
  expect(error.message.length).toBeLessThan(600);
});

test('more than maxBytes fails for good, compressed or not', async () => {
  const { url } = await serveWeb(({ url: path }, response) => {
    if (path === '/packed') response.setHeader('content-encoding', 'gzip');
    response.end(path === '/packed' ? gzipSync(Buffer.alloc(1_000_000)) : 'x'.repeat(2_000));
  });
  expect(await failure({ url, maxBytes: 1_999 })).toMatchObject({
    failure: 'fatal',
    error: { code: 'too_large' },
  });
  expect(await failure({ url: `${url}/packed`, maxBytes: 10_000 })).toMatchObject({
    error: { code: 'too_large' },
  });
  expect((await call({ url, maxBytes: 2_000 })).body).toHaveLength(2_000);
});

test.each([
  ['JSON that is none', { 'content-type': 'application/json' }, '{'],
  ['an unknown packing', { 'content-encoding': 'zip' }, 'x'],
])('%s fails for good', async (_name, headers, body) => {
  const { url } = await serveWeb((_request, response) =>
    response.writeHead(200, headers).end(body),
  );
  expect(await failure({ url })).toMatchObject({
    failure: 'fatal',
    error: { code: 'bad_response' },
  });
});

test('a truncated response, and a refused connection, may be retried', async () => {
  const { url } = await serveWeb((_request, response) => {
    response.writeHead(200, { 'content-length': 100 });
    response.write('half', () => response.destroy());
  });
  expect(await failure({ url })).toMatchObject({
    failure: 'retryable',
    error: { code: 'network' },
  });

  const closed = createTcpServer().listen(0, '127.0.0.1');
  await once(closed, 'listening');
  const { port } = closed.address() as AddressInfo;
  closed.close();
  await once(closed, 'close');
  const refused = await failure({ url: `http://user:pass-word@127.0.0.1:${port}/` });
  expect(refused).toMatchObject({ failure: 'retryable', error: { code: 'network' } });
  expect(refused.error.message).toContain('ECONNREFUSED');
  expect(refused.error.message).not.toContain('pass-word');
});

test('a name that does not resolve may be retried', async () => {
  const lookup: LookupFunction = (host, _options, callback) => {
    callback(Object.assign(new Error(`getaddrinfo ENOTFOUND ${host}`), { code: 'ENOTFOUND' }), []);
  };
  expect(await failure({ url: 'http://nobody.example/' }, { ...open, lookup })).toMatchObject({
    failure: 'retryable',
    error: { code: 'network', message: expect.stringContaining('nobody.example') as string },
  });
});

test('a timeout may be retried, also in the middle of a body', async () => {
  let arrived = deferred();
  const { url } = await serveWeb(({ url: path }, response) => {
    if (path === '/body') response.write('a', () => arrived.resolve());
    else arrived.resolve();
  });
  for (const path of ['/', '/body']) {
    arrived = deferred();
    const clock = new VirtualClock();
    const running = thrownBy(() =>
      httpExecutor(clock, open).run({ url: url + path, timeoutMs: 5_000 }, testContext()),
    );
    await arrived.promise;
    await clock.advance(5_000);
    expect(classifyFailure(await running)).toMatchObject({
      failure: 'retryable',
      error: { code: 'timeout' },
    });
  }
});

test('an abort ends the request at once, with the reason of the abort', async () => {
  const arrived = deferred();
  const gone = deferred();
  const { url } = await serveWeb((_request, response) => {
    response.on('close', () => gone.resolve());
    arrived.resolve();
  });
  const context = testContext();
  const running = thrownBy(() => call({ url }, open, context));
  await arrived.promise;
  const reason = new MillraceError({ code: 'superseded', what: 'enough' });
  context.abort(reason);
  expect(await running).toBe(reason);
  await gone.promise;
  expect(await thrownBy(() => call({ url }, open, context))).toBe(reason);
});

test.each<[string, JsonObject]>([
  ['/url', {}],
  ['/url', { url: 'not a url with pass-word' }],
  ['/url', { url: 'ftp://a.example/' }],
  ['/url', { url: 'file:///etc/passwd' }],
  ['/urll', { urll: 'http://a.example/' }],
  ['/method', { url: 'http://a.example/', method: 'CONNECT' }],
  ['/body', { url: 'http://a.example/', method: 'GET', body: 1 }],
  ['/headers', { url: 'http://a.example/', headers: ['a'] }],
  ['/headers/host', { url: 'http://a.example/', headers: { host: 'b' } }],
  ['/headers/Content-Length', { url: 'http://a.example/', headers: { 'Content-Length': '3' } }],
  ['/headers/x', { url: 'http://a.example/', headers: { x: 'a\r\nb: c' } }],
  ['/headers/a b', { url: 'http://a.example/', headers: { 'a b': 'c' } }],
  ['/headers/X-A', { url: 'http://a.example/', headers: { 'x-a': '1', 'X-A': '2' } }],
  ['/headers/x', { url: 'http://a.example/', headers: { x: { a: 1 } } }],
  ['/auth', { url: 'http://a.example/', auth: {} }],
  ['/auth', { url: 'http://u:pass-word@a.example/', auth: { bearer: 'pass-word' } }],
  ['/auth/bearer', { url: 'http://a.example/', auth: { bearer: 'pass-word\n' } }],
  ['/timeoutMs', { url: 'http://a.example/', timeoutMs: 0 }],
  ['/maxBytes', { url: 'http://a.example/', maxBytes: 2 ** 40 }],
  ['/redirects', { url: 'http://a.example/', redirects: -1 }],
])('what cannot be sent is refused with its place: %s %j', async (path, input) => {
  const found = await failure(input);
  expect(found).toMatchObject({ failure: 'fatal', error: { code: 'bad_input' } });
  expect(found.error.message.startsWith(`${path}: `)).toBe(true);
  expect(found.error.message).not.toContain('pass-word');
});

test.each([
  [301, 'retryable'],
  [302, 'retryable'],
  [400, 'retryable'],
  [404, 'retryable'],
  [410, 'fatal'],
  [500, 'retryable'],
] as const)("with retryOn 'any' the status %d is %s", async (status, kind) => {
  const { url, seen } = await serveWeb((_request, response) => {
    response.writeHead(status, { location: '/elsewhere' }).end();
  });
  const input = { url, retryOn: 'any', redirects: 0 };
  expect(await failure(input)).toMatchObject({ failure: kind, error: { code: `http_${status}` } });
  expect(seen).toHaveLength(1);
  expect(await failure({ url, retryOn: 'all' })).toMatchObject({ failure: 'fatal' });
});
