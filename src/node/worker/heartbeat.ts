/** The interface between a session and its heartbeat, in one thread or two. */
import type { Session, WorkerFigures, WorkerOrders } from '../../scheduler/contract/index.ts';

/** Everything the heartbeat of one session has to know; it can be sent to another thread. */
export interface HeartbeatStart {
  readonly session: Session;
  readonly sessionTtlMs: number;
  readonly heartbeatMs: number;
  readonly executors: readonly string[];
  /** When the registration was sent that the leader accepted, by the monotonic clock. */
  readonly renewedAtMs: number;
  readonly abortGraceMs: number;
  /** Whether the process is ended when a handler blocks it beyond that. */
  readonly stuck: 'end' | 'abandon';
  /** The memory of the session's `HeldTable`. */
  readonly held: SharedArrayBuffer;
}

/** Numbered, so that the heartbeat notices a blocked listener. */
export type HeartbeatNews = { readonly no: number } & (
  | { readonly type: 'answered'; readonly sentAtMs: number; readonly orders: WorkerOrders }
  | {
      readonly type: 'over';
      readonly code: 'unknown_session' | 'superseded';
      readonly what: string;
    }
  /** The leader may have given the leases away: all work of the session stops. */
  | { readonly type: 'expired' }
);

/** The running heartbeat of a session. */
export interface Heartbeat {
  /** The `HeldTable` was full: from now on it is in this memory. */
  moved(held: SharedArrayBuffer): void;
  /** The leader has accepted a registration with these. */
  offer(executors: readonly string[]): void;
  /** News up to this number were taken in; what the worker has measured goes with the next beat. */
  heard(no: number, figures?: WorkerFigures): void;
  stop(): void;
}

export type StartHeartbeat = (
  start: HeartbeatStart,
  tell: (news: HeartbeatNews) => void,
) => Heartbeat;

/**
 * How long before the end of its TTL a session stops its own work. The TTL counts from a moment before
 * the heartbeat was sent, which is early already; the margin is for handlers to stop in and for timers
 * that ring late.
 */
export function marginMs(sessionTtlMs: number, heartbeatMs: number): number {
  return Math.max(sessionTtlMs / 10, heartbeatMs / 2);
}
