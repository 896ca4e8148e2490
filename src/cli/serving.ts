/** The common part of `up`, `dev` and `serve`: a node from its start to the signal that ends it. */
import type { Config } from '../node/config/index.ts';
import { compileEarly, keepFilesPrivate, type LogAbout, processLog } from '../kit/index.ts';
import { NodeThread, type StorePlace } from '../node/thread/index.ts';
import type { Reply } from './command.ts';
import { exit, type ExitCode } from './exit.ts';
import { aborted, endBySignal } from './interruption.ts';
import { makeFolderFor, storePlace } from './store-place.ts';

/** Runs beside the node, from before its worker starts. The returned function ends it. */
type Beside = (node: NodeThread, say: (line: string) => void) => () => void;

/** A single node with everything, on a file of its own. */
export async function upUntil(
  { node, sources }: Config,
  reply: Reply,
  signal: AbortSignal,
  beside?: Beside,
): Promise<ExitCode> {
  keepFilesPrivate();
  const place = storePlace({ data: node.data }, {});
  makeFolderFor(place);
  // No other node can lead on a file of its own: there is nothing to wait for.
  const alone = { node, sources: { ...sources, flags: { ...sources.flags, role: 'leader' } } };
  return serveUntil(alone, place, reply, signal, beside);
}

/** The node is in a thread; this one waits for signals. */
export async function serveUntil(
  { node: settings, sources }: Pick<Config, 'node' | 'sources'>,
  place: StorePlace | null,
  reply: Reply,
  signal: AbortSignal,
  beside: Beside = () => () => {},
): Promise<ExitCode> {
  const fileMask = keepFilesPrivate();
  compileEarly();
  const { logFormat: format, logLevel: level, nodeId } = settings;
  const about: LogAbout = { pid: process.pid, ...(nodeId === undefined ? {} : { node: nodeId }) };
  const say = processLog({
    format,
    level,
    now: () => new Date().toISOString(),
    write: (text) => void process.stderr.write(text),
    about,
  });
  const environment = { ...process.env };
  // DuckDB aborts a process that ends in the middle of a call of another thread.
  const isGone = endBySignal();
  const node = new NodeThread({ sources, place, environment, fileMask, say, onExit: isGone });
  const addresses = await node.listening;
  about.node = addresses.nodeId;
  const ended = Promise.race([aborted(signal), orphaned(), node.lost]).then(() => 'ended' as const);
  const end = beside(node, say);
  try {
    const first = await Promise.race([node.ready.then(() => 'ready' as const), ended]);
    if (first === 'ready') {
      const { url, grpc } = addresses;
      reply.say(`millrace ready ${url}`);
      reply.answer({ ready: true, nodeId: about.node, url, grpc });
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
