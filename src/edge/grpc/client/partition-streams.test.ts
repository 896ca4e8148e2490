import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { makeAuthority, makeCertificate } from '../../../../test/rig/certificates.ts';
import {
  QUERY,
  bytes,
  channel,
  keep,
  openStore,
  serveStore,
} from '../../../../test/rig/shuffle-node.ts';
import { deferred, systemClock } from '../../../kit/index.ts';
import type { PartitionRange } from '../../../scheduler/contract/index.ts';
import { shuffleSource } from '../../../sql/shuffle/index.ts';
import { startRpcServer } from '../server/rpc-server.ts';
import { shuffleService } from '../server/shuffle-service.ts';
import { BYTES_TYPE, CHUNK_HEADER, ERROR_TYPE, headText } from '../stream-format.ts';
import type { ConnectionOptions } from './connections.ts';
import { PartitionStreams } from './partition-streams.ts';
import { ShuffleChannel } from './shuffle-channel.ts';

const RANGE: PartitionRange = {
  ...{ query: QUERY, stage: 0, mapTask: 0, attempt: 0, fence: 1, partition: 0 },
  ...{ startOffset: 0, maxBytes: 0, layoutVersion: 0, minEpoch: 0 },
};
const forEver = new AbortController().signal;

function streams(stalledMs = 10_000, tls: ConnectionOptions['tls'] = null): PartitionStreams {
  const made = new PartitionStreams({ tls, clock: systemClock, stalledMs });
  onTestFinished(() => made.close());
  return made;
}

/** The whole partition; null if it has to be fetched over gRPC. */
async function fetched(
  from: PartitionStreams,
  address: string,
  range: Partial<PartitionRange> = {},
): Promise<Buffer | null> {
  const stream = await from.fetch(address, { ...RANGE, ...range }, forEver);
  if (stream === null) return null;
  const pieces: Buffer[] = [];
  for await (const { payload } of stream) pieces.push(Buffer.from(payload));
  return Buffer.concat(pieces);
}

