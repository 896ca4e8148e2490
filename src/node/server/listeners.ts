/** Where a node is reached: gRPC for nodes, HTTP for people. */
import { hostname } from 'node:os';
import { getHeapStatistics } from 'node:v8';
import type { MessagePort } from 'node:worker_threads';
import { uuidv7 } from 'uuidv7';
import { jobText, startApi } from '../../edge/http/index.ts';
import { jobMethods, servePort, workerMethods } from '../../edge/local/index.ts';
import type { LocalMethods, WhenEnded } from '../../edge/local/index.ts';
import type { Api, Standing } from '../../edge/http/index.ts';
import type { Config } from '../config/index.ts';
import { cronCalendar } from '../../scheduler/coordinator/index.ts';
import type { LeaderGateway } from '../../scheduler/coordinator/index.ts';
import type { JobId } from '../../scheduler/core/index.ts';
import { type ByteBudget, bracketed, budgetFor, isWildcard } from '../../kit/index.ts';
import { millraceVersion } from '../../scheduler/contract/index.ts';
import {
  controlPlaneService,
  heartbeatService,
  keepAliveFor,
  shuffleService,
  startRpcServer,
} from '../../edge/grpc/index.ts';
import type {
  QueryService,
  Reader,
  ResultRegistry,
  Session,
  ShuffleSource,
  WorkerService,
} from '../../scheduler/contract/index.ts';
import type { RpcServer } from '../../edge/grpc/index.ts';
import { rpcAccess } from '../../edge/security/index.ts';
import type { NodeCredentials } from './credentials.ts';
import type { Addresses } from './role.ts';

export interface ListenersOptions {
  readonly config: Config;
  readonly credentials: NodeCredentials;
  readonly hasReflection: boolean;
  readonly gateway: LeaderGateway;
  readonly reader: Reader;
  /** Null where queries cannot be read. */
  readonly queries: QueryListeners | null;
  readonly standing: () => Standing;
  readonly onFault: (error: unknown) => void;
  /** A bulk job was submitted here. */
  readonly onBulk: () => void;
  readonly onWorkerHeard: (session: Session) => void;
  readonly onWorkerRenewed: (session: Session) => void;
  readonly onWorkerLost: (session: Session) => void;
}

export interface QueryListeners {
  readonly service: QueryService;
  readonly shuffle: ShuffleSource;
  readonly registry: ResultRegistry;
  readonly whenEnded: WhenEnded;
}

export class Listeners {
  readonly addresses: Addresses;
  readonly #rpc: RpcServer;
  readonly #api: Api;
  readonly #withdrawn: () => void;
  readonly #methods: LocalMethods;
  readonly #ports: Set<MessagePort> = new Set();
  readonly #onFault: (error: unknown) => void;

  static async open(options: ListenersOptions): Promise<Listeners> {
    const { heap_size_limit: heapBytes } = getHeapStatistics();
    const intake = budgetFor(heapBytes, options.config.node.requestBytesMax);
    const rpc = await openRpc(options, intake);
    try {
      const api = await openApi(options, intake);
      for (const { port } of [api, rpc]) options.credentials.published(port);
      return new Listeners(options, { rpc, api, methods: localMethods(options, intake, api) });
    } catch (error) {
      await rpc.stop(0);
      throw error;
    }
  }

  private constructor({ config, credentials, onFault }: ListenersOptions, opened: Opened) {
    const { rpc, api, methods } = opened;
    const given = config.node.advertise ?? config.node.host;
    const host = bracketed(isWildcard(given) ? hostname() : given);
    const scheme = credentials.tls === undefined ? 'http' : 'https';
    this.addresses = { url: `${scheme}://${host}:${api.port}`, grpc: `${host}:${rpc.port}` };
    this.#rpc = rpc;
    this.#api = api;
    this.#withdrawn = () => credentials.withdrawn();
    this.#methods = methods;
    this.#onFault = onFault;
  }

