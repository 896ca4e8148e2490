import { MillraceError } from '../core/index.ts';
import type { LeaderAddress } from '../core/index.ts';
import type { Leader } from './leader.ts';

/**
 * Routes calls for the leader: to the local one, or to a refusal that names the leader, so that callers can follow.
 */
export class LeaderGateway {
  readonly #nodeId: string;
  #leader: Leader | null = null;
  #elsewhere: LeaderAddress | null = null;
  /** Why there is no leader, if known. */
  #trouble: MillraceError | null = null;

  constructor(nodeId: string) {
    this.#nodeId = nodeId;
  }

  /** This node leads, and serves. */
  open(leader: Leader, address: LeaderAddress): void {
    this.#leader = leader;
    this.#elsewhere = address;
    this.#trouble = null;
  }

  /** The database is away, or back again: without it no node can begin to lead. */
  troubled(trouble: MillraceError | null): void {
    this.#trouble = trouble;
  }

  /** This node does not lead; another one may. */
  refer(to: LeaderAddress | null): void {
    this.#leader = null;
    // An own term that has ended leads nowhere.
    this.#elsewhere = to?.nodeId === this.#nodeId ? null : to;
  }

  get isOpen(): boolean {
    return this.#leader !== null;
  }

  /** Who leads, as far as is known here. */
  whoLeads(): LeaderAddress | null {
    return this.#elsewhere;
  }

  /** Throws `not_leader`, with where to go. */
  leader(): Leader {
    if (this.#leader !== null) return this.#leader;
    throw notLeader(this.#nodeId, this.#elsewhere, this.#trouble);
  }
}

function notLeader(
  nodeId: string,
  leader: LeaderAddress | null,
  trouble: MillraceError | null,
): MillraceError {
  const where = leader?.url ?? leader?.grpc ?? null;
  const nobody =
    trouble === null
      ? 'The cluster has no leader at the moment.'
      : `The cluster has no leader: ${trouble.what}`;
  return new MillraceError({
    code: 'not_leader',
    what: `Node ${nodeId} is not the leader.`,
    why: leader === null ? nobody : `The leader is ${leader.nodeId}.`,
    todo: where === null ? 'Retry shortly.' : `Ask ${where}.`,
    ...(leader === null ? {} : { leader }),
  });
}
