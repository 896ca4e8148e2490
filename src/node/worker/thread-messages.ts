/** The messages between the main thread and the heartbeat thread. Sessions are numbered: a late message for an old one
 * is ignored. */
import type { MessagePort } from 'node:worker_threads';
import type { WorkerFigures, WorkerService } from '../../scheduler/contract/index.ts';
import type { HeartbeatNews, HeartbeatStart } from './heartbeat.ts';

export type ToSession = { readonly session: number } & (
  | { readonly type: 'begin'; readonly start: HeartbeatStart }
  | { readonly type: 'moved'; readonly held: SharedArrayBuffer }
  | { readonly type: 'offer'; readonly executors: readonly string[] }
  | { readonly type: 'heard'; readonly no: number; readonly figures: WorkerFigures | undefined }
  | { readonly type: 'stop' }
);

export type ToThread = ToSession | 'close';

export interface FromThread {
  readonly session: number;
  readonly news: HeartbeatNews;
}

/** How the thread finds the leader: a module to import there and what to call its `connect` with. */
export interface Connector {
  /** A file URL. */
  readonly module: string;
  /** Anything that can be sent to a thread. */
  readonly options: unknown;
  /** What of it is not copied but moves there. */
  readonly transfer?: readonly MessagePort[];
}

/** The thread's own connection, for one session. */
export interface HeartbeatChannel {
  readonly leader: Pick<WorkerService, 'heartbeat' | 'report'>;
  readonly close: () => void;
}

/** What the module of a connector exports. */
export interface ConnectorModule {
  connect(options: unknown, start: HeartbeatStart): HeartbeatChannel;
}
