import type { LeaderAddress } from '../../scheduler/core/index.ts';
import type { Reader } from '../../scheduler/contract/index.ts';

/** Where others reach this node, once its doors are open. */
export interface Addresses {
  readonly url: string;
  readonly grpc: string;
}

/** What a node does in the cluster, whoever it is. */
export interface Part {
  readonly reader: Reader;
  /** Settles when the node accepts work or knows who does; rejects when it never will. */
  readonly ready: Promise<void>;
  whoLeads(): LeaderAddress | null;
  start(addresses: Addresses): Promise<void>;
  stop(): Promise<void>;
}
