/** GetTask: the one call that is parked. */
import type { Clock } from '../../../kit/index.ts';
import { POLL_WAIT_MS_MAX } from '../limits.ts';
import type {
  PollReply,
  PollRequest,
  Session,
  WorkerService,
} from '../../../scheduler/contract/index.ts';
import type { WorkerCaller } from './worker-calls.ts';
import type { WorkerConnections } from './worker-connections.ts';

/** An abort without a reason makes an error with a stack for each. */
const ENOUGH = 'enough';

/** An answer needs this long to reach a caller whose own deadline comes first. */
const DEADLINE_MARGIN_MS = 500;

export interface PollingOptions {
  readonly workers: () => WorkerService;
  readonly clock: Pick<Clock, 'after'>;
  readonly life: AbortSignal;
  /** How each parked poll is ended. A signal looks through all its listeners for each that comes or goes. */
  readonly parked: Set<() => void>;
  readonly onPoll: (session: Session) => void;
  readonly connections: WorkerConnections;
}

export async function parkedPoll(
  options: PollingOptions,
  given: PollRequest,
  askedMs: number,
  caller: WorkerCaller,
): Promise<PollReply> {
  const { workers, clock, life, parked, onPoll, connections } = options;
  const request = caller.bind(given);
  const service = workers();
  onPoll(request);
  connections.polled(request, caller.carrier);
  const enough = new AbortController();
  const answerNow = (): void => enough.abort(ENOUGH);
  const stopListening = caller.onCancelled(answerNow);
  parked.add(answerNow);
  if (life.aborted) answerNow();
  const waitMs = waitFor(askedMs, caller);
  if (waitMs === 0) answerNow();
  const cancelTimer = clock.after(waitMs, answerNow);
  try {
    return await service.poll(request, enough.signal);
  } finally {
    cancelTimer();
    stopListening();
    parked.delete(answerNow);
  }
}

function waitFor(askedMs: number, caller: WorkerCaller): number {
  return Math.max(0, Math.min(askedMs, POLL_WAIT_MS_MAX, caller.leftMs() - DEADLINE_MARGIN_MS));
}
