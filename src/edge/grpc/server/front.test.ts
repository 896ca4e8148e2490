/** A name that has two addresses of this machine. */
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { openFront } from './front.ts';

async function taken(address: string): Promise<number> {
  const server = createServer().listen(0, address);
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

async function open(port: number, addresses: readonly string[]): Promise<number> {
  const front = await openFront({
    ...{ addresses, port, tls: null, silentMs: 1_000 },
    ...{ toGrpc: (socket) => void socket.destroy(), streams: () => {} },
  });
  onTestFinished(() => front.stop());
  return front.port;
}

test('a port that another process has at one of the addresses is in use', async () => {
  const port = await taken('127.0.0.2');
  await expect(open(port, ['127.0.0.1', '127.0.0.2'])).rejects.toMatchObject({
    code: 'EADDRINUSE',
  });
  // Nothing of it stays open.
  expect(await open(port, ['127.0.0.1'])).toBe(port);
});

test('an address that this machine does not have is left out, and one that is named twice opened once', async () => {
  expect(await open(0, ['192.0.2.1', '127.0.0.1', '127.0.0.1'])).toBeGreaterThan(0);
  await expect(open(0, ['192.0.2.1'])).rejects.toMatchObject({ code: 'EADDRNOTAVAIL' });
});
