/**
 * What a worker may ask of the leader, and nothing else. The leader implements `WorkerService`, and so does
 * the gRPC client: a worker cannot tell them apart.
 */
import type {
  Assignment,
  FlowDeclaration,
  JobId,
  LeaseName,
  NodeId,
  NodeOffer,
  OperatorDeclaration,
  Orders,
  ReportItem,
  SessionId,
  TaskError,
  TaskId,
  TaskState,
  Verdict,
  Wait,
} from '../core/index.ts';

import type { WorkerFigures } from './shapes.ts';
import type { TaskLogLine } from './task-log.ts';

/** Grows when the two sides would no longer understand each other. */
export const PROTOCOL_VERSION = 5;

/** What both sides must agree on before they work together. */
export interface Handshake {
  readonly protocol: number;
  /** Empty for a worker that is not Millrace. */
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
  /** What the leader calls the session. Unlike the session id it may be shown. */
  readonly sessionName?: string;
}

export interface Beat extends Session {
  /** Every lease it holds, ended but unacknowledged ones included. */
  readonly held: readonly LeaseName[];
  /** The number of the last poll whose answer it had taken in when it made this list. */
  readonly seenPoll: number;
  /** What the worker offers now, its operators included. An operator may come and go; an executor that was not
   * registered has to be registered anew. */
  readonly executors: readonly string[];
  readonly figures?: WorkerFigures;
}

export interface PollRequest extends Session {
  readonly pollNo: number;
  readonly capacity: number;
  readonly held: readonly LeaseName[];
  /** For each of these that is reported as ended while the poll is parked, it takes another. */
  readonly refills?: boolean;
  /** False to be answered at once, with what was given out and has not arrived. */
  readonly waits?: boolean;
}

/** What a finished part of a task left behind. */
export interface StepRecord {
  readonly name: string;
  /** JSON text. */
  readonly body: string;
}

/** A task that the assigned one has added to its job, as it stands. */
export interface ChildOutcome {
  readonly id: TaskId;
  readonly state: TaskState;
  /** JSON text; null when there is none. */
  readonly result: string | null;
  readonly error: TaskError | null;
}

/** An assignment with all a worker needs. */
export interface ReadyAssignment extends Omit<Assignment, 'members'> {
  /** JSON text. */
  readonly input: string;
  /** The steps that earlier attempts of this run have finished. A step `$job/...` carries the job's result. */
  readonly steps: readonly StepRecord[];
  /** In the order in which they were added. */
  readonly children: readonly ChildOutcome[];
}

/** A worker's report on a lease. Documents in it are unchecked: the leader checks them. */
export type WorkerReport =
  | Exclude<ReportItem, { readonly kind: 'suspended' | 'skipped' }>
  | {
      readonly kind: 'suspended';
      readonly lease: LeaseName;
      readonly until: WorkerSuspension;
    }
  /** The task submits a job that it does not wait for: see `submittedJobId`. */
  | {
      readonly kind: 'submitted';
      readonly lease: LeaseName;
      /** Of the task, as it was assigned. */
      readonly run: number;
      /** Of the submission, unique in the run. */
      readonly name: string;
      readonly document: unknown;
    };

export type WorkerSuspension =
  | { readonly type: 'children'; readonly tasks: readonly unknown[] }
  | ({ readonly type: 'wait'; readonly jobs: readonly CalledJob[] } & Pick<
      Wait,
      'sleeps' | 'signals'
    >);

/** A job that a task submits and waits for. */
export interface CalledJob {
  readonly step: string;
  readonly jobId: JobId;
  readonly document: unknown;
}

/** Orders, and how long the leader would like to be left alone. */
export interface WorkerOrders extends Orders {
  readonly slowDownMs: number;
  /** How many bytes to have on the way from each node whose outputs are fetched. Absent if nothing is recommended. */
  readonly fetchWindowBytes?: number;
  /** Inputs of tasks that will likely run on this worker. It need not fetch them: whatever it has not is fetched by the task. */
  readonly fetchAhead?: readonly FetchAhead[];
}

/** Partitions of committed outputs. */
export interface FetchAhead {
  readonly query: JobId;
  /** A list of what is in the input of a fragment, as JSON. */
  readonly reads: string;
}

export interface PollReply {
  readonly assignments: readonly ReadyAssignment[];
  readonly orders: WorkerOrders;
}

export interface ReportReply {
  /** `unregistered`: a fragment was completed without a result, and the leader knows of no output. */
  readonly verdicts: readonly (Exclude<Verdict, 'unknown'> | 'unregistered')[];
  readonly orders: WorkerOrders;
}

export interface WorkerService {
  /**
   * Throws `incompatible` when the two sides cannot work together, and `conflict` when an operator is declared
   * otherwise than before. `operators` and `flows` are all that the node has.
   */
  register(
    offer: NodeOffer,
    handshake: Handshake,
    operators?: readonly OperatorDeclaration[],
    flows?: readonly FlowDeclaration[],
  ): Promise<Registered>;
  heartbeat(beat: Beat): Promise<WorkerOrders>;
  /** Parks until there is work, an order, or the signal asks for an empty answer. */
  poll(request: PollRequest, signal: AbortSignal): Promise<PollReply>;
  report(session: Session, items: readonly WorkerReport[]): Promise<ReportReply>;
  /** Which of these queries have outputs on the worker that will not be read any more. With `inner` only the outputs
   * between stages, which are useless once the query has ended; results are kept for longer. */
  unneeded(session: Session, queries: readonly JobId[], kind?: 'inner'): Promise<readonly JobId[]>;
  /** Keeps what tasks have printed; settles when it is stored. Lines of unknown jobs and beyond the limits are dropped. */
  writeLogs(session: Session, lines: readonly TaskLogLine[]): Promise<void>;
  leave(session: Session): Promise<void>;
}

/** Custom operators and functions that workers have declared. */
export interface OperatorService {
  /** By name. */
  readonly list: readonly OperatorDeclaration[];
  /** The next registration may declare it otherwise. Throws `not_found`. */
  forget(name: string): Promise<void>;
}

/** What operators ask of the leader about nodes. */
export interface NodeService {
  /** Gives the node no more work. */
  drain(nodeId: NodeId): Promise<void>;
  /** Ends a quarantine or a drain. */
  release(nodeId: NodeId): Promise<void>;
}
