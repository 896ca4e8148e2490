/** `WorkerService` through a message port, both ends of it. */
import { type Clock, withDeadline } from '../../kit/index.ts';
import type { NodeOffer } from '../../scheduler/core/index.ts';
import type {
  Beat,
  Handshake,
  PollReply,
  PollRequest,
  Registered,
  ReportReply,
  Session,
  TaskLogLine,
  WorkerOrders,
  WorkerReport,
  WorkerService,
  WorkerSuspension,
} from '../../scheduler/contract/index.ts';
import { portClosed } from './messages.ts';
import type { PortCaller } from './port-caller.ts';
import type { Method } from './port-server.ts';

type Suspended = Extract<WorkerReport, { readonly kind: 'suspended' }>;

/** Documents as text: what is copied between threads need not be JSON. */
type SentReport =
  | Exclude<WorkerReport, Suspended>
  | (Omit<Suspended, 'until'> & { readonly until: string });

type Offered = Parameters<WorkerService['register']>;

export interface LocalWorkerOptions {
  readonly clock: Clock;
  /** How long a heartbeat is waited for. A leader that is silent for longer may be blocked. */
  readonly heartbeatMs?: number;
}

const HEARTBEAT_MS = 6_000;

/** What a worker asks of the leader in another thread of its process. */
export function localWorker(caller: PortCaller, options: LocalWorkerOptions): WorkerService {
  const { clock, heartbeatMs = HEARTBEAT_MS } = options;
  const call = <T>(method: string, args: unknown, signal?: AbortSignal): Promise<T> =>
    caller.call(method, args, signal) as Promise<T>;
  return {
    register: (...offered) => call<Registered>('register', JSON.stringify(offered)),
    heartbeat: (beat) =>
      withDeadline(clock, heartbeatMs, call<WorkerOrders>('heartbeat', beat), portClosed),
    async poll(request, signal) {
      try {
        return await call<PollReply>('poll', request, signal);
      } catch (thrown) {
        // What the answer would have brought is sent again: the next poll does not hold it.
        if (signal.aborted) return nothing();
        throw thrown;
      }
    },
    report: (session, items) => call<ReportReply>('report', [session, items.map(toSent)]),
    unneeded: (...args) => call('unneeded', args),
    writeLogs: (session, lines) => call('writeLogs', [session, lines]),
    leave: (session) => call('leave', session),
  };
}

export interface WorkerMethodsOptions {
  /** Throws `not_leader` where this node does not lead. */
  readonly workers: () => WorkerService;
  /** A worker polls. */
  readonly onPoll: (session: Session) => void;
  /** A worker has renewed its session. */
  readonly onHeartbeat: (session: Session) => void;
}

export function workerMethods({
  workers,
  onPoll,
  onHeartbeat,
}: WorkerMethodsOptions): Record<string, Method> {
  return {
    register: async (text: string) => {
      const [offer, handshake, operators, flows] = JSON.parse(text) as Mutable<Offered>;
      return workers().register(offer, handshake, operators, flows);
    },
    heartbeat: async (beat: Beat) => {
      const orders = await workers().heartbeat(beat);
      onHeartbeat({ nodeId: beat.nodeId, sessionId: beat.sessionId });
      return orders;
    },
    poll: async (request: PollRequest, signal) => {
      const service = workers();
      onPoll({ nodeId: request.nodeId, sessionId: request.sessionId });
      return service.poll(request, signal());
    },
    report: async ([session, items]: [Session, readonly SentReport[]]) =>
      workers().report(session, items.map(fromSent)),
    unneeded: async (args: Parameters<WorkerService['unneeded']>) => workers().unneeded(...args),
    writeLogs: async ([session, lines]: [Session, readonly TaskLogLine[]]) =>
      workers().writeLogs(session, lines),
    leave: async (session: Session) => workers().leave(session),
  };
}

type Mutable<T extends readonly unknown[]> = [NodeOffer, Handshake, T[2]?, T[3]?];

function toSent(item: WorkerReport): SentReport {
  return item.kind === 'suspended' ? { ...item, until: JSON.stringify(item.until) } : item;
}

function fromSent(item: SentReport): WorkerReport {
  if (item.kind !== 'suspended') return item;
  return { ...item, until: JSON.parse(item.until) as WorkerSuspension };
}

function nothing(): PollReply {
  return { assignments: [], orders: { abort: [], drain: false, slowDownMs: 0 } };
}
