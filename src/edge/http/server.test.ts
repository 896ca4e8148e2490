import { once } from 'node:events';
import { Agent, request as httpRequest } from 'node:http';
import { connect, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type ApiBench, type Heard, echo, openApi, passing } from '../../../test/rig/api.ts';
import type { JobId } from '../../scheduler/core/index.ts';
import { deferred } from '../../kit/index.ts';
import type { Reader } from '../../scheduler/contract/index.ts';
import { settled } from '../../../test/rig/virtual-clock.ts';
import type { LeaderServices } from '../../scheduler/contract/index.ts';

let bench: ApiBench;

beforeEach(async () => {
  bench = await openApi();
});
afterEach(() => bench.close());

async function reopen(given: Parameters<typeof openApi>[0]): Promise<void> {
  await bench.close();
  bench = await openApi(given);
}

const submit = (body: string | object, headers: object = {}): Promise<Heard> =>
  bench.call('POST', '/api/v1/jobs', body, headers);

/** A connection that sends the given text byte by byte. */
class Wire {
  readonly socket: Socket;
  text = '';
  readonly closed: Promise<unknown>;

  static async open(): Promise<Wire> {
    const socket = connect(bench.api.port, '127.0.0.1');
    await once(socket, 'connect');
    return new Wire(socket);
  }

  private constructor(socket: Socket) {
    this.socket = socket;
    socket.setEncoding('utf8').on('data', (piece: string) => {
      this.text += piece;
    });
    socket.on('error', () => {});
    this.closed = once(socket, 'close');
  }

  say(...lines: string[]): void {
    this.socket.write(lines.join('\r\n'));
  }

  async until(pattern: RegExp): Promise<void> {
    while (!pattern.test(this.text)) await once(this.socket, 'data');
  }
}

const POST = ['POST /api/v1/jobs HTTP/1.1', 'host: 127.0.0.1', 'content-type: application/json'];

describe('a request', () => {
  test('for an unknown path is 404, and says where to look', async () => {
    for (const path of [
      '/nothing',
      '/api/v1',
      '/api/v1/jobs/',
      '/api/v2/jobs',
      '/api/v1/jobs//cancel',
    ]) {
      const { status, body, headers } = await bench.call('GET', path);
      expect([path, status, body.code]).toEqual([path, 404, 'not_found']);
      expect(headers.get('content-type')).toBe('application/problem+json');
    }
  });

  test('with another method is 405, and says which are allowed', async () => {
    const first = await bench.call('DELETE', '/api/v1/jobs');
    expect([first.status, first.body.code]).toEqual([405, 'method_not_allowed']);
    expect(first.headers.get('allow')).toBe('POST, GET, HEAD');
    const second = await bench.call('GET', '/api/v1/jobs/x/cancel');
    expect([second.status, second.headers.get('allow')]).toEqual([405, 'POST']);
  });

  test('by HEAD has the headers of GET and no body', async () => {
    await submit({ tasks: [echo('a')] });
    for (const path of ['/api/v1/jobs', '/api/v1/jobs/made-1', '/healthz', '/openapi.json']) {
      const head = await bench.call('HEAD', path);
      const get = await bench.call('GET', path);
      expect([head.status, head.text]).toEqual([200, '']);
      for (const name of ['content-type', 'content-length', 'millrace-as-of']) {
        expect(head.headers.get(name)).toBe(get.headers.get(name));
      }
    }
    const missing = await bench.call('HEAD', '/api/v1/jobs/ghost');
    expect([missing.status, missing.text]).toEqual([404, '']);
  });

  test('with a path that cannot be decoded, or none, is 400', async () => {
    const { status, body } = await bench.call('GET', '/api/v1/jobs/%E0%A4%A');
    expect([status, body.code]).toEqual([400, 'bad_input']);
    const wire = await Wire.open();
    wire.say('GET http://elsewhere/ HTTP/1.1', 'host: 127.0.0.1', 'connection: close', '', '');
    await wire.closed;
    expect(wire.text).toMatch(/^HTTP\/1.1 400 /);
  });

  test('with a body that is not JSON says where it goes wrong', async () => {
    for (const [text, where] of [
      ['{"a": }', 'line 1, column 7 (position 6)'],
      ['{\n"a"', 'line 2, column 4 (position 5)'],
      ['hello', 'line 1, column 1 (position 0)'],
    ] as const) {
      const { status, body } = await submit(text);
      expect([status, body.code]).toEqual([400, 'bad_input']);
      expect(body.detail).toContain(where);
    }
    const wire = await Wire.open();
    wire.say(...POST, 'content-length: 3', 'connection: close', '', '');
    wire.socket.write(Buffer.from([0x22, 0xff, 0x22]));
    await wire.closed;
    expect(wire.text).toContain('The body is not valid UTF-8.');
  });

  test('with another content type, or a compressed body, is 415', async () => {
    for (const headers of [
      { 'content-type': 'text/plain' },
      { 'content-type': 'application/x-www-form-urlencoded' },
      { 'content-encoding': 'gzip' },
    ]) {
      const { status, body } = await submit('{}', headers);
      expect([status, body.code]).toEqual([415, 'unsupported_media_type']);
    }
    const good = { 'content-type': 'application/vnd.millrace+json; charset=utf-8' };
    expect((await submit({ tasks: [echo('a')] }, good)).status).toBe(201);
  });

  test('is answered with security headers for browsers', async () => {
    const { headers } = await bench.call('GET', '/healthz');
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('cache-control')).toBe('no-store');
    expect(headers.get('access-control-allow-origin')).toBeNull();
    expect(headers.get('x-powered-by')).toBeNull();
  });
});

