import type { LeaderAddress } from '../../scheduler/core/index.ts';
import type { Reader } from '../../scheduler/contract/index.ts';

/** Where others reach this node, once it listens. */
export interface Addresses {
  readonly url: string;
  readonly grpc: string;
}

/** The part of a node in the cluster, whichever role it has. */
export interface Part {
  readonly reader: Reader;
  /** Settles when the node accepts work or knows the leader; rejects if it never will. */
  readonly ready: Promise<void>;
  whoLeads(): LeaderAddress | null;
  start(addresses: Addresses): Promise<void>;
  stop(): Promise<void>;
}
