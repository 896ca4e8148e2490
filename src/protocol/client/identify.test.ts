import { createServer } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import type { NodeId, SessionId } from '../../core/index.ts';
import { deferred } from '../../kit/index.ts';
import { Proxy } from '../../testing/cluster/proxy.ts';
import { freePort } from '../../testing/cluster/free-port.ts';
import { startRpcServer } from '../server/rpc-server.ts';
import type { RpcServer } from '../server/rpc-server.ts';
import { workerService } from '../server/small-services.ts';
import { identify } from './identify.ts';

const options = { tls: null };

async function workerServer(): Promise<RpcServer> {
  const identity = { nodeId: 'n1' as NodeId, sessionId: 's1' as SessionId };
  const server = await startRpcServer({
    host: '127.0.0.1',
    port: 0,
    tls: null,
    services: [workerService(() => identity)],
  });
  onTestFinished(() => server.stop(0));
  return server;
}

test('a worker says which session it has', async () => {
  const { address } = await workerServer();
  expect(await identify(address, options)).toEqual({ sessionId: 's1' });
});

test('where nobody listens, the connection is refused', async () => {
  expect(await identify(`127.0.0.1:${await freePort()}`, options)).toBe('refused');
});

test('a worker that has ended is told from one that is cut off', async () => {
  const server = await workerServer();
  const proxy = await Proxy.start({ host: '127.0.0.1', port: server.port });
  expect(await identify(proxy.address, options)).toEqual({ sessionId: 's1' });
  proxy.drop();
  expect(await identify(proxy.address, { ...options, timeoutMs: 50 })).toBe('silent');
  await proxy.refuse();
  expect(await identify(proxy.address, options)).toBe('refused');
});

test('somebody else at the address proves nothing', async () => {
  const stranger = createServer((socket) => {
    socket.on('error', () => {});
    socket.destroy();
  });
  const port = await freePort();
  const listening = deferred();
  stranger.listen(port, '127.0.0.1', () => listening.resolve());
  onTestFinished(() => void stranger.close());
  await listening.promise;
  expect(await identify(`127.0.0.1:${port}`, options)).toBe('silent');
});

test.each(['', 'nowhere', 'host:99999', ':1', 'a:b:1'])('%o is no address', async (address) => {
  expect(await identify(address, options)).toBe('silent');
});
