/** Who may call what: one table, held by one interceptor before any handler sees the call. */
import { ResponderBuilder, ServerInterceptingCall, ServerListenerBuilder } from '@grpc/grpc-js';
import type { Metadata, ServerInterceptor } from '@grpc/grpc-js';
import type { PeerCertificate } from 'node:tls';
import { statusOf } from '../status.ts';

/** What a caller must be allowed to do. */
export type NeededRole = 'worker' | 'submit' | 'read';

export interface Caller {
  /** The `authorization` header as it came; null when there is none. */
  readonly authorization: string | null;
  /** Null without TLS, or when the peer has shown none. */
  readonly peerCertificate: PeerCertificate | null;
  /** HOST:PORT, for the log. */
  readonly peer: string;
}

/** Throws `unauthenticated` or `forbidden`. */
export type AccessCheck = (caller: Caller, needed: NeededRole) => void;

const CONTROL_PLANE = '/millrace.v1.ControlPlane';
const SHUFFLE = '/millrace.v1.ShuffleService';

/** `open`: for anybody. A method that is not here is for nobody. */
export const NEEDED_ROLES: ReadonlyMap<string, NeededRole | 'open'> = new Map([
  [`${CONTROL_PLANE}/RegisterWorker`, 'worker'],
  [`${CONTROL_PLANE}/GetTask`, 'worker'],
  [`${CONTROL_PLANE}/ReportTaskStatus`, 'worker'],
  [`${CONTROL_PLANE}/FindUnneededOutputs`, 'worker'],
  [`${CONTROL_PLANE}/DeregisterWorker`, 'worker'],
  [`${CONTROL_PLANE}/SubmitJob`, 'submit'],
  [`${CONTROL_PLANE}/GetJob`, 'read'],
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
    const check = (metadata: Metadata, next: (metadata: Metadata) => void): void => {
      try {
        if (needed === undefined) throw new Error(`${method.path} has no row`);
        if (needed !== 'open') access(callerOf(metadata, call), needed);
      } catch (thrown) {
        call.sendStatus(statusOf(thrown));
        return;
      }
      next(metadata);
    };
    const listener = new ServerListenerBuilder().withOnReceiveMetadata(check).build();
    const responder = new ResponderBuilder().withStart((next) => next(listener)).build();
    return new ServerInterceptingCall(call, responder);
  };
}

function callerOf(
  metadata: Metadata,
  call: Pick<ServerInterceptingCall, 'getAuthContext' | 'getPeer'>,
): Caller {
  const header = metadata.get('authorization')[0];
  return {
    authorization: header === undefined ? null : String(header),
    peerCertificate: call.getAuthContext().sslPeerCertificate ?? null,
    peer: call.getPeer(),
  };
}
