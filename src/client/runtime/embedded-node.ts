/** The node of a runtime: a thread of the caller's process, and the folder that it owns. */
import { realpathSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { MessageChannel } from 'node:worker_threads';
import type { MessagePort } from 'node:worker_threads';
import { defined, makePrivateFolder } from '../../kit/index.ts';
import { MillraceError } from '../../scheduler/core/index.ts';
import type { Flags } from '../../node/config/index.ts';
import { type Failure, NodeThread, type StorePlace } from '../../node/thread/index.ts';

export interface EmbeddedNodeOptions {
  /** Null keeps everything in memory. */
  readonly data: string | null;
  /** A PostgreSQL database that has everything instead; null for none. */
  readonly database: string | null;
  readonly flags: Flags;
  /** The token that every caller must show; null for none. */
  readonly token: string | null;
  readonly say: (line: string) => void;
  /** It ended without being asked to. */
  readonly onLost: (error: MillraceError) => void;
}

const FILE = 'millrace.duckdb';

/** A thread that was asked to stop and still runs after this long is ended. */
const STOP_MS = 10_000;

/**
 * DuckDB guards its file against other processes, not against another thread of this one: two runtimes
 * on one folder would destroy it. The store looks for what has the file open; this list has those that
 * are about to open it. It is shared by all copies of this module.
 */
const OPEN = Symbol.for('millrace.runtime.folders');
const folders: Set<string> = ((globalThis as { [OPEN]?: Set<string> })[OPEN] ??= new Set());

export class EmbeddedNode {
  readonly url: string;
  readonly grpc: string;
  readonly #thread: NodeThread;

  static async start(options: EmbeddedNodeOptions): Promise<EmbeddedNode> {
    // With a database, the folder only has what no other process needs.
    const isOwner = options.data !== null && options.database === null;
    const folder = options.data === null || !isOwner ? null : claim(options.data);
    const thread = new NodeThread({
      // Only the caller's options count: an embedded node shares its environment with another program.
      sources: { flags: options.flags, folder: import.meta.dirname },
      environment: {},
      place: placeOf(folder, options.database),
      ...defined({ token: options.token ?? undefined }),
      // Its clients know the protocol.
      hasReflection: false,
      // The one in the thread of the caller.
      hasWorkerElsewhere: true,
      say: (line) => options.say(line),
      explain: (failure) => explained(failure, folder, options.database),
      onExit: () => {
        if (folder !== null) folders.delete(folder);
      },
    });
    thread.lost.catch((error: MillraceError) => options.onLost(gone(error)));
    await thread.ready;
    return new EmbeddedNode(thread, await thread.listening);
  }

  private constructor(thread: NodeThread, { url, grpc }: { url: string; grpc: string }) {
    this.#thread = thread;
    this.url = url;
    this.grpc = grpc;
  }

  /** A port through which the node answers calls of this process. */
  connect(): MessagePort {
    const { port1, port2 } = new MessageChannel();
    this.#thread.serve(port2);
    return port1;
  }

  /** Resolves when the thread is gone and its folder free. */
  stop(): Promise<void> {
    return this.#thread.stop(STOP_MS);
  }
}

/** Returns its one name: links must not hide that two paths are one. */
function claim(path: string): string {
  const folder = madeFolder(resolve(path));
  if (folders.has(folder)) throw folderInUse(folder, 'this process');
  folders.add(folder);
  return folder;
}

function madeFolder(folder: string): string {
  try {
    makePrivateFolder(folder);
    return realpathSync(folder);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new MillraceError({
      code: 'bad_setting',
      what: `Cannot use ${folder} as the data folder of a runtime.`,
      why,
      cause,
    });
  }
}

function placeOf(folder: string | null, database: string | null): StorePlace {
  if (database !== null) return { kind: 'postgres', url: database };
  if (folder === null) return { kind: 'memory' };
  return { kind: 'duckdb', path: join(folder, FILE) };
}

function explained(
  { error, leads }: Failure,
  folder: string | null,
  database: string | null,
): MillraceError {
  // A process that has died is replaced soon. One that lives goes on leading.
  if (error.code === 'not_leader' && database !== null) return databaseInUse(leads);
  if (error.code !== 'store_locked' || folder === null) return new MillraceError(error);
  return folderInUse(
    folder,
    /(this process|the process \d+)\.$/.exec(error.what)?.[1] ?? 'another process',
  );
}

function gone({ why }: MillraceError): MillraceError {
  return new MillraceError({
    code: 'unreachable',
    what: 'The node of this runtime has ended.',
    ...defined({ why }),
    todo: 'Create a new runtime; everything committed is in its data folder.',
  });
}

function folderInUse(folder: string, holder: string): MillraceError {
  return new MillraceError({
    code: 'store_locked',
    what: `The folder ${folder} is already in use by ${holder}.`,
    why: 'One runtime at a time owns the data of a folder.',
    todo:
      "Use the one that owns it: connect('http://127.0.0.1:7070') for `millrace up`, " +
      'connect(runtime.url, { token: runtime.token }) for another runtime. Or give this one a `data` folder of its own.',
  });
}

function databaseInUse(leads: Failure['leads']): MillraceError {
  const at = leads === null || leads.url === null ? '' : ` at ${leads.url}`;
  const who = leads === null ? 'another process' : `node ${leads.nodeId}${at}`;
  return new MillraceError({
    code: 'store_locked',
    what: `The database is already in use by ${who}.`,
    why: 'One runtime at a time owns a database.',
    todo: 'Use that one: connect(url). For several nodes on one database, run `millrace serve`.',
  });
}