describe('a fault of ours', () => {
  test('is answered with 500 without details, which go to the log', async () => {
    const secret = new TypeError('cannot read password of undefined');
    await reopen({ reader: { nodes: () => Promise.reject(secret) } as unknown as Reader });
    const { status, body } = await bench.call('GET', '/api/v1/nodes');
    expect([status, body.code]).toEqual([500, 'invariant']);
    expect(JSON.stringify(body)).not.toMatch(/password|TypeError|\.ts/);
    expect(bench.faults).toEqual([secret]);
  });

  test('in the middle of a response closes the connection', async () => {
    const history = {
      entries: () => {
        throw new Error('broken');
      },
    };
    const job = { asOf: { seq: 1, at: '' }, value: { id: 'j', tasks: [], history } };
    await reopen({ reader: { job: () => Promise.resolve(job) } as unknown as Reader });
    await expect(bench.call('GET', '/api/v1/jobs/j')).rejects.toThrow(/terminated|failed/);
    expect(bench.faults).toHaveLength(1);
  });
});

describe('a body that is too large', () => {
  const limits = { bodyBytesMax: 100_000 };
  beforeEach(() => reopen({ limits }));

  test('is refused by its length, before any of it is read', async () => {
    const { status, body } = await submit(`"${'x'.repeat(200_000)}"`);
    expect([status, body.code]).toEqual([413, 'too_large']);
  });

  test('is refused while it is received, and a client that continues sending still gets the response', async () => {
    const wire = await Wire.open();
    wire.say(...POST, 'transfer-encoding: chunked', '', '');
    const piece = `10000\r\n${' '.repeat(0x10000)}\r\n`;
    for (let at = 0; at < 100; at += 1) wire.say(piece);
    await wire.until(/^HTTP\/1.1 413 [^]*too_large/);
    expect(wire.text).toMatch(/connection: close/i);
    wire.say('0', '', '');
    await wire.closed;
  });

  test('is cut off when it never ends', async () => {
    const wire = await Wire.open();
    wire.say(...POST, 'transfer-encoding: chunked', '', '');
    const piece = `10000\r\n${' '.repeat(0x10000)}\r\n`;
    wire.say(piece + piece);
    await wire.until(/^HTTP\/1.1 413 /);
    const beforeMs = bench.clock.monotonicMs();
    await passing(bench.clock, wire.closed);
    expect(bench.clock.monotonicMs() - beforeMs).toBeGreaterThanOrEqual(2_000);
  });

  test('is refused before it is sent when the client waits for 100 Continue', async () => {
    const wire = await Wire.open();
    wire.say(...POST, 'expect: 100-continue', 'content-length: 200000', '', '');
    await wire.closed;
    expect(wire.text).toMatch(/^HTTP\/1.1 413 /);
    const small = await Wire.open();
    small.say(...POST, 'expect: 100-continue', 'content-length: 2', 'connection: close', '', '');
    await small.until(/^HTTP\/1.1 100 Continue/);
    small.say('{}');
    await small.closed;
    expect(small.text).toContain('HTTP/1.1 400 ');
  });

  test('is not the largest document, which is accepted', async () => {
    await reopen({});
    const input = 'x'.repeat(1_000_000);
    const tasks = Array.from({ length: 16 }, (_, at) => echo(`t-${at}`, { input }));
    expect((await submit({ tasks })).status).toBe(201);
  });
});

