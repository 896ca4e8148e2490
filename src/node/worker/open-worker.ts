/** A worker with what it needs around it: a connection, a heartbeat thread and, if wanted, a listener. */
import { randomUUID } from 'node:crypto';
import type { Capabilities, MillraceError, NodeId, SessionId } from '../../scheduler/core/index.ts';
import type { QueryNode } from '../../sql/worker/index.ts';
import type { ExecutorRegistry, RegisteredOperator, TaskLog } from '../../tasks/executors/index.ts';
import { defined, machineName } from '../../kit/index.ts';
import { ownHandshake } from '../../scheduler/contract/index.ts';
import type { ShuffleSource, WorkerFigures } from '../../scheduler/contract/index.ts';
import { channelOptions, openConnection } from './channel.ts';
import type { ChannelSettings } from './channel.ts';
import { machineCapabilities, processCapability } from './machine-capabilities.ts';
import { heartbeatConnector } from './heartbeat-channel.ts';
import { HeartbeatThread } from './heartbeat-thread.ts';
import { Listener } from './listener.ts';
import type { ListenerOptions } from './listener.ts';
import { localConnector, openLocalConnection } from './local-connection.ts';
import type { LocalPorts } from './local-connection.ts';
import { processClock } from './process-clock.ts';
import { openQueryWork } from './query-work.ts';
import type { QuerySettings } from './query-work.ts';
import { Worker } from './worker.ts';
import type { WorkerOptions } from './worker.ts';
import { WorkerMeasures } from './worker-measures.ts';

export interface OpenWorkerOptions
  extends
    ChannelSettings,
    QuerySettings,
    Pick<WorkerOptions, 'executors' | 'log' | 'onStuck' | 'stuck'> {
  readonly nodeId: string | undefined;
  readonly slots: number;
  readonly prefetch: number | undefined;
  readonly executors: ExecutorRegistry;
  readonly log: TaskLog;
  /** The leader is in another thread of this process; without them it is asked over gRPC. */
  readonly local?: LocalPorts;
  /** HOST:PORT, any free port of this machine if undefined; null for a worker in the leader's own process, which no
   * other node connects to. */
  readonly listen: string | undefined | null;
  readonly advertise: string | undefined;
  /** For metrics and health checks; needs a listener. */
  readonly httpPort: number | undefined;
  readonly capabilities: Capabilities;
  /** Executors that must be there before the worker registers. */
  readonly expect: readonly string[];
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
  /** Where it serves metrics and health checks; null when it does not. */
  readonly httpPort: number | null;
  /** Once the worker has stopped, or never started. */
  readonly close: () => Promise<void>;
}

const LISTEN = '127.0.0.1:0';

/** Of a worker that runs no queries. */
const NO_USAGE = { shuffleBytes: 0, diskFreeBytes: 0, fetchBytesPerSecond: 0 };