/** A node that says something else. */
async function odd(answer: (socket: Socket) => void): Promise<string> {
  const server = createServer((socket) => {
    socket.on('error', () => {});
    onTestFinished(() => void socket.destroy());
    socket.once('data', () => answer(socket));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const END = 10;
const whole = { startOffset: 0, watermarkOffset: END, isFinalized: true, epoch: 1 };
const head = headText({ ...whole, payload: Buffer.alloc(0), endOffset: END });
const answer = (length: number, body: string, type = BYTES_TYPE): string =>
  `HTTP/1.1 200 OK\r\ncontent-type: ${type}\r\ncontent-length: ${length}\r\n${CHUNK_HEADER}: ${head}\r\n\r\n${body}`;

test('many ranges come over one connection, and are what was written', async () => {
  const store = await openStore();
  const content = bytes(5 * 2 ** 20 + 17);
  await keep(store, 's0.0', [[content.subarray(0, 1_000_000), content.subarray(1_000_000)]]);
  const { address } = await serveStore(store);
  const from = streams();
  const pieces: Buffer[] = [];
  for (let startOffset = 0; startOffset < content.length; startOffset += 700_001) {
    pieces.push((await fetched(from, address, { startOffset, maxBytes: 700_001 }))!);
  }
  expect(Buffer.compare(Buffer.concat(pieces), content)).toBe(0);
  expect(await fetched(from, address, { startOffset: content.length })).toEqual(Buffer.alloc(0));
});

test.each(['in plain text', 'over TLS'])('a slow reader gets every byte, %s', async (how) => {
  const store = await openStore();
  const content = bytes(8 * 2 ** 20);
  await keep(store, 's0.0', [[content]]);
  const source = shuffleSource(store);
  const ca = await makeAuthority();
  const known = { ...(await makeCertificate(ca, 'worker')), ca: ca.cert };
  const server = await startRpcServer({
    ...{ host: '127.0.0.1', port: 0, hasReflection: false, services: [] },
    tls: how === 'over TLS' ? known : null,
    streams: { source: () => source },
  });
  onTestFinished(() => server.stop(0));
  const from = streams(10_000, how === 'over TLS' ? known : null);
  const stream = await from.fetch(server.address, RANGE, forEver);
  let offset = 0;
  for await (const { payload, startOffset } of stream!) {
    // Everything that has come meanwhile is there when it asks for more, and more than was to come yet.
    for (let round = 0; round < 10; round += 1) await readFile(import.meta.filename);
    expect(startOffset).toBe(offset);
    expect(Buffer.compare(payload, content.subarray(offset, offset + payload.length))).toBe(0);
    offset += payload.length;
  }
  expect(offset).toBe(content.length);
});

test('what the other side throws is thrown here', async () => {
  const store = await openStore();
  const { address } = await serveStore(store);
  await expect(fetched(streams(), address)).rejects.toMatchObject({
    code: 'conflict',
    what: 'map output not registered for requested attempt',
  });
});

test('a node that serves no streams is asked over gRPC, and tried once', async () => {
  const store = await openStore();
  await keep(store, 's0.0', [[bytes(100)]]);
  const { address } = await serveStore(store, 'gRPC');
  expect(await fetched(streams(), address)).toBeNull();
  const through = channel();
  for (let round = 0; round < 2; round += 1) {
    for await (const { endOffset } of through.fetch(address, RANGE, forEver)) {
      expect(endOffset).toBe(100);
    }
  }
  let asked = 0;
  const other = await odd((socket) => {
    asked += 1;
    socket.end('HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n');
  });
  const from = streams();
  expect(await fetched(from, other)).toBeNull();
  expect(await fetched(from, other)).toBeNull();
  expect(asked).toBe(1);
});

test.each([
  ['nothing of HTTP', '\0\0\0\x04\0\0\0\0\0\0\0'],
  ['a head without an end', `HTTP/1.1 200 OK\r\n${'x: y\r\n'.repeat(10_000)}`],
  ['a page', answer(10, '0123456789', 'text/html')],
  ['a length that is none', answer(NaN, '0123456789')],
  ['an error that is too long', answer(2 ** 30, 'x', ERROR_TYPE)],
  ['an error that is cut', answer(100, 'x', ERROR_TYPE)],
])('%s means that there are no streams', async (_what, text) => {
  const address = await odd((socket) => socket.end(text, 'latin1'));
  expect(await fetched(streams(), address)).toBeNull();
});

test.each([
  ['another length than its head says', answer(11, '01234567890'), 'invariant'],
  ['more bytes than it says', answer(10, '0123456789more'), 'invariant'],
  ['fewer bytes than it says', answer(10, '01234'), 'unreachable'],
])('an answer of %s is an error', async (_what, text, code) => {
  const address = await odd((socket) => socket.end(text, 'latin1'));
  await expect(fetched(streams(), address)).rejects.toMatchObject({ code });
});

test.each([
  ['before its answer', ''],
  ['within its head', 'HTTP/1.1 200'],
  ['within its bytes', answer(10, '01234')],
])('a node that stops %s is given up', async (_what, text) => {
  const address = await odd((socket) => socket.write(text, 'latin1'));
  await expect(fetched(streams(50), address)).rejects.toMatchObject({
    code: 'unreachable',
    what: `The worker at ${address} stopped sending data.`,
  });
});

test.each([
  ['a head', 'x'],
  ['an error', answer(60_000, 'x', ERROR_TYPE)],
])('a node that sends %s a byte at a time is given up', async (_what, text) => {
  const address = await odd((socket) => {
    const send = (next: string): void => {
      socket.write(next, 'latin1');
      const cancelTimer = systemClock.after(20, () => send('x'));
      socket.once('close', cancelTimer);
    };
    send(text);
  });
  await expect(fetched(streams(200), address)).rejects.toMatchObject({
    code: 'unreachable',
    what: `The worker at ${address} stopped sending data.`,
  });
});

test.each(['w:99999', 'w:-1', 'unix:/tmp/x', 'w'])(
  'an address that nothing can have, such as %j, is left to gRPC, which says so',
  async (address) => {
    expect(await fetched(streams(), address)).toBeNull();
    const reading = channel().fetch(address, RANGE, forEver);
    await expect(reading[Symbol.asyncIterator]().next()).rejects.toMatchObject({
      code: 'unreachable',
    });
  },
);

test('an abort before the first byte is read ends the stream', async () => {
  const address = await odd((socket) => socket.write(answer(10, '0123456789'), 'latin1'));
  const control = new AbortController();
  const stream = await streams().fetch(address, RANGE, control.signal);
  control.abort(new Error('not wanted'));
  const reading = (async () => {
    for await (const { endOffset } of stream ?? []) expect(endOffset).toBe(0);
  })();
  await expect(reading).rejects.toThrow('not wanted');
});

test.each([
  ['before its answer', ''],
  ['within its bytes', answer(10, '01234')],
])('an abort ends a call %s, with its reason', async (_what, text) => {
  const control = new AbortController();
  const gone = deferred();
  const address = await odd((socket) => {
    socket.once('close', () => gone.resolve());
    socket.write(text, 'latin1');
    control.abort(new Error('not wanted'));
  });
  const from = streams();
  const reading = (async () => {
    const stream = await from.fetch(address, RANGE, control.signal);
    for await (const { endOffset } of stream ?? []) expect(endOffset).toBeLessThan(END);
  })();
  await expect(reading).rejects.toThrow('not wanted');
  await gone.promise;
});

test('a kept connection that was closed meanwhile is replaced', async () => {
  let connections = 0;
  const address = await odd((socket) => {
    connections += 1;
    socket.write(answer(10, '0123456789'), 'latin1');
    // The second question comes over the same connection.
    socket.once('data', () => socket.destroy());
  });
  const from = streams();
  for (let round = 0; round < 3; round += 1) {
    expect(String(await fetched(from, address))).toBe('0123456789');
  }
  expect(connections).toBe(3);
});

test('a stream that ends after the closing leaves no connection', async () => {
  const gone = deferred();
  const address = await odd((socket) => {
    socket.once('close', () => gone.resolve());
    socket.write(answer(10, '0123456789'), 'latin1');
  });
  // An idle connection would be kept for ever.
  const clock = { ...systemClock, after: () => () => {} };
  const from = new PartitionStreams({ tls: null, clock, stalledMs: 10_000 });
  const stream = await from.fetch(address, RANGE, forEver);
  from.close();
  for await (const { endOffset } of stream!) expect(endOffset).toBe(END);
  await gone.promise;
});

test('with TLS both sides know each other, and a stranger gets nothing', async () => {
  const store = await openStore();
  const content = bytes(2 * 2 ** 20);
  await keep(store, 's0.0', [[content]]);
  const ca = await makeAuthority();
  const own = await makeCertificate(ca, 'worker');
  const source = shuffleSource(store);
  const serve = async (hasStreams: boolean): Promise<string> => {
    const server = await startRpcServer({
      ...{ host: '127.0.0.1', port: 0, hasReflection: false },
      tls: { ...(await makeCertificate(ca, 'server')), ca: ca.cert },
      services: [shuffleService(() => source)],
      ...(hasStreams ? { streams: { source: () => source } } : {}),
    });
    onTestFinished(() => server.stop(0));
    return server.address;
  };
  const all = async (address: string, tls: object): Promise<Buffer> => {
    const through = new ShuffleChannel({ tls });
    onTestFinished(() => through.close());
    const pieces: Buffer[] = [];
    for await (const { payload } of through.fetch(address, RANGE, forEver)) {
      pieces.push(Buffer.from(payload));
    }
    return Buffer.concat(pieces);
  };
  const known = { ...own, ca: ca.cert };
  for (const address of [await serve(true), await serve(false)]) {
    expect(Buffer.compare(await all(address, known), content)).toBe(0);
    const other = await makeAuthority('other');
    for (const tls of [{ ca: ca.cert }, { ...own, ca: other.cert }]) {
      await expect(all(address, tls)).rejects.toMatchObject({ code: 'unreachable' });
    }
  }
  const from = new PartitionStreams({ tls: known, clock: systemClock, stalledMs: 10_000 });
  onTestFinished(() => from.close());
  expect((await fetched(from, await serve(true)))?.length).toBe(content.length);
  expect(await fetched(from, await serve(false))).toBeNull();
});
