/** What `up` and `serve` have in common: a node from its start to the signal that ends it. */
import type { Config } from '../config/index.ts';
import type { Store } from '../store/index.ts';
import type { Reply } from './command.ts';
import { exit, type ExitCode } from './exit.ts';

export async function serveUntil(
  config: Config,
  store: Store | null,
  reply: Reply,
  signal: AbortSignal,
): Promise<ExitCode> {
  const { ServerNode } = await import('../server/index.ts');
  const say = (line: string): void => void process.stderr.write(`${line}\n`);
  const node = await ServerNode.start({ config, store, environment: process.env, say }).catch(
    async (error: unknown) => {
      await store?.close();
      throw error;
    },
  );
  const ended = new Promise<'ended'>((resolve) => {
    const end = (): void => resolve('ended');
    if (signal.aborted) end();
    signal.addEventListener('abort', end, { once: true });
  });
  try {
    const first = await Promise.race([node.ready().then(() => 'ready' as const), ended]);
    if (first === 'ready') {
      const { url, grpc } = node.addresses;
      reply.say(`millrace ready ${url}`);
      reply.answer({ ready: true, nodeId: node.nodeId, url, grpc });
      await ended;
    }
    say('Stopping: finishing what runs. A second signal ends at once.');
    return exit.done;
  } finally {
    await node.stop();
  }
}
