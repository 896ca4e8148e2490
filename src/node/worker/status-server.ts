/** The HTTP server of a worker: liveness, readiness and metrics. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { isMillraceError } from '../../scheduler/core/index.ts';
import { MetricsPage } from '../../kit/index.ts';
import {
  checkPage,
  httpsOptions,
  isLoopback,
  type Access,
  type ServerTls,
} from '../../edge/security/index.ts';

export interface StatusServerOptions {
  readonly host: string;
  /** 0 for any free one. */
  readonly port: number;
  readonly tls: ServerTls | undefined;
  readonly access: Access;
  readonly isRegistered: () => boolean;
  readonly metrics: () => string;
}

export interface StatusServer {
  readonly port: number;
  close(): Promise<void>;
}

interface Answer {
  readonly status: number;
  readonly type?: string;
  readonly text: string;
}

/** A scrape is short: a connection is not held open for long. */
const TIMEOUTS = { headersTimeout: 10_000, requestTimeout: 10_000, keepAliveTimeout: 30_000 };
const CONNECTIONS_MAX = 64;

/** Resolves when it listens. */
export async function startStatusServer(options: StatusServerOptions): Promise<StatusServer> {
  const { tls, host, port } = options;
  const serve = (request: IncomingMessage, response: ServerResponse): void => {
    void answer(request, options).then(({ status, type = 'text/plain; charset=utf-8', text }) => {
      const headers = { 'content-type': type, 'cache-control': 'no-store' };
      response.writeHead(status, { ...headers, 'x-content-type-options': 'nosniff' });
      response.end(request.method === 'HEAD' ? undefined : text);
    });
  };
  const server =
    tls === undefined
      ? createServer(TIMEOUTS, serve)
      : createTlsServer({ ...TIMEOUTS, ...httpsOptions(tls) }, serve);
  server.maxConnections = CONNECTIONS_MAX;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve();
    });
  });
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function answer(request: IncomingMessage, options: StatusServerOptions): Promise<Answer> {
  const [path = ''] = (request.url ?? '').split('?');
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    return { status: 405, text: 'Only GET is answered here.\n' };
  }
  switch (path) {
    case '/healthz':
      return { status: 200, text: 'ok\n' };
    case '/readyz':
      return options.isRegistered()
        ? { status: 200, text: 'ok\n' }
        : { status: 503, text: 'The worker has no session with a leader.\n' };
    case '/metrics':
      return metrics(request, options);
    default:
      return { status: 404, text: 'This worker serves /metrics, /healthz and /readyz.\n' };
  }
}

async function metrics(
  { headers, socket, method = '' }: IncomingMessage,
  { access, host, metrics: text }: StatusServerOptions,
): Promise<Answer> {
  const { authorization } = headers;
  const { remoteAddress, remotePort, localAddress, localPort } = socket;
  const peer = { connection: socket, remoteAddress, remotePort, localAddress, localPort };
  try {
    if (access.scope !== 'tokens') checkPage(headers, { method, isLocal: isLoopback(host) });
    await access.allow({ authorization, peer }, 'read');
    return { status: 200, type: MetricsPage.contentType, text: text() };
  } catch (error) {
    if (isMillraceError(error, 'unauthenticated')) return { status: 401, text: `${error.what}\n` };
    if (isMillraceError(error, 'forbidden')) return { status: 403, text: `${error.what}\n` };
    return { status: 500, text: 'The metrics could not be read.\n' };
  }
}
