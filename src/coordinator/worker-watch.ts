import type { NodeId, SessionId } from '../core/index.ts';
import { deferred } from '../kit/index.ts';
import type { Clock } from '../kit/index.ts';
import type { Session } from '../protocol/index.ts';

/** What a look at a worker's own address tells. */
export type Sight =
  | { readonly seen: 'session'; readonly sessionId: SessionId }
  /** Nobody listens there. */
  | { readonly seen: 'refused' }
  /** Anything else proves nothing. */
  | { readonly seen: 'silent' };

export interface WorkerWatchOptions {
  readonly clock: Clock;
  /** A session that does not renew itself for this long is looked for. */
  readonly overdueMs: number;
  readonly look: (address: string) => Promise<Sight>;
  /** Where the session says it can be reached, if it is known. */
  readonly addressOf: (session: Session) => string | null;
  /** There is proof that the session's process is gone. */
  readonly onGone: (session: Session) => void;
}

/** The moment in which a process ends, or begins, is a bad one to ask: silence is asked again. */
const AGAIN_MS = [0, 100, 400, 1_000, 2_000] as const;

/**
 * Notices dead workers before their time is up. When a connection drops or a renewal is overdue, the
 * address that the worker gave is looked at: refused, or answered by another session, proves that the process is gone;
 * silence proves nothing. The proof counts only for an address at which this very session was seen
 * before: one that never answered (a wrong `--advertise`, a firewall) would refuse for other reasons.
 */
export class WorkerWatch {
  readonly #options: WorkerWatchOptions;
  /** Sessions that answered at their address, by node. */
  readonly #seen: Map<NodeId, SessionId> = new Map();
  readonly #looking: Set<SessionId> = new Set();
  /** Sessions with a dropped connection, of which nothing was heard or seen since. */
  readonly #missing: Set<SessionId> = new Set();

  /** Cancels the search for a node that renews itself in time. */
  readonly #overdue: Map<NodeId, () => void> = new Map();

  constructor(options: WorkerWatchOptions) {
    this.#options = options;
  }

  /** The session has just spoken: see whether it answers at its address too, once. */
  heard(session: Session): void {
    const { nodeId, sessionId } = session;
    this.#missing.delete(sessionId);
    if (this.#seen.get(nodeId) === sessionId) return;
    void this.#look(session);
    // It may be full, and die, before it has ever renewed itself.
    if (!this.#overdue.has(nodeId)) this.renewed(session);
  }

  /** It has renewed itself. One that is full has no poll open whose end would tell of its own. */
  renewed(session: Session): void {
    const { nodeId, sessionId } = session;
    this.#missing.delete(sessionId);
    this.#overdue.get(nodeId)?.();
    const cancel = this.#options.clock.after(this.#options.overdueMs, () => {
      this.#overdue.delete(nodeId);
      this.lost(session);
    });
    this.#overdue.set(nodeId, cancel);
  }

  /** Nobody leads here any more. */
  rest(): void {
    for (const cancel of this.#overdue.values()) cancel();
    this.#overdue.clear();
  }

  /** A connection of the session has dropped. */
  lost(session: Session): void {
    this.#missing.add(session.sessionId);
    void this.#look(session);
  }

  /** Until what is seen decides something. */
  async #look(session: Session): Promise<void> {
    const { sessionId } = session;
    // Whoever looks already will notice that the session is missed now.
    if (this.#looking.has(sessionId)) return;
    this.#looking.add(sessionId);
    try {
      for (const waitMs of AGAIN_MS) {
        await this.#pause(waitMs);
        const wasMissing = this.#missing.has(sessionId);
        const sight = await this.#sight(session);
        if (sight === null) return;
        const isDecided = this.#isDecided(session, sight);
        // What was seen before the connection dropped says nothing of the time after.
        if (isDecided && wasMissing === this.#missing.has(sessionId)) return;
      }
    } finally {
      this.#looking.delete(sessionId);
      this.#missing.delete(sessionId);
    }
  }

  #isDecided(session: Session, sight: Sight): boolean {
    const { nodeId, sessionId } = session;
    if (sight.seen === 'session' && sight.sessionId === sessionId) {
      this.#seen.set(nodeId, sessionId);
      return true;
    }
    if (sight.seen === 'silent' || !this.#missing.has(sessionId)) return false;
    if (this.#seen.get(nodeId) !== sessionId) return true;
    this.#seen.delete(nodeId);
    this.#options.onGone(session);
    return true;
  }

  /** A look that fails proves nothing. Null when nobody wants to know any more. */
  async #sight(session: Session): Promise<Sight | null> {
    try {
      const address = this.#options.addressOf(session);
      return address === null ? null : await this.#options.look(address);
    } catch {
      return { seen: 'silent' };
    }
  }

  async #pause(ms: number): Promise<void> {
    if (ms === 0) return;
    const over = deferred();
    this.#options.clock.after(ms, over.resolve);
    await over.promise;
  }
}
