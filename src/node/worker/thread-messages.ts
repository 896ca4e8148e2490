/** The messages between the main thread and the heartbeat thread. Sessions are numbered: a late message for an old one
 * is ignored. */
import type { MessagePort } from 'node:worker_threads';
import { packLeases, readLeases } from '../../edge/grpc/index.ts';
import type { WorkerFigures, WorkerService } from '../../scheduler/contract/index.ts';
import type { HeartbeatNews, HeartbeatStart, HeldChange } from './heartbeat.ts';

export type ToSession = { readonly session: number } & (
  | { readonly type: 'begin'; readonly start: HeartbeatStart }
  | { readonly type: 'change'; readonly change: PackedChange }
  | { readonly type: 'offer'; readonly executors: readonly string[] }
  | { readonly type: 'heard'; readonly no: number; readonly figures: WorkerFigures | undefined }
  | { readonly type: 'stop' }
);

/** A change of what is held. To copy an object for each lease would cost more than many a task. */
export interface PackedChange {
  /** The numbers of those that are added, and the leases in the same order. */
  readonly ids: Uint32Array;
  readonly leases: Uint8Array;
  readonly removed: Uint32Array;
  readonly seenPoll: number;
}

export function packChange({ added, removed, seenPoll }: HeldChange): PackedChange {
  const leases = packLeases(added.map(({ lease }) => lease));
  const ids = Uint32Array.from(added, ({ id }) => id);
  return { ids, leases, removed: Uint32Array.from(removed), seenPoll };
}

export function readChange({ ids, leases, removed, seenPoll }: PackedChange): HeldChange {
  const { buffer, byteOffset, byteLength } = leases;
  const read = readLeases(Buffer.from(buffer, byteOffset, byteLength), 'leases', ids.length);
  const added = read.map((lease, at) => ({ id: ids[at] ?? 0, lease }));
  return { added, removed: [...removed], seenPoll };
}

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
