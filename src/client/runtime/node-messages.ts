/** What a runtime and the thread of its node say to each other. */
import { MillraceError } from '../../scheduler/core/index.ts';
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

export type ToNode = 'stop';

/** Only plain values travel between threads. */
export function partsOf(error: unknown): ErrorParts {
  if (!(error instanceof MillraceError)) {
    return { code: 'invariant', what: error instanceof Error ? error.message : String(error) };
  }
  const { code, what, why, todo, path } = error;
  return {
    code,
    what,
    ...(why === undefined ? {} : { why }),
    ...(todo === undefined ? {} : { todo }),
    ...(path === undefined ? {} : { path }),
  };
}
