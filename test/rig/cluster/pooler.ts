/**
 * A transaction pooler in front of PostgreSQL, as strict as they come: every transaction of a client runs
 * on another connection than the one before, so nothing sticks to a session: no settings, no locks, no
 * LISTEN and, on request, no prepared statements. Start-up parameters that it does not know are refused.
 */
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import { freePort } from './free-port.ts';
import { PoolerClient } from './pooler-client.ts';
import { ServerConnection, ServerPool } from './pooler-server.ts';
import { targetOf } from './proxy.ts';

export interface PoolerOptions {
  /** Connections to the server, for each user and database. */
  readonly connections?: number;
  readonly ignoredParameters?: readonly string[];
  /** `forgotten`: a statement is where it was prepared. `kept`: it is prepared where it is used. */
  readonly preparedStatements?: 'forgotten' | 'kept';
}

export interface Pooler {
  readonly url: string;
}

/** Ends with the test that starts it. */
export async function startPooler(url: string, options: PoolerOptions = {}): Promise<Pooler> {
  const pooler = await openPooler(url, options);
  onTestFinished(() => pooler.close());
  return pooler;
}

/** For whoever ends it himself. */
export async function openPooler(
  url: string,
  options: PoolerOptions = {},
): Promise<Pooler & { readonly close: () => void }> {
  const target = targetOf(url);
  const { connections = 4, ignoredParameters = [], preparedStatements = 'forgotten' } = options;
  const pools = new Map<string, ServerPool>();
  const poolOf = (user: string, database: string): ServerPool => {
    const name = `${user}/${database}`;
    const startup = Object.entries({ user, database });
    const pool =
      pools.get(name) ?? new ServerPool(connections, () => new ServerConnection(target, startup));
    pools.set(name, pool);
    return pool;
  };
  const clients = new Set<Socket>();
  const server = createServer((socket) => {
    clients.add(socket);
    socket.setNoDelay(true);
    socket.on('close', () => clients.delete(socket));
    void new PoolerClient(socket, { ignoredParameters, preparedStatements, poolOf }, nextClient());
  });
  const port = await freePort();
  const listening = once(server, 'listening');
  server.listen(port, '127.0.0.1');
  await listening;
  const close = (): void => {
    server.close();
    for (const socket of clients) socket.destroy();
    for (const pool of pools.values()) pool.end();
  };
  const through = new URL(url);
  through.hostname = '127.0.0.1';
  through.port = `${port}`;
  return { url: through.href, close };
}

let clientsSoFar = 0;

function nextClient(): number {
  clientsSoFar += 1;
  return clientsSoFar;
}
