/** Connects a heartbeat thread to a fake leader in the test's own thread, over a channel by name. */
import { BroadcastChannel } from 'node:worker_threads';
import type { Beat, Session, WorkerReport } from '../../src/scheduler/contract/index.ts';
import type { HeartbeatChannel } from '../../src/node/worker/thread-messages.ts';

export interface ThreadCall {
  readonly beat?: Beat;
  readonly items?: readonly WorkerReport[];
}

export function connect(options: unknown): HeartbeatChannel {
  const { channel, abort } = options as { channel: string; abort: boolean };
  const line = new BroadcastChannel(channel);
  const orders = (held: Beat['held']) => ({
    abort: abort ? held : [],
    drain: false,
    slowDownMs: 0,
  });
  const say = (call: ThreadCall): void => {
    // No window is meant here.
    // oxlint-disable-next-line unicorn/require-post-message-target-origin
    line.postMessage(call);
  };
  return {
    leader: {
      heartbeat(beat: Beat) {
        say({ beat });
        return Promise.resolve(orders(beat.held));
      },
      report(_session: Session, items: readonly WorkerReport[]) {
        say({ items });
        return Promise.resolve({ verdicts: items.map(() => 'ok' as const), orders: orders([]) });
      },
    },
    close: () => line.close(),
  };
}
