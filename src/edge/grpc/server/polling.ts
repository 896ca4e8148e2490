/** GetTask: the one call that is parked. */
import type { ServerUnaryCall } from '@grpc/grpc-js';
import type { Clock } from '../../../kit/index.ts';
import { fromWirePoll, toWirePollReply } from '../codec/poll.ts';
import type { GetTaskRequest, GetTaskResponse } from '../gen/millrace/v1/task.ts';
import { POLL_WAIT_MS_MAX } from '../limits.ts';
import type { WorkerService, Session } from '../../../scheduler/contract/index.ts';
import { boundSession } from './session-binding.ts';
import type { WorkerConnections } from './worker-connections.ts';

/** An answer needs this long to reach a caller whose own deadline comes first. */
const DEADLINE_MARGIN_MS = 500;

export interface PollingOptions {
  readonly workers: () => WorkerService;
  readonly clock: Clock;
  readonly life: AbortSignal;
  readonly onPoll: (session: Session) => void;
  readonly connections: WorkerConnections;
}

export async function parkedPoll(
  options: PollingOptions,
  call: ServerUnaryCall<GetTaskRequest, GetTaskResponse>,
): Promise<GetTaskResponse> {
  const { workers, clock, life, onPoll, connections } = options;
  const request = boundSession(fromWirePoll(call.request), call);
  const service = workers();
  onPoll(request);
  connections.polled(request, call);
  const enough = new AbortController();
  const answerNow = (): void => enough.abort();
  call.once('cancelled', answerNow);
  life.addEventListener('abort', answerNow, { once: true });
  const waitMs = waitFor(call);
  if (waitMs === 0) answerNow();
  const cancelTimer = clock.after(waitMs, answerNow);
  try {
    return toWirePollReply(await service.poll(request, enough.signal));
  } finally {
    cancelTimer();
    call.off('cancelled', answerNow);
    life.removeEventListener('abort', answerNow);
  }
}

function waitFor(call: ServerUnaryCall<GetTaskRequest, GetTaskResponse>): number {
  const deadline = call.getDeadline();
  const leftMs = Number(deadline) - Date.now() - DEADLINE_MARGIN_MS;
  return Math.max(0, Math.min(call.request.waitMs, POLL_WAIT_MS_MAX, leftMs));
}
