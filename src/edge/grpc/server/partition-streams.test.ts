import { once } from 'node:events';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { makeAuthority, makeCertificate } from '../../../../test/rig/certificates.ts';
import { channel } from '../../../../test/rig/shuffle-node.ts';
import { MillraceError } from '../../../scheduler/core/index.ts';
import type { JobId } from '../../../scheduler/core/index.ts';
import { deferred } from '../../../kit/index.ts';
import type {
  PartitionChunk,
  PartitionRange,
  ShuffleSource,
} from '../../../scheduler/contract/index.ts';
import { STREAM_HEADER, STREAM_METHOD, pathOf } from '../stream-format.ts';
import type { Caller, NeededRole } from './access.ts';
import { startRpcServer } from './rpc-server.ts';
import type { RpcServerOptions } from './rpc-server.ts';
import { shuffleService } from './shuffle-service.ts';

const RANGE: PartitionRange = {
  query: 'q' as JobId,
  stage: 0,
  mapTask: 0,
  attempt: 0,
  fence: 1,
  partition: 0,
  startOffset: 0,
  maxBytes: 0,
  layoutVersion: 0,
  minEpoch: 0,
};
const CHUNK = Buffer.alloc(256 * 1_024, 7);
const TOKEN = 'Bearer right';

/** A partition of so many chunks; says when it is left. */
function partition(count: number, left: () => void = () => {}): ShuffleSource {
  return {
    register: () => {},
    async *fetch(_range, signal) {
      try {
        for (let at = 0; at < count && !signal.aborted; at += 1) yield chunk(at, count);
      } finally {
        left();
      }
    },
  };
}

function chunk(at: number, count: number): PartitionChunk {
  const startOffset = at * CHUNK.length;
  const words = { watermarkOffset: count * CHUNK.length, isFinalized: true, epoch: 1 };
  return { payload: CHUNK, startOffset, endOffset: startOffset + CHUNK.length, ...words };
}

interface Given extends Partial<Pick<RpcServerOptions, 'access' | 'tls'>> {
  readonly silentMs?: number;
  readonly stalledMs?: number;
}

async function serve(
  source: ShuffleSource,
  { access, tls = null, ...limits }: Given = {},
): Promise<{
  readonly address: string;
  readonly port: number;
  readonly stop: () => Promise<void>;
}> {
  const server = await startRpcServer({
    ...{ host: '127.0.0.1', port: 0, tls, hasReflection: false },
    services: [shuffleService(() => source)],
    streams: { source: () => source, ...limits },
    ...(access === undefined ? {} : { access }),
  });
  const stop = (): Promise<void> => server.stop(0);
  onTestFinished(stop);
  return { address: server.address, port: server.port, stop };
}

function open(port: number): Socket {
  const socket = connect(port, '127.0.0.1').on('error', () => {});
  onTestFinished(() => void socket.destroy());
  return socket;
}

/** All that is answered until the connection is closed. */
async function answerTo(port: number, text: string): Promise<string> {
  const socket = open(port);
  const pieces: Buffer[] = [];
  socket.on('data', (piece: Buffer) => pieces.push(piece));
  socket.write(text, 'latin1');
  await once(socket, 'close');
  return Buffer.concat(pieces).toString('latin1');
}

