/** A node that is nothing but its gRPC server, over ports that the test gives. */
import { onTestFinished } from 'vitest';
import type { JobService, WorkerService, Reader } from '../../src/scheduler/contract/index.ts';
import type {
  ControlPlaneOptions,
  LeaderChannelOptions,
  RpcService,
  RpcServer,
  RpcServerOptions,
} from '../../src/edge/grpc/index.ts';
import {
  controlPlaneService,
  heartbeatService,
  LeaderChannel,
  shuffleService,
  startRpcServer,
} from '../../src/edge/grpc/index.ts';

/** A port that answers only what the test expects to be asked. */
export function only<T extends object>(given: Partial<T>): T {
  return new Proxy(given as T, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (value !== undefined) return value;
      return () => Promise.reject(new Error(`${String(name)} was not expected`));
    },
  });
}

export interface WireNodeOptions
  extends
    Partial<Omit<RpcServerOptions, 'services'>>,
    Partial<Omit<ControlPlaneOptions, 'workers' | 'jobs' | 'reader'>> {
  readonly workers?: Partial<WorkerService> | (() => WorkerService);
  readonly jobs?: Partial<JobService>;
  readonly reader?: Partial<Reader>;
  /** False for a server of an earlier version, which knows no streams of calls. */
  readonly hasStreams?: boolean;
  /** Each gRPC call by the name of its method, when it arrives. */
  readonly onCall?: (method: string) => void;
}

/** Stops with the test. */
export async function wireNode(options: WireNodeOptions = {}): Promise<RpcServer> {
  const { workers: given = {}, jobs = {}, reader = {}, ...rest } = options;
  const { hasStreams = true, onCall = () => {} } = options;
  const workers = typeof given === 'function' ? given : () => only<WorkerService>(given);
  const server = await startRpcServer({
    host: '127.0.0.1',
    port: 0,
    tls: null,
    ...rest,
    services: [
      controlPlaneService({
        whoLeads: () => null,
        ...rest,
        workers,
        jobs: () => only(jobs),
        reader: only(reader),
      }),
      heartbeatService({ workers }),
      shuffleService(),
    ].map((service) => changed(service, hasStreams, onCall)),
  });
  onTestFinished(() => server.stop(0));
  return server;
}

function changed(
  service: RpcService,
  hasStreams: boolean,
  onCall: (method: string) => void,
): RpcService {
  const isKept = ([name]: readonly [string, unknown]): boolean => hasStreams || name !== 'work';
  return {
    definition: Object.fromEntries(Object.entries(service.definition).filter(isKept)),
    handlers: (life) => {
      const watched = Object.entries(service.handlers(life)).map(([name, handle]) => {
        const handler = handle as (...given: unknown[]) => void;
        const seen = (...given: unknown[]): void => {
          onCall(name);
          handler(...given);
        };
        return [name, seen] as const;
      });
      return Object.fromEntries(watched.filter(isKept));
    },
  };
}

/** What a call is refused with; to be asked before it fails, so that nobody misses it. */
export function failureOf(call: Promise<unknown>): Promise<unknown> {
  return call.then(
    () => Promise.reject(new Error('The call was answered.')),
    (thrown: unknown) => thrown,
  );
}

/** Closes with the test. */
export function channelTo(
  addresses: string | readonly string[],
  options: Partial<LeaderChannelOptions> = {},
): LeaderChannel {
  const list = typeof addresses === 'string' ? [addresses] : addresses;
  const channel = new LeaderChannel({ tls: null, ...options, addresses: list });
  onTestFinished(() => channel.close());
  return channel;
}
