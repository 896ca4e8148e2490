/** What workers ask of the leader all the time, however it comes: as calls of their own, or many on one stream. */
import type { ServerUnaryCall } from '@grpc/grpc-js';
import type { LeaseName } from '../../../scheduler/core/index.ts';
import { type Clock, systemClock } from '../../../kit/index.ts';
import { fromWireBeat, toWireBeatAnswer } from '../codec/session.ts';
import { fromPackedReports } from '../codec/packed-reports.ts';
import { toPackedTasks } from '../codec/packed-tasks.ts';
import { fromWirePoll, toWirePollReply } from '../codec/poll.ts';
import { type Reports, fromWireReports, toWireReportReply } from '../codec/report.ts';
import { present } from '../codec/values.ts';
import type { HeartbeatRequest, HeartbeatResponse } from '../gen/millrace/v1/heartbeat.ts';
import type {
  GetTaskRequest,
  GetTaskResponse,
  ReportTaskStatusRequest,
  ReportTaskStatusResponse,
} from '../gen/millrace/v1/task.ts';
import type { PackedPoll, PackedReports, PackedTasks } from '../gen/millrace/v1/work.ts';
import type { Session, WorkerService } from '../../../scheduler/contract/index.ts';
import { Gathering } from './gathering.ts';
import { parkedPoll } from './polling.ts';
import { boundSession } from './session-binding.ts';
import { SharedTimers } from './shared-timers.ts';
import { WorkerConnections } from './worker-connections.ts';

/** Who waits for the answer. */
export interface WorkerCaller {
  /** The session under the name that the leader knows it by. */
  bind<T extends Session>(session: T): T;
  /** The gRPC call that brought the request: its connection is watched. */
  readonly carrier: object;
  /** How long the caller waits at most. */
  leftMs(): number;
  /** Listens for the moment when the caller waits no longer; returns how to stop that. */
  onCancelled(listener: () => void): () => void;
}

export interface WorkerCallsOptions {
  /** Throws `not_leader` on other nodes. */
  readonly workers: () => WorkerService;
  /** A worker polls. */
  readonly onPoll?: (session: Session) => void;
  /** A worker has renewed its session. */
  readonly onHeartbeat?: (session: Session) => void;
  /** A connection over which a worker has polled is closed: the worker should be checked. */
  readonly onConnectionLost?: (session: Session) => void;
  readonly clock?: Clock;
  /** Heartbeats wait so long for others; not at all unless said. */
  readonly gatherMs?: number;
}

export interface WorkerCalls {
  getTask(request: GetTaskRequest, caller: WorkerCaller): Promise<GetTaskResponse>;
  reportTaskStatus(
    request: ReportTaskStatusRequest,
    caller: WorkerCaller,
  ): Promise<ReportTaskStatusResponse>;
  heartbeat(request: HeartbeatRequest, caller: WorkerCaller): Promise<HeartbeatResponse>;
  /** `held` are the leases that the stream says to be held. */
  packedPoll(
    request: PackedPoll,
    held: readonly LeaseName[],
    caller: WorkerCaller,
  ): Promise<PackedTasks>;
  packedReports(request: PackedReports, caller: WorkerCaller): Promise<ReportTaskStatusResponse>;
}

/** Of the 30 s that a poll is parked: in so much time a thousand idle workers have eight that end. */
const POLLS_END_EVERY_MS = 250;

/** `life` aborts when the server stops. */
export function workerCalls(options: WorkerCallsOptions, life: AbortSignal): WorkerCalls {
  const { workers, clock = systemClock, gatherMs = 0 } = options;
  const { onPoll = () => {}, onHeartbeat = () => {}, onConnectionLost } = options;
  const connections = new WorkerConnections((session) => {
    if (!life.aborted) onConnectionLost?.(session);
  });
  const parked = new Set<() => void>();
  const answerAll = (): void => parked.forEach((answerNow) => answerNow());
  life.addEventListener('abort', answerAll, { once: true });
  const ends = new SharedTimers(clock, POLLS_END_EVERY_MS);
  const polling = { workers, clock: ends, life, parked, onPoll, connections };
  const beats = gatherMs === 0 ? null : new Gathering(clock, gatherMs);
  const reported = async (
    { session, items }: Reports,
    caller: WorkerCaller,
  ): Promise<ReportTaskStatusResponse> =>
    toWireReportReply(await workers().report(caller.bind(session), items));
  return {
    async getTask(request, caller) {
      const poll = fromWirePoll(request);
      return toWirePollReply(await parkedPoll(polling, poll, request.waitMs, caller));
    },
    async reportTaskStatus(request, caller) {
      return reported(fromWireReports(request), caller);
    },
    async packedPoll(request, held, caller) {
      const wire = present(request.poll, 'poll');
      const poll = { ...fromWirePoll(wire), held };
      return toPackedTasks(await parkedPoll(polling, poll, wire.waitMs, caller));
    },
    async packedReports(request, caller) {
      return reported(fromPackedReports(request), caller);
    },
    async heartbeat(request, caller) {
      const beat = caller.bind(fromWireBeat(request));
      if (beats !== null) await beats.turn();
      const orders = await workers().heartbeat(beat);
      onHeartbeat({ nodeId: beat.nodeId, sessionId: beat.sessionId });
      return toWireBeatAnswer(orders);
    },
  };
}

/** The caller of a method of its own. */
export function unaryCaller<Request, Response>(
  call: ServerUnaryCall<Request, Response>,
): WorkerCaller {
  return {
    bind: (session) => boundSession(session, call),
    carrier: call,
    leftMs: () => Number(call.getDeadline()) - Date.now(),
    onCancelled(listener) {
      call.once('cancelled', listener);
      return () => call.off('cancelled', listener);
    },
  };
}
