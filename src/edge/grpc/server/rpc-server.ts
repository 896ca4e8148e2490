/** A gRPC server: limits, keep-alive, access, health and reflection around any services. */
import { setMaxListeners } from 'node:events';
import { logVerbosity, Server, ServerCredentials, setLogVerbosity } from '@grpc/grpc-js';
import { MillraceError } from '../../../scheduler/core/index.ts';
import { type Clock, deferred, systemClock } from '../../../kit/index.ts';
import { channelOptions, STALLED_READER_MS, STOP_GRACE_MS, STREAMS_MAX } from '../limits.ts';
import type { KeepAlive } from '../limits.ts';
import type { ShuffleSource } from '../../../scheduler/contract/index.ts';
import { cannotListen } from '../../security/index.ts';
import { accessInterceptor } from './access.ts';
import type { AccessCheck } from './access.ts';
import { addressesOf, openFront } from './front.ts';
import type { Front } from './front.ts';
import { type RpcService, tolerant } from './handlers.ts';
import { partitionStreams } from './partition-streams.ts';

/** PEM texts. */
export interface ServerTls {
  readonly cert: string | Buffer;
  readonly key: string | Buffer;
  /** The authority that signs the certificates of clients; a client without one is refused. */
  readonly ca?: string | Buffer;
}

export interface RpcServerOptions {
  readonly host: string;
  /** 0 for any free one. */
  readonly port: number;
  readonly services: readonly RpcService[];
  /** Null for plain text. */
  readonly tls: ServerTls | null;
  /** Absent: every caller may do everything. */
  readonly access?: AccessCheck;
  readonly keepAlive?: KeepAlive;
  readonly requestBytesMax?: number;
  /** Whether it serves gRPC reflection; the default is yes. */
  readonly hasReflection?: boolean;
  /** Absent where no outputs are served as plain streams. */
  readonly streams?: StreamsOptions;
  readonly clock?: Clock;
}

export interface StreamsOptions {
  readonly source: () => ShuffleSource | null;
  /** How long a connection may take to say what it is for. */
  readonly silentMs?: number;
  /** How long a reader may take nothing. */
  readonly stalledMs?: number;
}

/** Of connections that have said nothing yet. */
const SILENT_MS = 10_000;

export interface RpcServer {
  readonly port: number;
  /** HOST:PORT */
  readonly address: string;
  /** The answer to health checks, for one service or for all. Nothing is served at first. */
  setServing(isServing: boolean, service?: string): void;
  /** Parked calls are answered, others may end within the limit, then connections are closed. */
  stop(graceMs?: number): Promise<void>;
}

export async function startRpcServer(options: RpcServerOptions): Promise<RpcServer> {
  // Its output is in our errors as well.
  if (process.env['GRPC_VERBOSITY'] === undefined) setLogVerbosity(logVerbosity.NONE);
  const { services, access, clock = systemClock } = options;
  const life = new AbortController();
  // One listener for each call that is parked.
  setMaxListeners(0, life.signal);
  const server = new Server({
    ...channelOptions('server', options.keepAlive, options.requestBytesMax),
    'grpc.max_concurrent_streams': STREAMS_MAX,
    ...(access === undefined ? {} : { interceptors: [accessInterceptor(access)] }),
  });
  for (const service of services) {
    server.addService(tolerant(service.definition), service.handlers(life.signal));
  }
  // A process that is only a client never needs these.
  const { addHealth } = await import('./health.ts');
  const names = services.map(({ definition }) => serviceName(definition));
  if (options.hasReflection ?? true) {
    (await import('./reflection.ts')).addReflection(server, names);
  }
  const health = addHealth(server, names);
  const front = await frontOf(server, life.signal, options);
  const port = front?.port ?? (await bind(server, options));
  const setServing = (isServing: boolean, service?: string): void => {
    for (const name of service === undefined ? ['', ...names] : [service]) {
      health.set(name, isServing);
    }
  };
  let stopped: Promise<void> | null = null;
  return {
    port,
    address: authority(options.host, port),
    setServing,
    stop(graceMs = STOP_GRACE_MS) {
      setServing(false);
      life.abort();
      front?.stop();
      stopped ??= shutDown(server, clock, graceMs).then(() => front?.close());
      return stopped;
    },
  };
}

/** HOST:PORT, with brackets around an IPv6 address. */
export function authority(host: string, port: number): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

function serviceName(definition: RpcService['definition']): string {
  const path = Object.values(definition)[0]?.path ?? '';
  return path.split('/')[1] ?? '';
}

function bind(server: Server, options: RpcServerOptions): Promise<number> {
  const { host, port } = options;
  const bound = deferred<number>();
  server.bindAsync(authority(host, port), serverCredentials(options.tls), (fault, actual) => {
    if (fault === null) bound.resolve(actual);
    else bound.reject(cannotListen(authority(host, port), fault));
  });
  return bound.promise;
}

/** Where streams are served, the port is not gRPC's own. */
async function frontOf(
  server: Server,
  life: AbortSignal,
  { host, port, tls, access, streams, clock = systemClock }: RpcServerOptions,
): Promise<Front | null> {
  if (streams === undefined) return null;
  const { source, silentMs = SILENT_MS, stalledMs = STALLED_READER_MS } = streams;
  // What is wrong with the certificate is found here.
  serverCredentials(tls);
  const grpc = server.createConnectionInjector(ServerCredentials.createInsecure());
  try {
    return await openFront({
      addresses: await addressesOf(host),
      ...{ port, tls, silentMs },
      toGrpc: (socket) => grpc.injectConnection(socket),
      streams: partitionStreams({ source, access, life, clock, stalledMs }),
    });
  } catch (error) {
    throw cannotListen(
      authority(host, port),
      error instanceof Error ? error : new Error(String(error)),
    );
  }
}

function serverCredentials(tls: ServerTls | null): ServerCredentials {
  if (tls === null) return ServerCredentials.createInsecure();
  const { cert, key, ca } = tls;
  const pair = { cert_chain: Buffer.from(cert), private_key: Buffer.from(key) };
  try {
    return ServerCredentials.createSsl(
      ca === undefined ? null : Buffer.from(ca),
      [pair],
      ca !== undefined,
    );
  } catch (cause) {
    throw new MillraceError({
      code: 'bad_setting',
      what: 'The TLS certificate and key cannot be used.',
      ...(cause instanceof Error ? { why: `${cause.message}.` } : {}),
      todo: 'Give a PEM certificate and its matching private key.',
      cause,
    });
  }
}

async function shutDown(server: Server, clock: Clock, graceMs: number): Promise<void> {
  const closed = deferred();
  const cancelTimer = clock.after(graceMs, () => {
    server.forceShutdown();
    closed.resolve();
  });
  server.tryShutdown(() => closed.resolve());
  await closed.promise;
  cancelTimer();
}
