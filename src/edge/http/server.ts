/** The HTTP server: listens, guards its connections, and stops in order. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { getHeapStatistics } from 'node:v8';
import { type Calendar, type JobId, MillraceError } from '../../scheduler/core/index.ts';
import { type ByteBudget, type Clock, bracketed, budgetFor, systemClock } from '../../kit/index.ts';
import type { LeaderServices, QueryService, Reader } from '../../scheduler/contract/index.ts';
import {
  type Access,
  cannotListen,
  httpsOptions,
  isLoopback,
  type ServerTls,
} from '../security/index.ts';
import { Exchange, type ExchangeOptions } from './exchange.ts';
import { type ApiLimits, defaultApiLimits } from './limits.ts';
import { Metrics } from './metrics.ts';
import { describeApi } from './openapi.ts';
import type { Standing } from './ports.ts';
import { problemHeaders, problemOf } from './problem.ts';
import { HttpRefusal } from './refusal.ts';
import type { ApiParts } from './route.ts';
import { Router } from './router.ts';
import { ROUTES } from './routes/index.ts';

export interface ApiOptions {
  readonly host: string;
  /** 0 for any that is free. */
  readonly port: number;
  readonly tls?: ServerTls;
  readonly access: Access;
  readonly reader: Reader;
  /** The leader's services, where this node leads; throws `not_leader` elsewhere. */
  readonly leader: () => LeaderServices;
  /** Absent where queries cannot be read. */
  readonly queries?: QueryService;
  readonly standing: () => Standing;
  /** A fresh, unique id for a job whose caller chose none. */
  readonly newJobId: () => JobId;
  /** A bulk job was submitted. */
  readonly onBulk?: () => void;
  readonly version: string;
  /** Where people look at traces, with `{trace}` for the id. */
  readonly traceUrl?: string | null;
  /** Knows when schedules will run; without it only their next time is known. */
  readonly calendar?: Calendar;
  readonly clock?: Clock;
  readonly limits?: Partial<ApiLimits>;
  /** What requests may take in memory together, here and at other listeners of the process. */
  readonly intake?: ByteBudget;
  /** Something went wrong that no caller is to blame for. */
  readonly onFault?: (error: unknown) => void;
}

export interface Api {
  readonly port: number;
  /** For people on this machine, or by the name that the host is known by. */
  readonly url: string;
  /** So many jobs were submitted past this server. */
  countSubmitted(count: number): void;
  /** Accepts nothing new, ends streams, lets running requests finish for a while. */
  stop(): Promise<void>;
}

/** Resolves when it listens. */
export async function startApi(options: ApiOptions): Promise<Api> {
  const limits: ApiLimits = { ...defaultApiLimits, ...options.limits };
  const clock = options.clock ?? systemClock;
  let isStopping = false;
  const metrics = new Metrics(options);
  const shared = exchangeOptions(options, {
    limits,
    clock,
    metrics,
    isStopping: () => isStopping,
  });
  const running = new Map<Exchange, Promise<unknown>>();
  const answering = new WeakMap<Duplex, ServerResponse>();
  const serve =
    (expectsWord: boolean) =>
    (request: IncomingMessage, response: ServerResponse): void => {
      answering.set(request.socket, response);
      const exchange = new Exchange(request, response, shared, expectsWord);
      // An answer is finished when it has been sent, not when it is written. For a client that has left, the
      // wait ends although the answer may still be in progress.
      const over = new Promise<void>((resolve) => {
        response.once('close', () => resolve());
      });
      running.set(exchange, over);
      void over.then(() => running.delete(exchange));
      void exchange.run();
    };
  const server = guarded(listenerFor(options, limits), limits, answering);
  server.on('request', serve(false)).on('checkContinue', serve(true));
  try {
    await listening(server, options);
  } catch (error) {
    metrics.stop();
    throw error;
  }
  const { port } = server.address() as AddressInfo;
  return {
    port,
    countSubmitted: (count) => metrics.countSubmitted(count),
    url: `${options.tls === undefined ? 'http' : 'https'}://${bracketed(options.host)}:${port}`,
    async stop() {
      if (isStopping) return;
      isStopping = true;
      for (const exchange of running.keys()) exchange.stop();
      const closed = new Promise<void>((resolve) => {
        server.close(() => resolve());
      });
      await finished([...running.values()], clock, limits.graceMs);
      server.closeAllConnections();
      await closed;
      metrics.stop();
    },
  };
}

