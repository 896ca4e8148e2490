/** Authorisation: one table, enforced by one interceptor before any handler sees the call, and each message of a stream:
 * a token that is taken back is worth nothing from then on. */
import { ResponderBuilder, ServerInterceptingCall, ServerListenerBuilder } from '@grpc/grpc-js';
import type { Metadata, ServerInterceptor } from '@grpc/grpc-js';
import { readTrace } from '../../../scheduler/core/index.ts';
import type { Trace } from '../../../scheduler/core/index.ts';
import { statusOf } from '../status.ts';
import { connectionOf } from './http2-call.ts';

/** What a caller must be allowed to do. */
export type NeededRole = 'worker' | 'submit' | 'read';

export interface Caller {
  /** The `authorization` header as it came; null when there is none. */
  readonly authorization: string | null;
  readonly peer: Peer;
}

/** Both ends of the connection that a call came over. */
export interface Peer {
  /** The same object for all calls of one connection. */
  readonly connection: object;
  readonly remoteAddress: string | undefined;
  readonly remotePort: number | undefined;
  readonly localAddress: string | undefined;
  readonly localPort: number | undefined;
}

/** Returns what sessions of the caller are bound to, without a promise if that is known at once. The promise is rejected with
 * `unauthenticated` or `forbidden`. */
export type AccessCheck = (caller: Caller, needed: NeededRole) => string | Promise<string>;

/** Answers a promise only if it takes its time. */
export type Recheck = () => unknown;

/** How to check a caller again, by the metadata of its call. */
const RECHECKS: WeakMap<Metadata, Recheck> = new WeakMap();

/** For messages that do not pass the interceptor: rejects when the caller may no longer do what it does. Null on a server
 * without authentication. */
export function recheckOf(metadata: Metadata): Recheck | null {
  return RECHECKS.get(metadata) ?? null;
}

/** Set by the interceptor, whatever a client has sent under this name. */
const CREDENTIAL = 'millrace-credential';

/** The trace context of the call; null if it is absent or not valid. */
export function traceOf(metadata: Metadata): Trace | null {
  return readTrace(metadata.get('traceparent')[0], metadata.get('tracestate')[0]);
}

/** The name of the call's credential; null on a server without authentication. */
export function credentialOf(metadata: Metadata): string | null {
  const [credential] = metadata.get(CREDENTIAL);
  return credential === undefined ? null : String(credential);
}

const CONTROL_PLANE = '/millrace.v1.ControlPlane';
const SHUFFLE = '/millrace.v1.ShuffleService';

/** `open`: for anybody. A method that is not listed is refused. */
export const NEEDED_ROLES: ReadonlyMap<string, NeededRole | 'open'> = new Map([
  [`${CONTROL_PLANE}/RegisterWorker`, 'worker'],
  [`${CONTROL_PLANE}/GetTask`, 'worker'],
  [`${CONTROL_PLANE}/ReportTaskStatus`, 'worker'],
  [`${CONTROL_PLANE}/Work`, 'worker'],
  [`${CONTROL_PLANE}/FindUnneededOutputs`, 'worker'],
  [`${CONTROL_PLANE}/WriteTaskLogs`, 'worker'],
  [`${CONTROL_PLANE}/DeregisterWorker`, 'worker'],
  [`${CONTROL_PLANE}/SubmitJob`, 'submit'],
  [`${CONTROL_PLANE}/GetJob`, 'read'],
  [`${CONTROL_PLANE}/GetJobTask`, 'read'],
  [`${CONTROL_PLANE}/ReadTaskLogs`, 'read'],
  [`${CONTROL_PLANE}/ListJobs`, 'read'],
  [`${CONTROL_PLANE}/WatchJob`, 'read'],
  [`${CONTROL_PLANE}/CancelJob`, 'submit'],
  [`${CONTROL_PLANE}/RerunJob`, 'submit'],
  [`${CONTROL_PLANE}/SignalJob`, 'submit'],
  [`${CONTROL_PLANE}/GetLeader`, 'read'],
  [`${CONTROL_PLANE}/ListNodes`, 'read'],
  [`${CONTROL_PLANE}/ListSchedules`, 'read'],
  [`${CONTROL_PLANE}/WatchEvents`, 'read'],
  [`${CONTROL_PLANE}/SubmitQuery`, 'submit'],
  [`${CONTROL_PLANE}/GetQueryStatus`, 'read'],
  [`${CONTROL_PLANE}/CancelQuery`, 'submit'],
  [`${CONTROL_PLANE}/RegisterQueryResults`, 'worker'],
  [`${CONTROL_PLANE}/FetchQueryResults`, 'read'],
  ['/millrace.v1.HeartbeatService/Heartbeat', 'worker'],
  [`${SHUFFLE}/RegisterMapOutput`, 'worker'],
  [`${SHUFFLE}/FetchShufflePartition`, 'worker'],
  ['/millrace.v1.WorkerService/Identify', 'worker'],
  ['/grpc.health.v1.Health/Check', 'open'],
  ['/grpc.health.v1.Health/List', 'open'],
  ['/grpc.health.v1.Health/Watch', 'open'],
  ['/grpc.reflection.v1.ServerReflection/ServerReflectionInfo', 'read'],
  ['/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo', 'read'],
]);

export function accessInterceptor(access: AccessCheck): ServerInterceptor {
  return (method, call) => {
    const needed = NEEDED_ROLES.get(method.path);
    let caller: Caller | null = null;
    const checked = async (metadata: Metadata): Promise<Metadata> => {
      if (needed === undefined) throw new Error(`${method.path} has no row`);
      const known = (caller = callerOf(metadata, call));
      const credential = needed === 'open' ? '' : await access(known, needed);
      if (needed !== 'open') RECHECKS.set(metadata, () => access(known, needed));
      const { sslPeerCertificate } = call.getAuthContext();
      metadata.set(CREDENTIAL, `${credential} ${sslPeerCertificate?.fingerprint256 ?? ''}`);
      return metadata;
    };
    const refuse = (thrown: unknown): void => call.sendStatus(statusOf(thrown));
    const listener = new ServerListenerBuilder().withOnReceiveMetadata((metadata, goOn) => {
      checked(metadata).then(goOn, refuse);
    });
    if (method.requestStream && needed !== undefined && needed !== 'open') {
      listener.withOnReceiveMessage((message, goOn) => {
        if (caller === null) return;
        Promise.resolve(access(caller, needed)).then(() => goOn(message), refuse);
      });
    }
    const responder = new ResponderBuilder().withStart((next) => next(listener.build())).build();
    return new ServerInterceptingCall(call, responder);
  };
}

function callerOf(
  metadata: Metadata,
  call: Pick<ServerInterceptingCall, 'getConnectionInfo'>,
): Caller {
  const header = metadata.get('authorization')[0];
  return {
    authorization: header === undefined ? null : String(header),
    peer: { connection: connectionOf(call) ?? call, ...endsOf(call) },
  };
}

function endsOf(call: Pick<ServerInterceptingCall, 'getConnectionInfo'>): Omit<Peer, 'connection'> {
  const { remoteAddress, remotePort, localAddress, localPort } = call.getConnectionInfo();
  return { remoteAddress, remotePort, localAddress, localPort };
}
