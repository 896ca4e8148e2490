/** The services with a call or two. */
import { HeartbeatServiceService } from '../gen/millrace/v1/heartbeat.ts';
import type { HeartbeatServiceServer } from '../gen/millrace/v1/heartbeat.ts';
import { WorkerServiceService } from '../gen/millrace/v1/worker.ts';
import type { WorkerServiceServer } from '../gen/millrace/v1/worker.ts';
import { type RpcService, unary } from './handlers.ts';
import { type WorkerCallsOptions, unaryCaller, workerCalls } from './worker-calls.ts';

export function heartbeatService(
  options: Pick<WorkerCallsOptions, 'workers' | 'onHeartbeat'>,
): RpcService {
  return {
    definition: HeartbeatServiceService,
    handlers(life): HeartbeatServiceServer {
      const calls = workerCalls(options, life);
      return {
        heartbeat: unary(life, (request, call) => calls.heartbeat(request, unaryCaller(call))),
      };
    },
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