describe('a slow client', () => {
  test('whose body stops gets an error and is closed', async () => {
    const wire = await Wire.open();
    wire.say(...POST, 'content-length: 100000', '', '{"tasks"');
    await passing(bench.clock, wire.until(/^HTTP\/1.1 408 [^]*request_timeout/));
    await passing(bench.clock, wire.closed);
    expect(bench.clock.monotonicMs()).toBeGreaterThanOrEqual(10_000);
  });

  test('whose headers never end gets an error and is closed', async () => {
    await reopen({ limits: { headersMs: 50, checkEveryMs: 20 } });
    const wire = await Wire.open();
    wire.say('GET /healthz HTTP/1.1', 'host: 127.0.0.1', 'x-slow: ');
    await wire.closed;
    expect(wire.text).toMatch(/^HTTP\/1.1 408 [^]*"code":"request_timeout"/);
  });

  test('whose request never ends is cut, however steadily it sends', async () => {
    await reopen({ limits: { headersMs: 50, requestMs: 100, checkEveryMs: 20 } });
    const wire = await Wire.open();
    wire.say(...POST, 'content-length: 1000000', '', '');
    const over = new AbortController();
    void wire.closed.then(() => over.abort());
    while (!over.signal.aborted) {
      wire.say(' ');
      await settled();
    }
    expect(wire.text).not.toContain('HTTP/1.1 20');
  });

  test('that disconnects during its body is not an internal error', async () => {
    const wire = await Wire.open();
    wire.say(...POST, 'content-length: 100000', '', '{"tasks"');
    await settled();
    wire.socket.destroy();
    await wire.closed;
    const { text } = await bench.call('GET', '/metrics');
    expect(text).toContain('millrace_leader 1');
    expect(bench.faults).toEqual([]);
  });
});

