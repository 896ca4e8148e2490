import type { SessionId } from '../core/index.ts';
import { type Clock, sleep } from '../../kit/index.ts';
import type { Session } from '../contract/index.ts';

export interface WorkerWatchOptions {
  readonly clock: Clock;
  /** A session that does not renew itself for this long is looked for. */
  readonly overdueMs: number;
  /** The process of a live session, as it named itself; null if it is unknown, or the session has ended. */
  readonly processOf: (session: Session) => string | null;
  /** True is proof that the process has ended. False says nothing. */
  readonly isProcessGone: (process: string) => boolean;
  /** There is proof that the session's process is gone. */
  readonly onGone: (session: Session) => void;
}

/** A process that is being ended closes its connections first: so the look is repeated. */
const AGAIN_MS = [0, 5, 10, 20, 40, 80, 160, 320, 640, 1_280] as const;

/**
 * Notices dead workers before their time is up. When a connection drops or a renewal is overdue, the worker's
 * process is looked for among those of this machine. Nothing that the network says is proof: a connection is
 * reset or refused by a proxy, a firewall or a full table just as well as by a machine whose process is gone.
 * So the session of a worker elsewhere ends by its TTL.
 */
export class WorkerWatch {
  readonly #options: WorkerWatchOptions;
  readonly #looking: Set<SessionId> = new Set();
  /** Sessions with a dropped connection, of which nothing was heard since. */
  readonly #missing: Set<SessionId> = new Set();
  /** Cancels the search for a session that renews itself in time. */
  readonly #overdue: Map<SessionId, () => void> = new Map();

  constructor(options: WorkerWatchOptions) {
    this.#options = options;
  }

  /** The session has just spoken. It may be full, and die, before it has ever renewed itself. */
  heard(session: Session): void {
    this.#missing.delete(session.sessionId);
    if (!this.#overdue.has(session.sessionId)) this.renewed(session);
  }

  /** It has renewed itself. One that is full has no poll open whose end would tell of its own. */
  renewed(session: Session): void {
    const { sessionId } = session;
    this.#missing.delete(sessionId);
    this.#overdue.get(sessionId)?.();
    const cancel = this.#options.clock.after(this.#options.overdueMs, () => {
      this.#overdue.delete(sessionId);
      this.lost(session);
    });
    this.#overdue.set(sessionId, cancel);
  }

  /** Nobody leads here any more. */
  rest(): void {
    for (const cancel of this.#overdue.values()) cancel();
    this.#overdue.clear();
    this.#missing.clear();
  }

  /** A connection of the session has dropped, or it was never heard of. */
  lost(session: Session): void {
    this.#missing.add(session.sessionId);
    void this.#look(session);
  }

  /** Until it is found to be gone, or heard again. */
  async #look(session: Session): Promise<void> {
    const { sessionId } = session;
    const { processOf, isProcessGone, onGone } = this.#options;
    if (this.#looking.has(sessionId)) return;
    this.#looking.add(sessionId);
    try {
      for (const waitMs of AGAIN_MS) {
        await sleep(this.#options.clock, waitMs);
        if (!this.#missing.has(sessionId)) return;
        const process = processOf(session);
        if (process === null) return;
        if (isProcessGone(process)) return onGone(session);
      }
    } finally {
      this.#looking.delete(sessionId);
      this.#missing.delete(sessionId);
    }
  }
}
