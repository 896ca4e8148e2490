/** What passes between a process and the thread of its node: plain values and ports. */
import type { MessagePort } from 'node:worker_threads';
import type { ErrorParts } from '../../scheduler/core/index.ts';
import type { ConfigSources } from '../config/index.ts';

/** Where the node has its jobs. */
export type StorePlace =
  | { readonly kind: 'memory' }
  | { readonly kind: 'duckdb'; readonly path: string }
  | { readonly kind: 'postgres'; readonly url: string };

/** The start parameters of the thread. */
export interface NodeThreadData {
  readonly sources: ConfigSources;
  /** Null for an observer without a database. */
  readonly place: StorePlace | null;
  /** For the node's own worker, which sees nothing else. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** See `NodeOptions`. */
  readonly token?: string | undefined;
  readonly hasReflection?: boolean;
  readonly hasWorkerElsewhere?: boolean;
  readonly fileMask?: number;
}

export interface NodeAddresses {
  readonly nodeId: string;
  readonly url: string;
  readonly grpc: string;
}

export interface Leads {
  readonly nodeId: string;
  readonly url: string | null;
}

/** The node cannot start, or cannot go on. */
export interface Failure {
  readonly error: ErrorParts;
  /** Who leads, where that is why. */
  readonly leads: Leads | null;
}

export type FromNode =
  | ({ readonly type: 'listens' } & NodeAddresses)
  | { readonly type: 'ready' }
  | { readonly type: 'replaced'; readonly error: ErrorParts | null }
  | ({ readonly type: 'failed' } & Failure)
  /** All that was begun has ended; the thread follows. */
  | { readonly type: 'ended' }
  | { readonly type: 'said'; readonly what: readonly unknown[] };

/** A port is for calls: see `edge/local`. */
export type ToNode = 'stop' | 'replace' | MessagePort;
