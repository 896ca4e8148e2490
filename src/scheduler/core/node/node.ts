/** A worker process as the scheduler sees it: one session, what it offers, what it holds. */
import type { Capabilities } from '../document/document.ts';
import type { Ask } from '../event.ts';
import type { Job } from '../job/job.ts';
import { LinkedList, Place } from '../memory/linked-list.ts';
import { instant } from '../ids.ts';
import type { Instant, JobNo, NodeId, SessionId, TaskNo } from '../ids.ts';
import type { Lease, LeaseName } from '../task/lease.ts';
import type { Group } from '../queue/group.ts';
import type { Requirement } from '../queue/requirement.ts';
import type { NodeRow, NodeStatus } from '../rows.ts';

/** What a node says of itself when it registers. */
export interface NodeOffer {
  readonly id: NodeId;
  /** Chosen by each process: a restarted worker is another session. */
  readonly sessionId: SessionId;
  /** How many tasks it runs at the same time. */
  readonly slots: number;
  /** How many more it may hold, which wait there for a slot. */
  readonly prefetch: number;
  readonly executors: readonly string[];
  readonly capabilities: Capabilities;
  readonly address: string | null;
  readonly version: string;
}

/** A parked GetTask: answered when there is work, an order, or the caller gives up. */
export interface Poll {
  readonly ask: Ask;
  readonly no: number;
  /** How many more tasks the worker asked for. */
  wants: number;
  /** Each lease that ends by the worker's own report makes room for another. */
  readonly refills: boolean;
  /** Leases that the worker never received, sent again with this answer. */
  readonly again: Lease[];
  /** Leases that it holds no longer: aborted with this answer. */
  readonly lost: LeaseName[];
  /** New leases for this answer. */
  readonly fresh: Lease[];
}

export interface NodeFailure {
  readonly at: Instant;
  readonly jobNo: JobNo;
  readonly taskNo: TaskNo;
}

export class Node {
  offer: NodeOffer;
  readonly executors: Set<string>;
  status: NodeStatus = 'healthy';
  draining = false;
  registeredAt: Instant;
  /** When the session was last heard of. */
  seenAt: Instant;
  expiresAt: Instant;
  quarantinedUntil: Instant | null = null;
  /** Out of quarantine, but one more failure brings it back at once. */
  onProbation = false;
  /** Failures that may be the node's fault, newest last. */
  readonly failures: NodeFailure[] = [];
  /** Tasks that failed here since one last succeeded here. */
  failedInRow = 0;
  /** In quarantine: not before then is it tried again while others are full. */
  triedAgainAt: Instant = instant(0);
  /** It is being emptied for a task of this requirement, which runs alone. */
  clearedFor: Requirement | null = null;
  /** Executors that turned out to be missing: not tried again before the node registers again. */
  readonly strikes: Set<string> = new Set();
  readonly leases: LinkedList<Lease> = new LinkedList();
  /** Live jobs of which this session may keep outputs. */
  readonly outputJobs: Set<Job> = new Set();
  poll: Poll | null = null;
  lastPollNo = 0;
  /** How many times it has said what it holds. */
  lists = 0;
  // Owned by Matching.
  group: Group | null = null;
  /** Among those that wait for work. */
  readonly place: Place<Node> = new Place();
  readonly meets: Set<Requirement> = new Set();
  /** Of those, the ones that it may be given as a first choice. */
  readonly able: Set<Requirement> = new Set();
  readonly heldBy: Map<ReadonlySet<Requirement>, number> = new Map();
  /** Fragments of queries that it holds. */
  bulkHeld = 0;
  /** It holds a task that runs alone. */
  holdsAlone = 0;

  constructor(offer: NodeOffer, now: Instant, expiresAt: Instant) {
    this.offer = offer;
    this.executors = new Set(offer.executors);
    this.registeredAt = now;
    this.seenAt = now;
    this.expiresAt = expiresAt;
  }

  get id(): NodeId {
    return this.offer.id;
  }

  get sessionId(): SessionId {
    return this.offer.sessionId;
  }

  get takesWork(): boolean {
    return this.status === 'healthy' && !this.draining;
  }

  /** A slot is free; what it holds beyond its slots only waits there. */
  get hasRoom(): boolean {
    return this.leases.size < this.offer.slots;
  }

  /** Fragments leave one place on every node that has more than one. */
  get bulkMax(): number {
    return Math.max(1, this.offer.slots - 1);
  }

  /** Fragments are never held in advance. */
  get mayTakeBulk(): boolean {
    return this.hasRoom && this.bulkHeld < this.bulkMax;
  }

  /** More of its places would be the larger half: others that wait come first. */
  get hasBulkShare(): boolean {
    return this.bulkHeld >= Math.max(1, Math.floor(this.offer.slots / 2));
  }

  /** What it says it is short of, such as room on its disk; null for nothing. */
  get pressure(): string | null {
    const { pressure } = this.offer.capabilities;
    return typeof pressure === 'string' ? pressure : null;
  }

  /** A parked poll that wants more, and a place for it. */
  get canTakeMore(): boolean {
    return this.poll !== null && this.poll.wants > 0 && this.leases.size < this.capacity;
  }

  /** Leases that it may hold: what it runs, and what waits there for a slot. */
  get capacity(): number {
    return this.offer.slots + this.offer.prefetch;
  }
}

export function nodeRow(node: Node): NodeRow {
  return {
    id: node.id,
    sessionId: node.sessionId,
    status: node.status,
    draining: node.draining,
    slots: node.offer.slots,
    prefetch: node.offer.prefetch,
    executors: node.offer.executors,
    capabilities: JSON.stringify(node.offer.capabilities),
    address: node.offer.address,
    version: node.offer.version,
    quarantinedUntil: node.quarantinedUntil,
    registeredAt: node.registeredAt,
    seenAt: node.seenAt,
  };
}
