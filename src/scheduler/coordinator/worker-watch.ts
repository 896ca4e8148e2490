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

/** A session whose next renewal is waited for. */
interface Awaited {
  readonly session: Session;
  renewedAtMs: number;
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
  readonly #awaited: Map<SessionId, Awaited> = new Map();
  /** One timer for all: one that each renewal sets would nearly always be cancelled by the next. */
  #cancelLook: (() => void) | null = null;

  constructor(options: WorkerWatchOptions) {
    this.#options = options;
  }

  /** The session has just spoken. It may be full, and die, before it has ever renewed itself. */
  heard(session: Session): void {
    this.#missing.delete(session.sessionId);
    if (!this.#awaited.has(session.sessionId)) this.renewed(session);
  }

  /** It has renewed itself. One that is full has no poll open whose end would tell of its own. */
  renewed(session: Session): void {
    const { sessionId } = session;
    const { clock, overdueMs } = this.#options;
    this.#missing.delete(sessionId);
    const renewedAtMs = clock.monotonicMs();
    const awaited = this.#awaited.get(sessionId);
    if (awaited !== undefined) awaited.renewedAtMs = renewedAtMs;
    else this.#awaited.set(sessionId, { session, renewedAtMs });
    this.#cancelLook ??= clock.after(overdueMs, () => this.#lookForOverdue());
  }

  /** At the time at which the first of them would be overdue, if none had renewed itself since. */
  #lookForOverdue(): void {
    const { clock, overdueMs } = this.#options;
    const overdueAtMs = clock.monotonicMs() - overdueMs;
    let firstMs = Infinity;
    for (const [sessionId, { session, renewedAtMs }] of this.#awaited) {
      if (renewedAtMs > overdueAtMs) firstMs = Math.min(firstMs, renewedAtMs - overdueAtMs);
      else {
        this.#awaited.delete(sessionId);
        this.lost(session);
      }
    }
    const isOver = this.#awaited.size === 0;
    this.#cancelLook = isOver ? null : clock.after(firstMs, () => this.#lookForOverdue());
  }

  /** Nobody leads here any more. */
  rest(): void {
    this.#cancelLook?.();
    this.#cancelLook = null;
    this.#awaited.clear();
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