  /** Serves another thread of this process, which is trusted like this one. */
  serveLocal(port: MessagePort): void {
    this.#ports.add(port);
    port.once('close', () => this.#ports.delete(port));
    servePort({ ...this.#methods, port, onFault: this.#onFault });
  }

  /** Updates the answer to health checks. */
  setServing(isServing: boolean): void {
    this.#rpc.setServing(isServing);
  }

  async close(): Promise<void> {
    await Promise.all([this.#api.stop(), this.#rpc.stop()]);
    for (const port of this.#ports) port.close();
    this.#withdrawn();
  }
}

interface Opened {
  readonly rpc: RpcServer;
  readonly api: Api;
  readonly methods: LocalMethods;
}

/** The hot path of a program that has this node in a thread. */
function localMethods(options: ListenersOptions, intake: ByteBudget, api: Api): LocalMethods {
  const { config, gateway, reader, queries, onWorkerHeard, onWorkerRenewed } = options;
  const ofWorkers = workerMethods({
    workers: () => gateway.leader().workers,
    onPoll: onWorkerHeard,
    onHeartbeat: onWorkerRenewed,
  });
  if (queries === null) return { methods: ofWorkers };
  const { methods, waits } = jobMethods({
    jobs: () => gateway.leader().jobs,
    reader,
    textOf: jobText,
    ended: (id, ms, signal) => queries.service.ended(id, ms, signal),
    whenEnded: queries.whenEnded,
    intake,
    bytesMax: config.node.requestBytesMax,
    onSubmitted: (count) => api.countSubmitted(count),
  });
  return { methods: { ...ofWorkers, ...methods }, waits };
}

/** What heartbeats may wait for others, of the time between two of a worker: 20 ms by default, in which a thousand workers
 * send seven. */
const GATHERED = 1 / 150;

function openRpc(options: ListenersOptions, intake: ByteBudget): Promise<RpcServer> {
  const { config, credentials, gateway, reader, queries } = options;
  const { onWorkerHeard, onWorkerRenewed, onWorkerLost } = options;
  const { host, grpcPort } = config.node;
  const { tls, access } = credentials;
  const workers = (): WorkerService => gateway.leader().workers;
  return startRpcServer({
    host,
    port: grpcPort,
    services: [
      controlPlaneService({
        workers,
        jobs: () => gateway.leader().jobs,
        reader,
        ...(queries === null ? {} : { queries: queries.service, registry: queries.registry }),
        whoLeads: () => gateway.whoLeads(),
        onPoll: onWorkerHeard,
        onHeartbeat: onWorkerRenewed,
        onConnectionLost: onWorkerLost,
        gatherMs: config.core.heartbeatMs * GATHERED,
        intake,
      }),
      heartbeatService({ workers, onHeartbeat: onWorkerRenewed }),
      shuffleService(() => queries?.shuffle ?? null),
    ],
    tls: tls === undefined ? null : pem(tls),
    keepAlive: keepAliveFor(config.core.sessionTtlMs),
    requestBytesMax: config.node.grpcMessageBytesMax,
    hasReflection: options.hasReflection,
    access: rpcAccess(access),
  });
}

function openApi(options: ListenersOptions, intake: ByteBudget): Promise<Api> {
  const { config, credentials, gateway, reader, queries, standing, onFault } = options;
  const { host, port } = config.node;
  const { tls, access } = credentials;
  return startApi({
    host,
    port,
    ...(tls === undefined ? {} : { tls }),
    access,
    reader,
    ...(queries === null ? {} : { queries: queries.service }),
    leader: () => gateway.leader(),
    standing,
    newJobId: () => uuidv7() as JobId,
    onBulk: options.onBulk,
    version: millraceVersion(),
    traceUrl: config.node.traceUrl ?? null,
    calendar: cronCalendar,
    limits: {
      bodyBytesMax: config.node.requestBytesMax,
      sseClientsMax: config.node.sseClientsMax,
      stallMs: config.node.sseSlowClientMs,
      heartbeatMs: config.node.sseKeepAliveMs,
    },
    intake,
    onFault,
  });
}

function pem({ cert, key, ca }: NonNullable<NodeCredentials['tls']>): {
  readonly cert: Buffer;
  readonly key: Buffer;
  readonly ca?: Buffer;
} {
  return ca === undefined ? { cert, key } : { cert, key, ca };
}