/** Not started: nothing has been said to the leader yet. */
export async function openWorker(options: OpenWorkerOptions): Promise<OpenWorker> {
  const { slots, prefetch, stuck, drainMs, abortGraceMs, log, executors } = options;
  const channel = channelOptions(options);
  const nodeId = (options.nodeId ?? machineName('worker')) as NodeId;
  const { local } = options;
  const line = local === undefined ? openConnection(channel) : openLocalConnection(local);
  let worker: Worker | null = null;
  const measures = new WorkerMeasures();
  let usage: QueryNode['usage'] = () => NO_USAGE;
  const figures = (): WorkerFigures => ({ residentBytes: process.memoryUsage.rss(), ...usage() });
  const facts = { nodeId, slots, running: () => worker?.atWork.length ?? 0, figures };
  const metrics = (isRegistered: boolean): string => measures.text(facts, isRegistered);
  const listeners = new Listeners({ ...options, nodeId, token: channel.token, metrics });
  const { listener, queries } = await opened(async () => {
    const listener = options.listen === null ? null : await listeners.open();
    const address = listeners.address;
    const say = (text: string): void => log.warn(text);
    const canBeReached = listener === null || listener.address !== null;
    const operators = (): readonly RegisteredOperator[] => executors.operators;
    const places = { nodeId, channel, leader: line.leader, address, canBeReached, say, operators };
    const onPressure = (): void => reoffer(worker, say);
    const queries = await openQueryWork({ ...options, ...places, onPressure });
    for (const executor of queries?.node.executors ?? []) executors.add(executor, 'Millrace');
    executors.expect(options.expect);
    return { listener, queries };
  }, [line.close, listeners.close]);
  listeners.shuffle = queries?.node.source ?? null;
  if (queries !== null) usage = () => queries.node.usage();
  const connector = local === undefined ? heartbeatConnector(channel) : localConnector(local);
  const heartbeats = new HeartbeatThread(connector, options.onBroken, figures);
  const made = new Worker({
    nodeId,
    slots,
    executors,
    capabilities: allCapabilities(queries?.node.capabilities, options.capabilities),
    ...(queries === null ? {} : connected(queries.node)),
    address: listener?.address ?? null,
    handshake: ownHandshake(queries?.node.duckdb ?? null),
    leader: line.leader,
    startHeartbeat: heartbeats.startHeartbeat,
    clock: processClock,
    random: Math.random,
    newSessionId: () => randomUUID() as SessionId,
    log,
    measures,
    onStuck: options.onStuck,
    ...defined({ prefetch, stuck }),
    onSession: (session) => {
      listener?.showSession(session);
      queries?.kept.showSession(session);
    },
    ...(queries === null || options.abandonOutputs
      ? {}
      : { beforeLeave: (session, signal) => queries.kept.released(session, signal) }),
    settings: { drainMs, abortGraceMs },
  });
  worker = made;
  const close = async (): Promise<void> => {
    measures.stop();
    await queries?.close();
    line.close();
    await heartbeats.close();
    await listeners.close();
  };
  const { port = null, httpPort = null } = listener ?? {};
  return { nodeId, worker: made, port, httpPort, close };
}

/** What the leader hears of the queries on a worker, and what they hear of the leader. */
function connected(
  node: QueryNode,
): Pick<WorkerOptions, 'passing' | 'onFetchWindow' | 'onFetchAhead'> {
  return {
    passing: () => node.pressure(),
    onFetchWindow: (bytes) => node.recommendWindow(bytes),
    // What could not be fetched is fetched by the task that reads it.
    onFetchAhead: (ahead) => void node.fetchAhead(ahead).catch(() => {}),
  };
}

/** Tells the leader that the node is short of something, or no longer. */
function reoffer(worker: Worker | null, say: (text: string) => void): void {
  worker
    ?.reoffer()
    .catch((error: unknown) => say(`Reporting resource pressure failed: ${String(error)}`));
}

/** A user may name what is found out about the machine, but not the process. */
function allCapabilities(...known: readonly (Capabilities | undefined)[]): Capabilities {
  return Object.assign({}, machineCapabilities(), ...known, processCapability()) as Capabilities;
}

/** Closes what was opened before a failure. */
async function opened<T>(
  open: () => Promise<T>,
  close: readonly (() => void | Promise<void>)[],
): Promise<T> {
  try {
    return await open();
  } catch (error) {
    for (const each of close) await each();
    throw error;
  }
}

type ListenersOptions = Omit<ListenerOptions, 'listen' | 'shuffle'> &
  Pick<OpenWorkerOptions, 'listen'>;

/** The listener, which a worker in the leader's own process opens only when it has something for others. */
class Listeners {
  shuffle: ShuffleSource | null = null;
  readonly #options: ListenersOptions;
  #listener: Promise<Listener> | null = null;

  constructor(options: ListenersOptions) {
    this.#options = options;
  }

  open(): Promise<Listener> {
    const listen = this.#options.listen ?? LISTEN;
    this.#listener ??= Listener.open({ ...this.#options, listen, shuffle: () => this.shuffle });
    return this.#listener;
  }

  readonly address = async (): Promise<string | null> => (await this.open()).address;

  readonly close = async (): Promise<void> => {
    await (await this.#listener?.catch(() => null))?.close();
  };
}
