/**
 * Sockets that send small packets at once. The driver leaves Nagle's algorithm on and has no setting for it: a small packet then
 * waits until the server has acknowledged the one before, which it does after 40 ms if it has nothing to say. A COPY waited
 * twice: 88 ms instead of 2 (seen).
 */
import { Socket } from 'node:net';
import postgres from 'postgres';

export interface OwnSocket {
  /** The driver has it, its types do not. */
  readonly socket?: () => Socket;
}

/** Among several hosts the driver chooses, and a socket of the file system sends no packets: it opens those itself. */
export function ownSocket(url: string): OwnSocket {
  const { host: hosts, port: ports, path } = postgres(url).options;
  const [host, port] = [hosts[0], ports[0]];
  if (path || hosts.length > 1 || host === undefined || port === undefined) return {};
  return { socket: () => opened(host, port) };
}

/** The driver writes to it in the next turn of the event loop, and only after that may it fail. */
function opened(host: string, port: number): Socket {
  const socket = new Socket({ noDelay: true } as ConstructorParameters<typeof Socket>[0]);
  socket.cork();
  const connect = (): void => {
    if (!socket.destroyed) socket.connect(port, host);
    socket.uncork();
  };
  setImmediate(() => setImmediate(connect));
  // For TLS, and for what the driver says of it.
  return Object.assign(socket, { host, port });
}
