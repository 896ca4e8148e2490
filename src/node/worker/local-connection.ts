/**
 * How a worker in the leader's own process reaches it: through message ports, one for this thread and one for the
 * heartbeat thread. That thread imports this file by the URL that is given to it.
 */
import type { MessagePort } from 'node:worker_threads';
import { localWorker, PortCaller } from '../../edge/local/index.ts';
import type { LeaderConnection } from './channel.ts';
import type { HeartbeatStart } from './heartbeat.ts';
import { processClock } from './process-clock.ts';
import type { Connector, HeartbeatChannel } from './thread-messages.ts';

export interface LocalPorts {
  readonly work: MessagePort;
  readonly heartbeat: MessagePort;
}

export function openLocalConnection({ work }: LocalPorts): LeaderConnection {
  const caller = new PortCaller(work);
  const leader = localWorker(caller, { clock: processClock });
  return { leader, close: () => caller.close() };
}

/** The port moves to the thread. */
export function localConnector({ heartbeat }: LocalPorts): Connector {
  return { module: import.meta.url, options: heartbeat, transfer: [heartbeat] };
}

let caller: PortCaller | null = null;

/** All sessions share the port. */
export function connect(port: unknown, { heartbeatMs }: HeartbeatStart): HeartbeatChannel {
  if (caller === null) {
    caller = new PortCaller(port as MessagePort);
    caller.unref();
  }
  const leader = localWorker(caller, { clock: processClock, heartbeatMs: heartbeatMs * 2 });
  return { leader, close: () => {} };
}
