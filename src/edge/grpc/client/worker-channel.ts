/** `WorkerService` over gRPC. */
import { fromWireBeatAnswer, fromWireRegistered, toWireBeat } from '../codec/session.ts';
import { toWireRegister, toWireSession } from '../codec/session.ts';
import { HELD_MAX } from '../codec/packed-leases.ts';
import { fromPackedTasks } from '../codec/packed-tasks.ts';
import { toPackedReports } from '../codec/packed-reports.ts';
import { fromWirePollReply, toWirePoll } from '../codec/poll.ts';
import { fromWireUnneededAnswer, toWireUnneeded } from '../codec/outputs.ts';
import { toWireLogs } from '../codec/task-logs.ts';
import { fromWireReportReply, reportParts } from '../codec/report.ts';
import { ControlPlaneService } from '../gen/millrace/v1/control_plane.ts';
import { HeartbeatServiceService } from '../gen/millrace/v1/heartbeat.ts';
import type { GetTaskRequest, GetTaskResponse } from '../gen/millrace/v1/task.ts';
import type { PackedTasks } from '../gen/millrace/v1/work.ts';
import type { LeaseName } from '../../../scheduler/core/index.ts';
import type {
  PollReply,
  ReportReply,
  Session,
  WorkerReport,
  WorkerService,
} from '../../../scheduler/contract/index.ts';
import type { LeaderChannel } from './leader-channel.ts';
import type { Packing } from './work-stream.ts';

/** How long each call may take: long enough for a commit under load, short enough to try elsewhere. */
const REGISTER_MS = 10_000;
const REPORT_MS = 15_000;
const UNNEEDED_MS = 10_000;
const LOGS_MS = 10_000;
const LEAVE_MS = 5_000;
const HEARTBEAT_MS_MIN = 500;
/** On top of the time that a poll is parked. */
const POLL_EXTRA_MS = 10_000;

export interface WorkerChannelOptions {
  readonly channel: LeaderChannel;
  /** Until a registration answers it. */
  readonly heartbeatMs?: number;
  /** How long a poll is parked. */
  readonly pollWaitMs?: number;
}

export function workerChannel(options: WorkerChannelOptions): WorkerService {
  const { channel, pollWaitMs = 20_000 } = options;
  let { heartbeatMs = 3_000 } = options;
  return {
    async register(offer, handshake, operators, flows) {
      const request = toWireRegister(offer, handshake, operators, flows);
      const method = ControlPlaneService.registerWorker;
      const response = await channel.unary(method, request, { deadlineMs: REGISTER_MS });
      const registered = fromWireRegistered(response);
      ({ heartbeatMs } = registered);
      return registered;
    },
    async heartbeat(beat) {
      const deadlineMs = Math.max(HEARTBEAT_MS_MIN, heartbeatMs * 2);
      const request = toWireBeat(beat, Date.now());
      const method = HeartbeatServiceService.heartbeat;
      return fromWireBeatAnswer(await channel.unary(method, request, { deadlineMs }));
    },
    async poll(request, signal) {
      if (signal.aborted) return nothing();
      const waitMs = request.waits === false ? 0 : pollWaitMs;
      const deadlineMs = waitMs + POLL_EXTRA_MS;
      const wire = toWirePoll(request, waitMs);
      try {
        const method = ControlPlaneService.getTask;
        const { held } = request;
        const packing = held.length > HELD_MAX ? {} : { packing: packedPoll(wire, held) };
        const options = { deadlineMs, signal, ...packing };
        const reply = await channel.unary<GetTaskRequest, GetTaskResponse, PackedTasks>(
          method,
          wire,
          options,
        );
        return isPacked(reply) ? fromPackedTasks(reply) : fromWirePollReply(reply);
      } catch (thrown) {
        // What the answer would have brought is sent again: the next poll does not hold it.
        if (signal.aborted) return nothing();
        throw thrown;
      }
    },
    async report(session, items) {
      const replies: ReportReply[] = [];
      // One after the other: reports about a task keep their order.
      for (const part of reportParts(session, items)) {
        const method = ControlPlaneService.reportTaskStatus;
        const packing = part.isShort ? { packing: packedReports(session, part.items) } : {};
        const options = { deadlineMs: REPORT_MS, ...packing };
        const response = await channel.unary(method, part.request, options);
        replies.push(fromWireReportReply(response, part.items.length));
      }
      return joined(replies);
    },
    async unneeded(session, queries, kind) {
      const method = ControlPlaneService.findUnneededOutputs;
      const request = toWireUnneeded(session, queries, kind);
      const response = await channel.unary(method, request, { deadlineMs: UNNEEDED_MS });
      return fromWireUnneededAnswer(response, queries);
    },
    async writeLogs(session, lines) {
      const method = ControlPlaneService.writeTaskLogs;
      await channel.unary(method, toWireLogs(session, lines), { deadlineMs: LOGS_MS });
    },
    async leave(session) {
      const method = ControlPlaneService.deregisterWorker;
      await channel.unary(method, toWireSession(session), { deadlineMs: LEAVE_MS });
    },
  };
}

function packedPoll(poll: GetTaskRequest, held: readonly LeaseName[]): Packing {
  return (leases) => {
    const { added, removed, sent } = leases.change(held);
    const { workerId, sessionId, capacity, pollNo, waitMs, refills } = poll;
    const scalars = { workerId, sessionId, capacity, pollNo, held: [], waitMs, refills };
    const value = { poll: scalars, added, removed };
    return { call: { $case: 'packedPoll', value }, sent };
  };
}

function isPacked(reply: GetTaskResponse | PackedTasks): reply is PackedTasks {
  return Buffer.isBuffer(reply.tasks);
}

function packedReports(session: Session, items: readonly WorkerReport[]): Packing {
  return () => ({ call: { $case: 'packedReports', value: toPackedReports(session, items) } });
}

function nothing(): PollReply {
  return { assignments: [], orders: { abort: [], drain: false, slowDownMs: 0 } };
}

function joined(replies: readonly ReportReply[]): ReportReply {
  const [first] = replies;
  if (first !== undefined && replies.length === 1) return first;
  const window = replies.at(-1)?.orders.fetchWindowBytes;
  const fetchAhead = replies.flatMap(({ orders }) => orders.fetchAhead ?? []);
  return {
    verdicts: replies.flatMap(({ verdicts }) => verdicts),
    orders: {
      abort: replies.flatMap(({ orders }) => orders.abort),
      drain: replies.some(({ orders }) => orders.drain),
      slowDownMs: Math.max(0, ...replies.map(({ orders }) => orders.slowDownMs)),
      ...(window === undefined ? undefined : { fetchWindowBytes: window }),
      ...(fetchAhead.length === 0 ? undefined : { fetchAhead }),
    },
  };
}
