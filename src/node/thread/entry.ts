/** Runs in the thread: leader, store and listeners live here, and no code of users does. */
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { deferred } from '../../kit/index.ts';
import { instant, isMillraceError } from '../../scheduler/core/index.ts';
import {
  openDuckdbStore,
  openMemoryStore,
  openPostgresStore,
} from '../../scheduler/store/index.ts';
import type { Store } from '../../scheduler/store/index.ts';
import { errorParts } from '../../edge/local/index.ts';
import { type Config, loadConfig } from '../config/index.ts';
import { ServerNode } from '../server/index.ts';
import type { Failure, FromNode, NodeThreadData, StorePlace, ToNode } from './messages.ts';

const port = parentPort;
if (port === null) throw new Error('This file is for a thread.');

const tell = (message: FromNode): void => port.postMessage(message);

async function openStore(place: StorePlace, { core, node }: Config): Promise<Store> {
  switch (place.kind) {
    case 'memory':
      return openMemoryStore({ now: () => instant(Date.now()) });
    case 'duckdb':
      return openDuckdbStore({ path: place.path });
    case 'postgres': {
      // Who only watches must not change a database.
      const migrate = node.role !== 'observer';
      return openPostgresStore({ url: place.url, migrate, ttlHintMs: core.leaderTtlMs });
    }
  }
}

async function run({ sources, place, ...given }: NodeThreadData): Promise<void> {
  const early: MessagePort[] = [];
  let node: ServerNode | null = null;
  const stopped = deferred();
  port?.on('message', (word: ToNode) => {
    if (word === 'stop') stopped.resolve();
    else if (word === 'replace') void replace(node);
    else if (node === null) early.push(word);
    else node.serveLocal(word);
  });
  const config = loadConfig(sources);
  const store = place === null ? null : await openStore(place, config);
  const say = (...what: readonly unknown[]): void => tell({ type: 'said', what });
  node = await ServerNode.start({ ...given, config, store, say }).catch(async (error: unknown) => {
    await store?.close();
    throw error;
  });
  const { nodeId, addresses } = node;
  tell({ type: 'listens', nodeId, ...addresses });
  for (const each of early) node.serveLocal(each);
  try {
    const first = await Promise.race([node.ready().then(() => 'ready' as const), stopped.promise]);
    if (first === 'ready') tell({ type: 'ready' });
    await stopped.promise;
  } catch (error) {
    tell({ type: 'failed', ...(await failureOf(error, store)) });
  } finally {
    await node.stop();
  }
}

/** Who leads is asked before the store is closed. */
async function failureOf(reason: unknown, store: Store | null): Promise<Failure> {
  const isTaken = isMillraceError(reason, 'not_leader');
  const leader = isTaken && store !== null ? await store.leader(0) : null;
  const leads = leader === null ? null : { nodeId: leader.nodeId, url: leader.url };
  return { error: errorParts(reason), leads };
}

async function replace(node: ServerNode | null): Promise<void> {
  try {
    await node?.replaceWorker();
    tell({ type: 'replaced', error: null });
  } catch (error) {
    tell({ type: 'replaced', error: errorParts(error) });
  }
}

try {
  await run(workerData as NodeThreadData);
} catch (error) {
  tell({ type: 'failed', error: errorParts(error), leads: null });
} finally {
  tell({ type: 'ended' });
  // The thread ends when nothing of it is open any more.
  port.close();
}
