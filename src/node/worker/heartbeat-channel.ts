/** The heartbeat thread's own connection. That thread imports this file by the URL that is given to it. */
import { openConnection } from './channel.ts';
import type { ChannelOptions } from './channel.ts';
import type { HeartbeatStart } from './heartbeat.ts';
import type { Connector, HeartbeatChannel } from './thread-messages.ts';

export function heartbeatConnector(options: ChannelOptions): Connector {
  return { module: import.meta.url, options };
}

/** For each new session, with what its leader has said. */
export function connect(options: unknown, start: HeartbeatStart): HeartbeatChannel {
  const { sessionTtlMs, heartbeatMs } = start;
  return openConnection({ ...(options as ChannelOptions), sessionTtlMs }, heartbeatMs);
}
