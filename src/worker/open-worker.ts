/** A worker with what it needs around it: a connection, a heartbeat thread and, if wanted, a listener. */
import { randomBytes, randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { Capabilities, MillraceError, NodeId, SessionId } from '../core/index.ts';
import type { ExecutorRegistry, TaskLog } from '../executors/index.ts';
import { ownHandshake } from '../protocol/index.ts';
import { channelOptions, openLine } from './channel.ts';
import type { ChannelSettings } from './channel.ts';
import { machineFacts } from './facts.ts';
import { heartbeatConnector } from './heartbeat-channel.ts';
import { HeartbeatThread } from './heartbeat-thread.ts';
import { Listener } from './listener.ts';
import { processClock } from './process-clock.ts';
import { Worker } from './worker.ts';
import type { WorkerOptions } from './worker.ts';

export interface OpenWorkerOptions
  extends ChannelSettings, Pick<WorkerOptions, 'executors' | 'log' | 'onStuck' | 'stuck'> {
  readonly nodeId: string | undefined;
  readonly slots: number;
  readonly prefetch: number | undefined;
  readonly executors: ExecutorRegistry;
  readonly log: TaskLog;
  /** HOST:PORT, any free port of this machine when undefined; null for a worker in the leader's own
   * process, which nobody has to look for. */
  readonly listen: string | undefined | null;
  readonly advertise: string | undefined;
  readonly capabilities: Capabilities;
  readonly drainMs: number;
  readonly abortGraceMs: number;
  readonly onStuck: (error: MillraceError) => void;
  /** Without its thread no lease can be kept. */
  readonly onBroken: (error: Error) => void;
}

export interface OpenWorker {
  readonly nodeId: NodeId;
  readonly worker: Worker;
  /** Where it listens on this machine; null when it does not. */
  readonly port: number | null;
  /** Once the worker has stopped, or never started. */
  readonly close: () => Promise<void>;
}

const LISTEN = '127.0.0.1:0';

/** Not started: nothing has been said to the leader yet. */
export async function openWorker(options: OpenWorkerOptions): Promise<OpenWorker> {
  const { slots, prefetch, stuck, drainMs, abortGraceMs, log } = options;
  const channel = channelOptions(options);
  const nodeId = (options.nodeId ?? inventedName()) as NodeId;
  const { listen = LISTEN } = options;
  const listener =
    listen === null
      ? null
      : await Listener.open({ ...options, nodeId, listen, token: channel.token });
  const line = openLine(channel);
  const heartbeats = new HeartbeatThread(heartbeatConnector(channel), options.onBroken);
  const worker = new Worker({
    nodeId,
    slots,
    ...(prefetch === undefined ? {} : { prefetch }),
    executors: options.executors,
    capabilities: { ...machineFacts(), ...options.capabilities },
    address: listener?.address ?? null,
    handshake: ownHandshake(),
    leader: line.leader,
    startHeartbeat: heartbeats.startHeartbeat,
    clock: processClock,
    random: Math.random,
    newSessionId: () => randomUUID() as SessionId,
    log,
    onStuck: options.onStuck,
    ...(stuck === undefined ? {} : { stuck }),
    onSession: (session) => listener?.showSession(session),
    settings: { drainMs, abortGraceMs },
  });
  const close = async (): Promise<void> => {
    line.close();
    await heartbeats.close();
    await listener?.close();
  };
  return { nodeId, worker, port: listener?.port ?? null, close };
}

/** Stable enough to recognise, and never the same for two workers of one machine. */
function inventedName(): string {
  const host = hostname()
    .replaceAll(/[^A-Za-z0-9_.-]/g, '-')
    .replace(/^[.-]+/, '');
  return `${(host === '' ? 'worker' : host).slice(0, 100)}-${randomBytes(4).toString('hex')}`;
}