function get(path: string, headers: Readonly<Record<string, string>> = {}): string {
  const all = { host: 'here', connection: 'close', [STREAM_HEADER]: '1', ...headers };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`);
  return `GET ${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`;
}

const statusIn = (answer: string): string => answer.split(' ', 2)[1] ?? 'nothing';
const bytesIn = (answer: string): number => answer.length - answer.indexOf('\r\n\r\n') - 4;

test('a range is the body of an answer, and the same port speaks gRPC', async () => {
  const { port } = await serve(partition(3));
  const answer = await answerTo(port, get(pathOf(RANGE)));
  expect(statusIn(answer)).toBe('200');
  expect(bytesIn(answer)).toBe(3 * CHUNK.length);
});

test('whoever has no token, a wrong one or one that is not for this gets nothing', async () => {
  const asked: (readonly [string | null, NeededRole])[] = [];
  const { port } = await serve(partition(1), {
    access: async ({ authorization, peer }: Caller, needed) => {
      expect(peer.remoteAddress).toBe('127.0.0.1');
      asked.push([authorization, needed]);
      if (authorization === TOKEN) return 'it';
      throw new MillraceError({ code: 'unauthenticated', what: 'No.' });
    },
  });
  const path = pathOf(RANGE);
  expect(statusIn(await answerTo(port, get(path)))).toBe('401');
  expect(statusIn(await answerTo(port, get(path, { authorization: 'Bearer wrong' })))).toBe('401');
  expect(statusIn(await answerTo(port, get('/other')))).toBe('401');
  expect(statusIn(await answerTo(port, get(path, { authorization: TOKEN })))).toBe('200');
  expect(asked.map(([, needed]) => needed)).toEqual(['worker', 'worker', 'worker', 'worker']);
});

test('a page in a browser gets nothing, whoever runs the browser', async () => {
  const { port } = await serve(partition(1));
  const plain = `GET ${pathOf(RANGE)} HTTP/1.1\r\nhost: here\r\nconnection: close\r\n\r\n`;
  expect(statusIn(await answerTo(port, plain))).toBe('404');
});

test.each([
  ['another path', '/metrics', '404'],
  ['no range', STREAM_METHOD, '400'],
  ['bytes that are no range', `${STREAM_METHOD}?____`, '400'],
  ['an offset that is too large', `${STREAM_METHOD}?CgFxMP__________AQ`, '400'],
])('%s is refused', async (_what, path, status) => {
  const { port } = await serve(partition(1));
  expect(statusIn(await answerTo(port, get(path)))).toBe(status);
});

test('what fails before the first byte is said, and what fails later cuts the stream', async () => {
  const lost = new MillraceError({ code: 'input_lost', what: 'It is gone.' });
  const failing = (after: number): ShuffleSource => ({
    register: () => {},
    async *fetch() {
      for (let at = 0; at < after; at += 1) yield chunk(at, 3);
      await Promise.reject(lost);
    },
  });
  const { port } = await serve(failing(0));
  const refused = await answerTo(port, get(pathOf(RANGE)));
  expect(statusIn(refused)).toBe('500');
  expect(refused).toContain('It is gone.');
  const second = await serve(failing(1));
  const answer = await answerTo(second.port, get(pathOf(RANGE)));
  expect(bytesIn(answer)).toBeLessThan(3 * CHUNK.length);
});

test.each([
  ['leaves a gap', (each: PartitionChunk) => ({ ...each, startOffset: each.startOffset + 1 })],
  ['is of another epoch', (each: PartitionChunk) => ({ ...each, epoch: 2 })],
])('a chunk that %s is not sent', async (_what, change) => {
  const { port } = await serve({
    register: () => {},
    async *fetch() {
      yield chunk(0, 3);
      yield change(chunk(1, 3));
    },
  });
  const answer = await answerTo(port, get(pathOf(RANGE)));
  expect(bytesIn(answer)).toBeLessThanOrEqual(CHUNK.length);
});

test.each([
  ['a head that never ends', 'GET / HTTP/1.1\r\nx: '],
  ['nothing', ''],
  ['the first letter', 'G'],
])('a connection that brings %s is closed', async (_what, text) => {
  const { port } = await serve(partition(1), { silentMs: 100 });
  expect(bytesIn(await answerTo(port, text))).toBeLessThan(100);
});

test('a handshake of TLS that is not begun ends its connection', async () => {
  const tls = await makeCertificate(await makeAuthority(), 'server');
  const { port } = await serve(partition(1), { tls, silentMs: 100 });
  expect(await answerTo(port, '')).toBe('');
});

test('requests that do not wait for their answers end their connection', async () => {
  let fetches = 0;
  const source = partition(1);
  const { port } = await serve({
    ...source,
    fetch(range, signal) {
      fetches += 1;
      return source.fetch(range, signal);
    },
  });
  const one = get(pathOf(RANGE), { connection: 'keep-alive' });
  expect(bytesIn(await answerTo(port, one.repeat(100)))).toBeLessThan(CHUNK.length);
  expect(fetches).toBe(2);
});

test('a reader may ask for more when it has all bytes, however late their end is noticed', async () => {
  const asked = deferred();
  let fetches = 0;
  const { port } = await serve({
    register: () => {},
    async *fetch() {
      fetches += 1;
      if (fetches === 2) asked.resolve();
      yield chunk(0, 1);
      await asked.promise;
    },
  });
  const socket = open(port);
  let received = 0;
  socket.on('data', (piece: Buffer) => {
    const isFirst = received < CHUNK.length;
    received += piece.length;
    if (isFirst && received > CHUNK.length) socket.write(get(pathOf(RANGE)));
  });
  socket.write(get(pathOf(RANGE), { connection: 'keep-alive' }));
  await once(socket, 'close');
  expect(received).toBeGreaterThan(2 * CHUNK.length);
});

test('a gRPC client that ends its side is let go', async () => {
  const { port } = await serve(partition(1));
  const socket = open(port).resume();
  socket.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0', 'latin1');
  await once(socket, 'data');
  socket.end();
  await once(socket, 'close');
  expect(socket.errored).toBeNull();
});

test('a stopping server closes connections that have said nothing', async () => {
  const { port, stop } = await serve(partition(1));
  const silent = open(port);
  await once(silent, 'connect');
  // They are accepted in order.
  await answerTo(port, get('/other'));
  const closed = once(silent.resume(), 'close');
  await stop();
  expect(await closed).toBeDefined();
});

test('a head that is too long is refused', async () => {
  const { port } = await serve(partition(1));
  const answer = await answerTo(port, get(pathOf(RANGE), { long: 'x'.repeat(9_000) }));
  expect(statusIn(answer)).toBe('431');
});

test.each([
  ['another method', 'POST / HTTP/1.1\r\nhost: here\r\ncontent-length: 5\r\n\r\nhello'],
  ['a handshake of TLS', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'],
])('%s ends its connection, and others go on', async (_what, text) => {
  const { port } = await serve(partition(1));
  await answerTo(port, `${text}${'\0'.repeat(64)}`);
  expect(statusIn(await answerTo(port, get(pathOf(RANGE))))).toBe('200');
});

test('a reader that leaves ends the reading', async () => {
  const left = deferred();
  const { port } = await serve(partition(1_000_000, left.resolve));
  const socket = open(port);
  socket.write(get(pathOf(RANGE)));
  await once(socket, 'data');
  socket.destroy();
  await left.promise;
  expect(statusIn(await answerTo(port, get('/other')))).toBe('404');
});

test('no more is read than a reader takes, and one that takes nothing is cut off', async () => {
  const left = deferred();
  let made = 0;
  const source = partition(1_000_000, left.resolve);
  const counted: ShuffleSource = {
    ...source,
    async *fetch(range, signal) {
      for await (const each of source.fetch(range, signal)) {
        made += 1;
        yield each;
      }
    },
  };
  const { port } = await serve(counted, { stalledMs: 200 });
  const socket = open(port).pause();
  socket.write(get(pathOf(RANGE)));
  await left.promise;
  // What the buffers of two sockets hold.
  expect(made).toBeLessThan(1_000);
});

test('a stopping server ends its streams', async () => {
  const left = deferred();
  const { address, stop } = await serve(partition(1_000_000, left.resolve));
  const reading = (async () => {
    const { signal } = new AbortController();
    for await (const { epoch } of channel().fetch(address, RANGE, signal)) {
      expect(epoch).toBe(1);
      await stop();
    }
  })();
  await expect(reading).rejects.toMatchObject({ code: 'unreachable' });
  await left.promise;
});