function exchangeOptions(
  options: ApiOptions,
  given: Pick<ExchangeOptions, 'clock' | 'metrics' | 'isStopping'> & { readonly limits: ApiLimits },
): ExchangeOptions {
  const { access, host, onFault = () => {} } = options;
  const { limits, ...rest } = given;
  const openapi = describeApi(ROUTES, options.version);
  const parts: ApiParts = {
    reader: options.reader,
    leader: options.leader,
    queries: () => options.queries ?? noQueries(),
    standing: options.standing,
    version: options.version,
    traceUrl: options.traceUrl ?? null,
    newJobId: options.newJobId,
    onBulk: options.onBulk ?? ((): void => {}),
    calendar: options.calendar ?? null,
    limits,
    metrics: given.metrics,
    openapi: () => openapi,
  };
  const isLocal = isLoopback(host);
  const { heap_size_limit: heapBytes } = getHeapStatistics();
  const intake = options.intake ?? budgetFor(heapBytes, limits.bodyBytesMax);
  return { ...rest, intake, router: new Router(ROUTES), parts, access, isLocal, onFault };
}

function noQueries(): never {
  throw new MillraceError({
    code: 'unimplemented',
    what: 'This node does not serve queries.',
    todo: 'Use a node that has access to the database.',
  });
}

function listenerFor({ tls }: ApiOptions, limits: ApiLimits): Server {
  const timeouts = {
    keepAliveTimeout: limits.keepAliveMs,
    headersTimeout: limits.headersMs,
    requestTimeout: limits.requestMs,
    connectionsCheckingInterval: limits.checkEveryMs,
  };
  return tls === undefined
    ? createServer(timeouts)
    : createTlsServer({ ...timeouts, ...httpsOptions(tls), handshakeTimeout: limits.headersMs });
}

/** A connection that sends and receives nothing is closed. */
function guarded(
  server: Server,
  limits: ApiLimits,
  answering: WeakMap<Duplex, ServerResponse>,
): Server {
  server.maxConnections = limits.connectionsMax;
  // Well beyond what a quiet stream of events takes between two signs of life.
  const silentMs = Math.max(limits.stallMs, limits.heartbeatMs) * 4;
  server.setTimeout(silentMs, (socket: Socket) => socket.destroy());
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    const last = answering.get(socket);
    // Within an answer another one would be taken for a part of it.
    const isWithin = last !== undefined && last.headersSent && !last.writableFinished;
    if (!socket.writable || isWithin || error.code === 'ECONNRESET') return void socket.destroy();
    socket.end(rawAnswer(refusalFor(error)));
  });
  return server;
}

function refusalFor({ code }: NodeJS.ErrnoException): HttpRefusal {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') {
    return new HttpRefusal('request_timeout', { what: 'The request was not received in time.' });
  }
  if (code === 'HPE_HEADER_OVERFLOW') {
    return new HttpRefusal('headers_too_large', { what: 'The headers are too large.' });
  }
  return new HttpRefusal('bad_request', { what: 'Not a valid HTTP request.' });
}

/** For a connection that never became a request. */
function rawAnswer(refusal: HttpRefusal): string {
  const problem = problemOf(refusal);
  const body = `${JSON.stringify(problem)}\n`;
  const headers = {
    ...problemHeaders(refusal, problem),
    'content-length': String(Buffer.byteLength(body)),
    connection: 'close',
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  const head = [`HTTP/1.1 ${problem.status} ${problem.title}`, ...lines].join('\r\n');
  return `${head}\r\n\r\n${body}`;
}

function listening(server: Server, { host, port }: ApiOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    const refused = (fault: Error): void =>
      reject(cannotListen(`${bracketed(host)}:${port}`, fault));
    server.once('error', refused);
    server.listen(port, host, () => {
      server.off('error', refused);
      resolve();
    });
  });
}

/** When all have finished, or after `ms`. */
async function finished(
  running: readonly Promise<unknown>[],
  clock: Clock,
  ms: number,
): Promise<void> {
  if (running.length === 0) return;
  await new Promise<void>((resolve) => {
    const cancel = clock.after(ms, resolve);
    void Promise.all(running).then(() => {
      cancel();
      resolve();
    });
  });
}
