/**
 * One port for gRPC and for plain streams of bytes. Whoever begins with `GET` speaks HTTP/1.1 and gets a stream; everything
 * else is passed to gRPC as it comes. Over TLS the two sides agree on the protocol by name (ALPN).
 */
import { lookup } from 'node:dns/promises';
import { createServer } from 'node:http';
import type { RequestListener, Server as HttpServer, ServerOptions } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { isIP } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { ServerTls } from './rpc-server.ts';

export interface FrontOptions {
  /** Those of one host: see `addressesOf`. */
  readonly addresses: readonly string[];
  /** 0 for any free one. */
  readonly port: number;
  readonly tls: ServerTls | null;
  /** Takes a connection that does not ask for a stream. */
  readonly toGrpc: (socket: Socket) => void;
  readonly streams: RequestListener;
  /** How long a connection may take to say what it is for. */
  readonly silentMs: number;
}

export interface Front {
  readonly port: number;
  /** Accepts nothing new. */
  stop(): void;
  /** Closes all connections that are left, also those that have said nothing yet. */
  close(): void;
}

/** `G`: no other beginning of a gRPC connection has it. */
const FIRST_OF_GET = 0x47;
const HEAD_BYTES_MAX: number = 8 * 1_024;
/** Longer than clients keep one for their next request. */
const IDLE_MS = 30_000;

/** A stream has a limit of its own: how long its reader may take nothing. */
function limits(silentMs: number): ServerOptions {
  return {
    maxHeaderSize: HEAD_BYTES_MAX,
    headersTimeout: silentMs,
    requestTimeout: silentMs,
    connectionsCheckingInterval: Math.ceil(silentMs / 4),
    keepAliveTimeout: IDLE_MS,
  };
}

/** Resolves when it listens, at every one of the addresses that there is. */
export async function openFront(options: FrontOptions): Promise<Front> {
  const servers: HttpServer[] = [];
  const sockets = new Set<Socket>();
  const front = {
    port: options.port,
    stop: () => {
      for (const server of servers) server.close();
    },
    close: () => {
      for (const socket of sockets) socket.destroy();
    },
  };
  let absent: NodeJS.ErrnoException | null = null;
  for (const address of new Set(options.addresses)) {
    const server = dividing(options).prependListener('connection', (socket: Socket) => {
      sockets.add(socket);
      socket.once('close', () => sockets.delete(socket));
    });
    try {
      await listening(server, front.port, address);
      front.port = (server.address() as AddressInfo).port;
      servers.push(server);
    } catch (error) {
      absent = error as NodeJS.ErrnoException;
      if (NOT_HERE.has(absent.code)) continue;
      front.stop();
      throw error;
    }
  }
  if (servers.length === 0 && absent !== null) throw absent;
  return front;
}

/** A name may have an address that this machine does not. One that another process has would be answered by that one. */
const NOT_HERE: ReadonlySet<string | undefined> = new Set(['EADDRNOTAVAIL', 'EAFNOSUPPORT']);

export async function addressesOf(host: string): Promise<readonly string[]> {
  if (isIP(host) !== 0) return [host];
  return (await lookup(host, { all: true })).map(({ address }) => address);
}

function listening(server: HttpServer, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

function dividing(options: FrontOptions): HttpServer {
  const { tls, toGrpc, streams, silentMs } = options;
  if (tls === null) {
    const server = createServer(limits(silentMs), streams);
    const toHttp = taken(server, 'connection');
    return server.on('connection', (socket: Socket) => divide(socket, toHttp, options));
  }
  const server = createTlsServer(
    {
      ...limits(silentMs),
      ...tls,
      handshakeTimeout: silentMs,
      requestCert: tls.ca !== undefined,
      ALPNProtocols: ['h2', 'http/1.1'],
    },
    streams,
  );
  const toHttp = taken(server, 'secureConnection');
  return server.on('secureConnection', (socket: TLSSocket) => {
    (socket.alpnProtocol === 'h2' ? toGrpc : toHttp)(socket);
  });
}

/** What a server does with a new connection, which it does no longer by itself. */
function taken(server: HttpServer, event: string): (socket: Socket) => void {
  const listeners = server.listeners(event);
  server.removeAllListeners(event);
  return (socket) => {
    for (const listener of listeners) listener.call(server, socket);
  };
}

/** By its first byte, which is put back. */
function divide(
  socket: Socket,
  toHttp: (socket: Socket) => void,
  { toGrpc, silentMs }: FrontOptions,
): void {
  const end = (): void => void socket.destroy();
  socket.on('error', end);
  socket.setTimeout(silentMs, end);
  socket.once('data', (first: Buffer) => {
    socket.off('error', end);
    socket.setTimeout(0, end);
    socket.off('timeout', end);
    socket.pause();
    socket.unshift(first);
    if (first[0] !== FIRST_OF_GET) {
      // Only the HTTP server ends its side by itself.
      socket.allowHalfOpen = false;
      return toGrpc(socket);
    }
    toHttp(socket);
    socket.resume();
  });
}
