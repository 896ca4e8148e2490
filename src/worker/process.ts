/** A worker as a process of its own: modules, listener, heartbeat thread and connection around it. */
import { randomBytes, randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { isMillraceError } from '../core/index.ts';
import type { Capabilities, MillraceError, NodeId, SessionId } from '../core/index.ts';
import { ExecutorRegistry, builtIns, loadModule } from '../executors/index.ts';
import type { TaskLog } from '../executors/index.ts';
import { ownHandshake } from '../protocol/index.ts';
import { channelOptions, openLine } from './channel.ts';
import type { ChannelSettings } from './channel.ts';
import { machineFacts } from './facts.ts';
import { heartbeatConnector } from './heartbeat-channel.ts';
import { HeartbeatThread } from './heartbeat-thread.ts';
import { Listener } from './listener.ts';
import { processClock } from './process-clock.ts';
import { wallTime } from './wall-time.ts';
import { Worker } from './worker.ts';

export interface WorkerProcessSettings extends ChannelSettings {
  readonly nodeId: string | undefined;
  readonly slots: number;
  readonly prefetch: number | undefined;
  readonly listen: string | undefined;
  readonly advertise: string | undefined;
  readonly modules: readonly string[];
  /** Executors that must be there before the worker registers. */
  readonly expect: readonly string[];
  readonly capabilities: Capabilities;
  readonly drainMs: number;
  readonly abortGraceMs: number;
  readonly clockOffsetMs: number;
}

export interface WorkerWorld {
  /** Aborts when the worker shall drain and end. */
  readonly drain: AbortSignal;
  /** Aborts when nobody needs it any more: what runs is given back. */
  readonly orphaned?: AbortSignal;
  /** Once, when it is registered and takes work. */
  readonly onReady: (nodeId: NodeId, listener: string) => void;
  /** A line for people. */
  readonly say: (line: string) => void;
  /** A handler cannot be stopped: say it and end the process. */
  readonly die: (error: Error) => void;
}

const LISTEN = '127.0.0.1:0';
/** An orphan says goodbye if somebody listens, and does not stay for more. */
const ORPHAN_MS = 5_000;

/** Runs until it has drained. Rejects when it cannot run as it is. */
export async function runWorkerProcess(
  settings: WorkerProcessSettings,
  world: WorkerWorld,
): Promise<void> {
  const { capabilities, slots, prefetch, drainMs, abortGraceMs } = settings;
  const executors = await registryOf(settings);
  const channel = channelOptions(settings);
  const nodeId = (settings.nodeId ?? inventedName()) as NodeId;
  const { listen = LISTEN } = settings;
  const listener = await Listener.open({ ...settings, nodeId, listen, token: channel.token });
  const line = openLine(channel);
  const broken = brokenEnd(world);
  const heartbeats = new HeartbeatThread(heartbeatConnector(channel), broken);
  const worker = new Worker({
    nodeId,
    slots,
    ...(prefetch === undefined ? {} : { prefetch }),
    executors,
    capabilities: { ...machineFacts(), ...capabilities },
    address: listener.address,
    handshake: ownHandshake(),
    leader: line.leader,
    startHeartbeat: heartbeats.startHeartbeat,
    clock: processClock,
    random: Math.random,
    newSessionId: () => randomUUID() as SessionId,
    log: logWith(settings.clockOffsetMs, world.say),
    onStuck: (error: MillraceError) => world.die(error),
    onSession: (session) => listener.showSession(session),
    settings: { drainMs, abortGraceMs },
  });
  try {
    await runUntilDrained(worker, world, () => {
      world.onReady(nodeId, `127.0.0.1:${listener.port}`);
    });
  } finally {
    line.close();
    await heartbeats.close();
    await listener.close();
  }
}

async function registryOf(settings: WorkerProcessSettings): Promise<ExecutorRegistry> {
  const registry = new ExecutorRegistry();
  for (const executor of builtIns(processClock)) registry.add(executor, 'Millrace');
  for (const file of settings.modules) await loadModule(file, registry);
  registry.expect(settings.expect);
  return registry;
}

async function runUntilDrained(
  worker: Worker,
  { drain, orphaned, die }: WorkerWorld,
  onReady: () => void,
): Promise<void> {
  // Whatever goes wrong with it is told by `ended` as well.
  const stop = (): void => void worker.stop().catch(() => {});
  const stopNow = (): void => {
    worker.stopNow().catch(() => {});
    cancelEnd = processClock.after(ORPHAN_MS, () => {
      die(new Error('Whoever started this worker is gone, and it could not give back its work.'));
    });
  };
  let cancelEnd = (): void => {};
  drain.addEventListener('abort', stop, { once: true });
  orphaned?.addEventListener('abort', stopNow, { once: true });
  if (drain.aborted || orphaned?.aborted === true) return;
  try {
    await worker.start();
    onReady();
    await worker.ended;
  } catch (error) {
    // Stopped while it looked for a leader: as good as drained.
    if (!isMillraceError(error, 'shutting_down')) throw error;
  } finally {
    drain.removeEventListener('abort', stop);
    orphaned?.removeEventListener('abort', stopNow);
    cancelEnd();
  }
  await worker.stop();
}

/** Without its thread no lease can be kept. */
function brokenEnd({ die }: WorkerWorld): (error: Error) => void {
  return (error) => die(new Error(`The heartbeat thread is gone: ${error.message}`));
}

/** Stable enough to recognise, and never the same for two workers of one machine. */
function inventedName(): string {
  const host = hostname()
    .replaceAll(/[^A-Za-z0-9_.-]/g, '-')
    .replace(/^[.-]+/, '');
  return `${(host === '' ? 'worker' : host).slice(0, 100)}-${randomBytes(4).toString('hex')}`;
}

function logWith(clockOffsetMs: number, say: (line: string) => void): TaskLog {
  const line =
    (level: keyof TaskLog) =>
    (message: string): void =>
      say(`${wallTime(clockOffsetMs)} ${level} ${message}`);
  return {
    debug: line('debug'),
    info: line('info'),
    warn: line('warn'),
    error: line('error'),
  };
}
