import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { deferred } from '../../../src/kit/index.ts';
import { Proxy } from './proxy.ts';

/** A server that echoes and records what it receives. */
async function echo(): Promise<{ port: number; host: string; heard: string[] }> {
  const heard: string[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('data', (chunk) => {
      heard.push(String(chunk));
      socket.write(chunk);
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { host: '127.0.0.1', port: (server.address() as { port: number }).port, heard };
}

async function dial(proxy: Proxy): Promise<Socket> {
  const socket = connect(proxy.port, proxy.host);
  onTestFinished(() => void socket.destroy());
  await once(socket, 'connect');
  return socket;
}

async function ask(socket: Socket, words: string): Promise<string> {
  socket.write(words);
  return String((await once(socket, 'data'))[0]);
}

/** Whoever asks later is answered later: what the silent one said is certainly not on its way. */
async function meanwhile(target: { host: string; port: number }): Promise<void> {
  const other = await Proxy.start(target);
  await ask(await dial(other), 'meanwhile');
}

test('a proxy forwards both ways, and the end of one side too', async () => {
  const proxy = await Proxy.start(await echo());
  const socket = await dial(proxy);
  expect(await ask(socket, 'hello')).toBe('hello');
  socket.end();
  await once(socket, 'close');
  expect(proxy.accepted).toBe(1);
});

test('in silence nothing arrives and nothing is closed; healed, it arrives late', async () => {
  const target = await echo();
  const proxy = await Proxy.start(target);
  const socket = await dial(proxy);
  await ask(socket, 'before');
  proxy.drop();
  const answer = once(socket, 'data');
  socket.write('into the void');
  await meanwhile(target);
  expect(target.heard).toEqual(['before', 'meanwhile']);
  expect(socket.closed).toBe(false);
  await proxy.heal();
  expect(String((await answer)[0])).toBe('into the void');
});

test('a silent way back lets requests through', async () => {
  const target = await echo();
  const proxy = await Proxy.start(target);
  const socket = await dial(proxy);
  await ask(socket, 'before');
  proxy.drop('answers');
  const answered = deferred<string>();
  let isAnswered = false;
  socket.once('data', (chunk) => {
    isAnswered = true;
    answered.resolve(String(chunk));
  });
  socket.write('done, but who knows');
  while (target.heard.length < 2) await turnOfTheLoop();
  await meanwhile(target);
  expect(isAnswered).toBe(false);
  await proxy.heal();
  expect(await answered.promise).toBe('done, but who knows');
});

function turnOfTheLoop(): Promise<void> {
  const turn = deferred();
  setImmediate(turn.resolve);
  return turn.promise;
}

test('a server that goes away in silence leaves a connection that knows nothing of it', async () => {
  const target = await echo();
  const proxy = await Proxy.start(target);
  const socket = await dial(proxy);
  await ask(socket, 'before');
  proxy.drop();
  const late = await dial(proxy);
  late.write('anybody there?');
  await meanwhile(target);
  expect([socket.closed, late.closed]).toEqual([false, false]);
  expect(target.heard).not.toContain('anybody there?');
});

test('a cut resets what is open and takes new connections', async () => {
  const proxy = await Proxy.start(await echo());
  const socket = await dial(proxy);
  await ask(socket, 'before');
  const failure = once(socket, 'error');
  proxy.cut();
  expect((await failure)[0]).toMatchObject({ code: 'ECONNRESET' });
  expect(await ask(await dial(proxy), 'again')).toBe('again');
});

test('a proxy that refuses can be healed, on the same port', async () => {
  const proxy = await Proxy.start(await echo());
  await proxy.refuse();
  await expect(dial(proxy)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  await proxy.heal();
  expect(await ask(await dial(proxy), 'back')).toBe('back');
});

test('a slow network keeps the order', async () => {
  const proxy = await Proxy.start(await echo());
  const socket = await dial(proxy);
  proxy.delay(30);
  const startedAt = performance.now();
  expect(await ask(socket, 'slowly')).toBe('slowly');
  expect(performance.now() - startedAt).toBeGreaterThanOrEqual(58);
});