describe('a connection', () => {
  test('that is not HTTP, or has endless headers, gets an answer and is closed', async () => {
    for (const [text, status] of [
      ['HELLO\r\n\r\n', 400],
      [`GET / HTTP/1.1\r\nx: ${'y'.repeat(20_000)}\r\n\r\n`, 431],
    ] as const) {
      const wire = await Wire.open();
      wire.say(text);
      await wire.closed;
      expect(wire.text).toMatch(new RegExp(`^HTTP/1.1 ${status} [^]*application/problem\\+json`));
    }
  });

  test('that becomes invalid during a response is closed, and the response is not corrupted', async () => {
    const wire = await Wire.open();
    wire.say('GET /api/v1/events?after=0 HTTP/1.1', 'host: 127.0.0.1', '', '');
    await wire.until(/leader.elected/);
    wire.say('HELLO', '', '');
    await wire.closed;
    expect(wire.text.match(/HTTP\/1.1/g)).toHaveLength(1);
  });

  test('is kept for the next request, also after a refusal', async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const ask = async (method: string, path: string): Promise<boolean> => {
      const request = httpRequest(`${bench.api.url}${path}`, { agent, method });
      request.setHeader('content-type', 'application/json');
      request.end(method === 'POST' ? '{}' : undefined);
      const [response] = (await once(request, 'response')) as [NodeJS.ReadableStream];
      response.resume();
      await once(response, 'end');
      return request.reusedSocket;
    };
    expect(await ask('GET', '/healthz')).toBe(false);
    expect(await ask('POST', '/api/v1/jobs')).toBe(true);
    expect(await ask('POST', '/nowhere')).toBe(true);
    expect(await ask('GET', '/healthz')).toBe(true);
    agent.destroy();
  });

  test('beyond the limit is not accepted', async () => {
    await reopen({ limits: { connectionsMax: 2 } });
    const [one, two] = [await Wire.open(), await Wire.open()];
    const three = await Wire.open();
    await three.closed;
    for (const wire of [one, two]) {
      wire.say('GET /healthz HTTP/1.1', 'host: 127.0.0.1', 'connection: close', '', '');
      await wire.closed;
      expect(wire.text).toMatch(/^HTTP\/1.1 200 /);
    }
  });
});

describe('stopping', () => {
  test('lets running requests finish, and takes no more', async () => {
    const answer = deferred<{ jobId: JobId; state: 'queued'; run: number; changed: boolean }>();
    const asked = deferred();
    const jobs = {
      submit: () => {
        asked.resolve();
        return answer.promise;
      },
    };
    await reopen({ leader: () => ({ jobs }) as unknown as LeaderServices });
    const idle = await Wire.open();
    idle.say('GET /healthz HTTP/1.1', 'host: 127.0.0.1', '', '');
    await idle.until(/"ok"/);
    const running = submit({});
    await asked.promise;
    const stopped = bench.api.stop();
    await idle.closed;
    await expect(Wire.open()).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    answer.resolve({ jobId: 'j' as JobId, state: 'queued', run: 1, changed: true });
    const heard = await running;
    expect([heard.status, heard.headers.get('connection')]).toEqual([201, 'close']);
    await stopped;
  });

  test('has a deadline', async () => {
    const asked = deferred();
    const jobs = {
      submit: () => {
        asked.resolve();
        return new Promise(() => {});
      },
    };
    await reopen({ leader: () => ({ jobs }) as unknown as LeaderServices });
    const outcome = submit({}).then(
      () => 'answered',
      () => 'cut',
    );
    await asked.promise;
    await passing(bench.clock, bench.api.stop());
    expect(await outcome).toBe('cut');
    expect(bench.clock.monotonicMs()).toBeGreaterThanOrEqual(10_000);
  });

  test('refuses new requests on connections that were open before', async () => {
    const answer = deferred<never>();
    const asked = deferred();
    const jobs = {
      submit: () => {
        asked.resolve();
        return answer.promise;
      },
    };
    await reopen({ leader: () => ({ jobs }) as unknown as LeaderServices });
    const wire = await Wire.open();
    wire.say(...POST, 'content-length: 2', '', '{}');
    await asked.promise;
    const stopped = bench.api.stop();
    wire.say('GET /healthz HTTP/1.1', 'host: 127.0.0.1', '', '');
    answer.reject(new Error('late'));
    await wire.closed;
    expect(wire.text).toMatch(/^HTTP\/1.1 500 /);
    expect(wire.text).not.toContain('HTTP/1.1 200');
    await stopped;
    await bench.api.stop();
  });
});

test('a port that is taken is refused at the start, with what to do', async () => {
  const { port } = bench.api;
  await expect(openApi({ host: '127.0.0.1', port })).rejects.toMatchObject({
    code: 'bad_setting',
    what: `Cannot listen on 127.0.0.1:${port}.`,
    why: 'The port is in use by another process.',
    todo: 'Choose another port, or 0 for any free one.',
  });
});
