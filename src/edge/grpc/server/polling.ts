/** GetTask: the one call that is parked. */
import type { Clock } from '../../../kit/index.ts';
import { fromWirePoll, toWirePollReply } from '../codec/poll.ts';
import type { GetTaskRequest, GetTaskResponse } from '../gen/millrace/v1/task.ts';
import { POLL_WAIT_MS_MAX } from '../limits.ts';
import type { WorkerService, Session } from '../../../scheduler/contract/index.ts';
import type { WorkerCaller } from './worker-calls.ts';
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
  wire: GetTaskRequest,
  caller: WorkerCaller,
): Promise<GetTaskResponse> {
  const { workers, clock, life, onPoll, connections } = options;
  const request = caller.bind(fromWirePoll(wire));
  const service = workers();
  onPoll(request);
  connections.polled(request, caller.carrier);
  const enough = new AbortController();
  const answerNow = (): void => enough.abort();
  const stopListening = caller.onCancelled(answerNow);
  life.addEventListener('abort', answerNow, { once: true });
  const waitMs = waitFor(wire, caller);
  if (waitMs === 0) answerNow();
  const cancelTimer = clock.after(waitMs, answerNow);
  try {
    return toWirePollReply(await service.poll(request, enough.signal));
  } finally {
    cancelTimer();
    stopListening();
    life.removeEventListener('abort', answerNow);
  }
}

function waitFor({ waitMs }: GetTaskRequest, caller: WorkerCaller): number {
  return Math.max(0, Math.min(waitMs, POLL_WAIT_MS_MAX, caller.leftMs() - DEADLINE_MARGIN_MS));
}
