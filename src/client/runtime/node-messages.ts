/** The messages between a runtime and the thread of its node. */
import type { MessagePort } from 'node:worker_threads';
import type { ErrorParts } from '../../scheduler/core/index.ts';

/** The start parameters of the thread. */
export interface NodeThreadData {
  /** Null keeps everything in memory. */
  readonly data: string | null;
  /** A PostgreSQL database that has everything instead; null for none. */
  readonly database: string | null;
  /** By the names of the settings. */
  readonly flags: Readonly<Record<string, unknown>>;
  /** The token that every caller must show; null for none. */
  readonly token: string | null;
}

export type FromNode =
  | { readonly type: 'ready'; readonly url: string; readonly grpc: string }
  /** It cannot start, or cannot go on. */
  | { readonly type: 'failed'; readonly error: ErrorParts }
  | { readonly type: 'said'; readonly line: string };

/** A port is for calls: see `edge/local`. */
export type ToNode = 'stop' | MessagePort;
