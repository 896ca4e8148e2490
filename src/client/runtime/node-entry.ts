/**
 * Runs in a thread of its own: the node of a runtime. Leader, store and listeners live here, and no code of
 * users does, so nothing that a handler does can hold up the scheduler.
 */
import { join } from 'node:path';
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { loadConfig } from '../../node/config/index.ts';
import { MillraceError, instant, isMillraceError } from '../../scheduler/core/index.ts';
import { ServerNode } from '../../node/server/index.ts';
import { errorParts } from '../../edge/local/index.ts';
import {
  openDuckdbStore,
  openMemoryStore,
  openPostgresStore,
} from '../../scheduler/store/index.ts';
import type { LeaderInfo, Store } from '../../scheduler/store/index.ts';
import type { FromNode, NodeThreadData, ToNode } from './node-messages.ts';
import { makePrivateFolder } from '../../kit/index.ts';

const port = parentPort;
if (port === null) throw new Error('The node of a runtime runs in a thread.');

const FILE = 'millrace.duckdb';
const tell = (message: FromNode): void => port.postMessage(message);

async function openStore({ data, database }: NodeThreadData): Promise<Store> {
  if (database !== null) return openPostgresStore({ url: database, migrate: true });
  if (data === null) return openMemoryStore({ now: () => instant(Date.now()) });
  try {
    makePrivateFolder(data);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new MillraceError({
      code: 'bad_setting',
      what: `Cannot use ${data} as the data folder of a runtime.`,
      why,
      cause,
    });
  }
  return openDuckdbStore({ path: join(data, FILE) });
}

async function start(given: NodeThreadData): Promise<ServerNode> {
  const { database, flags, token } = given;
  // Only the caller's options count: an embedded node shares its environment with another program.
  const config = loadConfig({ flags, folder: import.meta.dirname });
  const store = await openStore(given);
  const say = (line: string): void => tell({ type: 'said', line });
  const started = ServerNode.start({
    config,
    store,
    environment: {},
    say,
    token: token ?? undefined,
    // Its clients know the protocol.
    hasReflection: false,
    // The one in the thread of the caller.
    hasWorkerElsewhere: true,
  });
  const node = await started.catch(async (error: unknown) => {
    await store.close();
    throw error;
  });
  try {
    await node.ready();
    return node;
  } catch (error) {
    // A process that has died is replaced soon. One that lives goes on leading.
    const isTaken = database !== null && isMillraceError(error, 'not_leader');
    const leader = isTaken ? await store.leader(0) : null;
    await node.stop();
    throw isTaken ? inUse(leader) : error;
  }
}

function inUse(leader: LeaderInfo | null): MillraceError {
  const who = leader === null ? 'another process' : `node ${leader.nodeId} at ${leader.url}`;
  return new MillraceError({
    code: 'store_locked',
    what: `The database is already in use by ${who}.`,
    why: 'One runtime at a time owns a database.',
    todo: 'Use that one: connect(url). For several nodes on one database, run `millrace serve`.',
  });
}

async function run(): Promise<void> {
  const early: MessagePort[] = [];
  let node: ServerNode | null = null;
  const stopped = new Promise<void>((resolve) => {
    port?.on('message', (word: ToNode) => {
      if (word === 'stop') resolve();
      else if (node === null) early.push(word);
      else node.serveLocal(word);
    });
  });
  node = await start(workerData as NodeThreadData);
  for (const each of early) node.serveLocal(each);
  const { url, grpc } = node.addresses;
  tell({ type: 'ready', url, grpc });
  await stopped;
  await node.stop();
}

try {
  await run();
} catch (error) {
  tell({ type: 'failed', error: errorParts(error) });
} finally {
  // The thread ends when nothing of it is open any more.
  port.close();
}
