import type { TermId } from '../../scheduler/core/index.ts';
import type { LeaderInfo } from '../../scheduler/store/index.ts';

/** A term of this process is not needed for longer than its row may say so. */
const OWN_MAX = 100;

/** Detects a second server with this one's node id. The leader's row may name this node for other reasons: a term of
 * this process that it could not give back, or one of the process before it. Neither is renewed. */
export class DuplicateIdWatch {
  readonly #nodeId: string;
  readonly #own: Set<TermId> = new Set();
  #seen: LeaderInfo | null = null;

  constructor(nodeId: string) {
    this.#nodeId = nodeId;
  }

  /** A term of this process. */
  made(term: TermId): void {
    this.#own.add(term);
    const [oldest] = this.#own;
    if (this.#own.size > OWN_MAX && oldest !== undefined) this.#own.delete(oldest);
  }

  /** Whether this leader is another process of the same node id, and alive. */
  isTwin(info: LeaderInfo): boolean {
    if (info.nodeId !== this.#nodeId || this.#own.has(info.term)) return false;
    const before = this.#seen;
    this.#seen = info;
    return before?.term === info.term && info.expiresAt > before.expiresAt;
  }
}
