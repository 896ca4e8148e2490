/**
 * `millrace/server`: a node of a cluster, or a single node on a folder, inside a program of the user's
 * own. Its worker, if it has slots, is a process beside it, as with `millrace serve` and `millrace up`.
 */
import { join } from 'node:path';
import { loadConfig } from '../node/config/index.ts';
import type { AllSettings, NodeRole } from '../node/config/index.ts';
import { MillraceError } from '../scheduler/core/index.ts';
import { ServerNode } from '../node/server/index.ts';
import { openDuckdbStore, openPostgresStore } from '../scheduler/store/index.ts';
import type { Store } from '../scheduler/store/index.ts';
import { makePrivateFolder } from '../kit/index.ts';

export interface StartServerOptions {
  /** The PostgreSQL of the cluster. Without it the node is alone, on a file in `data`. */
  readonly database?: string;
  /** `./.millrace` if not given. */
  readonly data?: string;
  /** `auto` in a cluster; a node that is alone leads. */
  readonly role?: NodeRole;
  /** 7070 if not given, 0 for any free one. */
  readonly port?: number;
  /** 7071 if not given, 0 for any free one. */
  readonly grpcPort?: number;
  readonly host?: string;
  readonly advertise?: string;
  readonly nodeId?: string;
  /** Tasks that its own worker process runs at the same time; 0, the default here, for no worker. */
  readonly slots?: number;
  /** The modules that its worker loads. */
  readonly modules?: readonly string[];
  /** Any other setting, by the name that `millrace config` shows. */
  readonly settings?: Partial<AllSettings>;
  /** Lines for people; to standard error if not given. */
  readonly say?: (line: string) => void;
}

export interface RunningServer extends AsyncDisposable {
  readonly nodeId: string;
  readonly url: string;
  readonly grpc: string;
  /** Drains its worker, gives up its leadership and closes its store. */
  stop(): Promise<void>;
}

/** Resolves when the node accepts work or knows the leader. */
export async function startServer(options: StartServerOptions = {}): Promise<RunningServer> {
  const { say = (line: string): void => void process.stderr.write(`${line}\n`) } = options;
  const config = loadConfig({ flags: flagsOf(options), folder: import.meta.dirname });
  const store = await storeFor(config.node);
  const environment = process.env;
  const started = ServerNode.start({ config, store, environment, say });
  const node = await started.catch(async (error: unknown) => {
    await store?.close();
    throw error;
  });
  try {
    await node.ready();
  } catch (error) {
    await node.stop();
    throw error;
  }
  const { url, grpc } = node.addresses;
  let stopping: Promise<void> | null = null;
  const stop = (): Promise<void> => (stopping ??= node.stop());
  return { nodeId: node.nodeId, url, grpc, stop, [Symbol.asyncDispose]: stop };
}

async function storeFor(node: {
  readonly database: string | undefined;
  readonly data: string;
  readonly role: NodeRole;
  readonly servers: readonly string[];
}): Promise<Store | null> {
  const { database, data, role, servers } = node;
  if (database !== undefined) return openPostgresStore({ url: database, migrate: true });
  // It looks at another node instead.
  if (role === 'observer' && servers.length > 0) return null;
  try {
    makePrivateFolder(data);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    const what = `Cannot use ${data} as the folder of a store.`;
    throw new MillraceError({ code: 'bad_setting', what, why, cause });
  }
  return openDuckdbStore({ path: join(data, 'millrace.duckdb') });
}

function flagsOf({ settings, ...options }: StartServerOptions): Record<string, unknown> {
  const role = options.role ?? (options.database === undefined ? 'leader' : 'auto');
  const given = { slots: 0, ...settings, ...options, role, say: undefined };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}
