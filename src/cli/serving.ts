/** The common part of `up`, `dev` and `serve`: a node from its start to the signal that ends it. */
import type { Config } from '../node/config/index.ts';
import {
  compileEarly,
  deferred,
  keepFilesPrivate,
  type LogAbout,
  processLog,
} from '../kit/index.ts';
import type { ServerNode } from '../node/server/index.ts';
import type { Store } from '../scheduler/store/index.ts';
import type { Reply } from './command.ts';
import { exit, type ExitCode } from './exit.ts';
import { aborted } from './interruption.ts';
import { openOrCreate, storePlace } from './store-place.ts';

/**
 * Runs beside the node, from before its worker starts; `ready` settles when it works. The returned function ends it.
 */
type Beside = (node: ServerNode, say: (line: string) => void, ready: Promise<void>) => () => void;

/** A single node with everything, on a file of its own. */
export async function upUntil(
  config: Config,
  reply: Reply,
  signal: AbortSignal,
  beside?: Beside,
): Promise<ExitCode> {
  keepFilesPrivate();
  const { store } = await openOrCreate(storePlace({ data: config.node.data }, {}));
  // No other node can lead on a file of its own: there is nothing to wait for.
  const node = { ...config.node, role: 'leader' as const };
  return serveUntil({ ...config, node }, store, reply, signal, beside);
}

/** `beside` is begun when the node is ready, and ended with what it answers. */
export async function serveUntil(
  config: Config,
  store: Store | null,
  reply: Reply,
  signal: AbortSignal,
  beside: Beside = () => () => {},
): Promise<ExitCode> {
  keepFilesPrivate();
  compileEarly();
  const { ServerNode } = await import('../node/server/index.ts');
  const { logFormat: format, logLevel: level, nodeId } = config.node;
  const about: LogAbout = { pid: process.pid, ...(nodeId === undefined ? {} : { node: nodeId }) };
  const say = processLog({
    format,
    level,
    now: () => new Date().toISOString(),
    write: (text) => void process.stderr.write(text),
    about,
  });
  const node = await ServerNode.start({ config, store, environment: process.env, say }).catch(
    async (error: unknown) => {
      await store?.close();
      throw error;
    },
  );
  about.node = node.nodeId;
  const ended = Promise.race([aborted(signal), orphaned()]).then(() => 'ended' as const);
  const isReady = deferred();
  const end = beside(node, say, isReady.promise);
  try {
    const first = await Promise.race([node.ready().then(() => 'ready' as const), ended]);
    if (first === 'ready') {
      isReady.resolve();
      const { url, grpc } = node.addresses;
      reply.say(`millrace ready ${url}`);
      reply.answer({ ready: true, nodeId: node.nodeId, url, grpc });
      // Every line of a log for machines is an object.
      if (format === 'json') say(`Dashboard: ${url}/`);
      else reply.note(`Dashboard: ${url}/`);
      await ended;
    }
    say('Shutting down: waiting for running tasks. A second signal exits immediately.');
    return exit.done;
  } finally {
    end();
    await node.stop();
    // The channel to a parent would keep the process alive.
    if (process.connected) process.disconnect();
  }
}

/**
 * A process that starts a node as part of something larger holds a channel to it; when that closes, the process
 * is gone.
 */
function orphaned(): Promise<void> {
  return new Promise((resolve) => {
    if (process.connected) process.once('disconnect', resolve);
  });
}
