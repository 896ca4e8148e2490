/** The services with a call or two. */
import { fromWireBeat, toWireBeatAnswer } from '../codec/session.ts';
import { HeartbeatServiceService } from '../gen/millrace/v1/heartbeat.ts';
import type { HeartbeatServiceServer } from '../gen/millrace/v1/heartbeat.ts';
import { WorkerServiceService } from '../gen/millrace/v1/worker.ts';
import type { WorkerServiceServer } from '../gen/millrace/v1/worker.ts';
import type { Session, WorkerService } from '../../../scheduler/contract/index.ts';
import { type RpcService, unary } from './handlers.ts';
import { boundSession } from './session-binding.ts';

export interface HeartbeatOptions {
  readonly workers: () => WorkerService;
  /** A worker has renewed its session. */
  readonly onHeartbeat?: (session: Session) => void;
}

export function heartbeatService({ workers, onHeartbeat }: HeartbeatOptions): RpcService {
  return {
    definition: HeartbeatServiceService,
    handlers: (life): HeartbeatServiceServer => ({
      heartbeat: unary(life, async (request, call) => {
        const beat = boundSession(fromWireBeat(request), call);
        const orders = await workers().heartbeat(beat);
        onHeartbeat?.({ nodeId: beat.nodeId, sessionId: beat.sessionId });
        return toWireBeatAnswer(orders);
      }),
    }),
  };
}

/** What a worker answers about itself. */
export interface WorkerIdentity {
  readonly nodeId: string;
  /** What the leader calls its session; null before there is one. It changes with each session. */
  readonly sessionName: string | null;
}

export function workerService(identity: () => WorkerIdentity): RpcService {
  return {
    definition: WorkerServiceService,
    handlers: (life): WorkerServiceServer => ({
      identify: unary(life, () => {
        const { nodeId, sessionName } = identity();
        return { workerId: nodeId, sessionName: sessionName ?? '' };
      }),
    }),
  };
}
