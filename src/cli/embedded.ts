/** A whole system for one command: a node and its workers in a folder that is gone afterwards. */
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir, totalmem } from 'node:os';
import { join, resolve } from 'node:path';
import type { Command } from 'commander';
import { HttpClient } from '../client/index.ts';
import type { Config } from '../node/config/index.ts';
import type { ServerNode } from '../node/server/index.ts';
import { exit, type ExitCode } from './exit.ts';
import { aborted, endWithTerminal } from './interruption.ts';
import { removeFolder } from './removed-folder.ts';
import { configFor } from './settings.ts';
import { openOrCreate, storePlace } from './store-place.ts';
import { WorkerProcess } from './worker-process.ts';
import { PRIVATE_FOLDER } from '../kit/index.ts';

export interface EmbeddedOptions {
  readonly command: Command;
  /** Besides those that `--module` names. */
  readonly modules: readonly string[];
  readonly signal: AbortSignal;
  /** Whether a person started it at a terminal. */
  readonly isWatched: boolean;
  /** Lines of the node, its worker and the handlers in it. */
  readonly print: (line: string) => void;
  /** Processes that execute tasks, one if not given. */
  readonly workers?: number;
  /** Of each of them, instead of what the settings say. */
  readonly slots?: number;
}

export interface Embedded {
  readonly client: HttpClient;
  readonly url: string;
}

/** An interruption before it is ready ends it; after that `use` decides what an interruption means. */
export async function withEmbedded(
  options: EmbeddedOptions,
  use: (embedded: Embedded) => Promise<ExitCode>,
): Promise<ExitCode> {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-run-'));
  // Also when a second Ctrl-C ends the process on the spot.
  const remove = (): void => removeFolder(folder);
  process.once('exit', remove);
  const release = endWithTerminal(options.isWatched);
  try {
    return await inFolder(folder, options, use);
  } finally {
    release();
    process.off('exit', remove);
    remove();
  }
}

/**
 * A worker that comes a moment too early, or whose node is about to go, retries by itself. A command that runs
 * one flow does not report which worker is ready.
 */
const PASSING =
  / warn (A poll failed and is retried|No leader has accepted the registration yet): |^millrace worker ready /;

async function inFolder(
  folder: string,
  options: EmbeddedOptions,
  use: (embedded: Embedded) => Promise<ExitCode>,
): Promise<ExitCode> {
  const { signal, print } = options;
  const config = embeddedConfig(folder, options);
  const { store } = await openOrCreate(storePlace({ data: folder }, {}));
  const { ServerNode } = await import('../node/server/index.ts');
  let isOver = false;
  const say = (line: string): void => {
    // There is only one candidate here. And Ctrl-C in a terminal reaches the worker as well.
    if (!isOver && !signal.aborted && !line.startsWith('This node is now the leader')) print(line);
  };
  const environment = embeddedEnvironment(folder);
  const heard = (line: string): void => {
    if (!PASSING.test(line)) print(line);
  };
  const parts = { config, store, environment, say, print: heard, hasReflection: false };
  const node = await ServerNode.start(parts).catch(async (error: unknown) => {
    await store.close();
    throw error;
  });
  const others = moreWorkers(node.addresses.grpc, { folder, config, options, print: heard });
  try {
    const ready = Promise.all([node.ready(), ...others.map((worker) => worker.ready)]);
    const first = await Promise.race([
      ready.then(() => 'ready' as const),
      aborted(signal).then(() => 'interrupted' as const),
    ]);
    return first === 'ready' ? await useNode(node, use) : exit.interrupted;
  } finally {
    // What they have is not needed any more, and neither is a message about their end.
    isOver = true;
    for (const worker of others) worker.killGroup();
    await Promise.all(others.map((worker) => worker.exited));
    await node.stop();
  }
}

interface MoreWorkers {
  readonly folder: string;
  readonly config: Config;
  readonly options: EmbeddedOptions;
  readonly print: (line: string) => void;
}

/** Beside the node's own. */
function moreWorkers(
  grpc: string,
  { folder, config, options, print }: MoreWorkers,
): readonly WorkerProcess[] {
  const { slots, memoryBytes, roots } = config.node;
  return Array.from({ length: (options.workers ?? 1) - 1 }, (_, at) => {
    const id = `here-${at + 2}`;
    const data = join(folder, id);
    mkdirSync(data, { mode: PRIVATE_FOLDER });
    return new WorkerProcess({
      id,
      flags: [
        ...['--server', grpc, '--slots', `${slots}`, '--data', data],
        ...(memoryBytes === undefined ? [] : ['--memory', `${memoryBytes}`]),
        ...roots.flatMap((root) => ['--root', resolve(root)]),
      ],
      folder,
      print,
    });
  });
}

async function useNode(
  { addresses: { url } }: ServerNode,
  use: (embedded: Embedded) => Promise<ExitCode>,
): Promise<ExitCode> {
  const client = new HttpClient({ server: url });
  try {
    return await use({ client, url });
  } finally {
    client.end();
  }
}

/** Only this machine can reach it, whatever the settings of a cluster say. */
function embeddedConfig(
  data: string,
  { command, modules, workers, slots }: EmbeddedOptions,
): Config {
  const config = configFor(command, process.env);
  const all = [...modules, ...config.node.modules.map((file) => resolve(file))];
  const node: Config['node'] = {
    ...config.node,
    role: 'leader',
    host: '127.0.0.1',
    port: 0,
    grpcPort: 0,
    advertise: undefined,
    nodeId: 'here',
    slots: slots ?? Math.max(1, config.node.slots),
    memoryBytes: config.node.memoryBytes ?? share(workers ?? 1),
    data,
    modules: [...new Set(all)],
    tokenFile: undefined,
    token: undefined,
    tlsCert: undefined,
    tlsKey: undefined,
    tlsCa: undefined,
    insecure: false,
  };
  return { ...config, node };
}

const MEMORY_SHARE = 0.6;

/** One worker takes what it finds good; several on one machine have to share that. */
function share(workers: number): number | undefined {
  if (workers === 1) return undefined;
  const limit = process.constrainedMemory();
  const bytes = limit > 0 ? Math.min(limit, totalmem()) : totalmem();
  return Math.floor((bytes * MEMORY_SHARE) / workers);
}

/** Its worker gets its settings as flags; settings for a cluster must not reach it. */
function embeddedEnvironment(folder: string): NodeJS.ProcessEnv {
  const file = join(folder, 'settings.json');
  writeFileSync(file, '{}');
  const cleared = ['TOKEN', 'TOKEN_FILE', 'TLS_CERT', 'TLS_KEY', 'TLS_CA', 'ADVERTISE', 'INSECURE'];
  return {
    ...process.env,
    ...Object.fromEntries(cleared.map((name) => [`MILLRACE_${name}`, ''])),
    MILLRACE_CONFIG: file,
  };
}
