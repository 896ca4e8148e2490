/** The services with a call or two. */
import { fromWireBeat, toWireBeatAnswer } from '../codec/session.ts';
import { HeartbeatServiceService } from '../gen/millrace/v1/heartbeat.ts';
import type { HeartbeatServiceServer } from '../gen/millrace/v1/heartbeat.ts';
import { WorkerServiceService } from '../gen/millrace/v1/worker.ts';
import type { WorkerServiceServer } from '../gen/millrace/v1/worker.ts';
import type { LeaderForWorkers, Session } from '../worker-port.ts';
import { type RpcService, unary } from './handlers.ts';

export function heartbeatService(workers: () => LeaderForWorkers): RpcService {
  return {
    definition: HeartbeatServiceService,
    handlers: (life): HeartbeatServiceServer => ({
      heartbeat: unary(life, async (request) =>
        toWireBeatAnswer(await workers().heartbeat(fromWireBeat(request))),
      ),
    }),
  };
}

/** What a worker answers itself. It may get another session while it lives. */
export function workerService(identity: () => Session): RpcService {
  return {
    definition: WorkerServiceService,
    handlers: (life): WorkerServiceServer => ({
      identify: unary(life, () => {
        const { nodeId, sessionId } = identity();
        return { workerId: nodeId, sessionId };
      }),
    }),
  };
}
