import type { NodeId, SessionId } from '../core/index.ts';
import type { Session } from '../protocol/index.ts';

/** What a look at a worker's own address tells. */
export type Sight =
  | { readonly seen: 'session'; readonly sessionId: SessionId }
  /** Nobody listens there. */
  | { readonly seen: 'refused' }
  /** Anything else proves nothing. */
  | { readonly seen: 'silent' };

export interface WorkerWatchOptions {
  readonly look: (address: string) => Promise<Sight>;
  /** Where the session says it can be reached, if it is known. */
  readonly addressOf: (session: Session) => string | null;
  /** There is proof that the session's process is gone. */
  readonly onGone: (session: Session) => void;
}

/**
 * Notices dead workers before their time is up. When a connection drops, the address that the worker
 * gave is looked at: refused, or answered by another session, proves that the process is gone;
 * silence proves nothing. The proof counts only for an address at which this very session was seen
 * before: one that never answered (a wrong `--advertise`, a firewall) would refuse for other reasons.
 */
export class WorkerWatch {
  readonly #options: WorkerWatchOptions;
  /** Sessions that answered at their address, by node. */
  readonly #seen: Map<NodeId, SessionId> = new Map();
  readonly #looking: Set<SessionId> = new Set();

  constructor(options: WorkerWatchOptions) {
    this.#options = options;
  }

  /** The session has just spoken: see whether it answers at its address too, once. */
  heard(session: Session): void {
    const { nodeId, sessionId } = session;
    if (this.#seen.get(nodeId) === sessionId) return;
    void this.#look(session, (sight) => {
      if (sight.seen === 'session' && sight.sessionId === sessionId) {
        this.#seen.set(nodeId, sessionId);
      }
    });
  }

  /** A connection of the session has dropped. */
  lost(session: Session): void {
    const { nodeId, sessionId } = session;
    if (this.#seen.get(nodeId) !== sessionId) return;
    void this.#look(session, (sight) => {
      const isGone =
        sight.seen === 'refused' || (sight.seen === 'session' && sight.sessionId !== sessionId);
      if (!isGone) return;
      this.#seen.delete(nodeId);
      this.#options.onGone(session);
    });
  }

  forget(nodeId: NodeId): void {
    this.#seen.delete(nodeId);
  }

  async #look(session: Session, act: (sight: Sight) => void): Promise<void> {
    const address = this.#options.addressOf(session);
    if (address === null || this.#looking.has(session.sessionId)) return;
    this.#looking.add(session.sessionId);
    try {
      act(await this.#options.look(address));
    } catch {
      // A look that fails proves nothing.
    } finally {
      this.#looking.delete(session.sessionId);
    }
  }
}
