/**
 * What a worker may ask of the leader, and nothing else. The leader's desk keeps this port, so does
 * the client that carries it over the network: a worker cannot tell them apart.
 */
import type {
  Assignment,
  LeaseName,
  NodeId,
  NodeOffer,
  Orders,
  ReportItem,
  SessionId,
  Verdict,
} from '../core/index.ts';

/** Grows when the two sides would no longer understand each other. */
export const PROTOCOL_VERSION = 1;

/** What both sides must agree on before they work together. */
export interface Handshake {
  readonly protocol: number;
  readonly millrace: string;
  /** Null for a worker that runs no SQL. */
  readonly duckdb: string | null;
}

export interface Session {
  readonly nodeId: NodeId;
  readonly sessionId: SessionId;
}

export interface Registered {
  readonly sessionTtlMs: number;
  readonly heartbeatMs: number;
}

export interface Beat extends Session {
  /** Every lease it holds, ended but unacknowledged ones included. */
  readonly held: readonly LeaseName[];
  /** The number of the last poll whose answer it had taken in when it made this list. */
  readonly seenPoll: number;
  /** What the worker offers now; another list than at registration has to be registered anew. */
  readonly executors: readonly string[];
}

export interface PollRequest extends Session {
  readonly pollNo: number;
  readonly capacity: number;
  readonly held: readonly LeaseName[];
}

/** What a finished part of a task left behind. */
export interface StepRecord {
  readonly name: string;
  /** JSON text. */
  readonly body: string;
}

/** An assignment with all a worker needs. */
export interface ReadyAssignment extends Assignment {
  /** JSON text. */
  readonly input: string;
  /** What earlier attempts of this run have finished. */
  readonly steps: readonly StepRecord[];
}

/** Orders, and how long the leader would like to be left alone. */
export interface WorkerOrders extends Orders {
  readonly slowDownMs: number;
}

export interface PollReply {
  readonly assignments: readonly ReadyAssignment[];
  readonly orders: WorkerOrders;
}

export interface ReportReply {
  readonly verdicts: readonly Exclude<Verdict, 'unknown'>[];
  readonly orders: WorkerOrders;
}

export interface LeaderForWorkers {
  /** Throws `incompatible` when the two sides cannot work together. */
  register(offer: NodeOffer, handshake: Handshake): Promise<Registered>;
  heartbeat(beat: Beat): Promise<WorkerOrders>;
  /** Parks until there is work, an order, or the signal asks for an empty answer. */
  poll(request: PollRequest, signal: AbortSignal): Promise<PollReply>;
  report(session: Session, items: readonly ReportItem[]): Promise<ReportReply>;
  leave(session: Session): Promise<void>;
}
