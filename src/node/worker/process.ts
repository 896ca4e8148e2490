/** A worker as a process of its own: its modules, and the signals that end it. */
import { isMillraceError } from '../../scheduler/core/index.ts';
import type { Capabilities, NodeId } from '../../scheduler/core/index.ts';
import type { TaskLog } from '../../tasks/executors/index.ts';
import { flushTraces, type LogAbout, processLog } from '../../kit/index.ts';
import type { ChannelSettings } from './channel.ts';
import { openWorker } from './open-worker.ts';
import { processClock } from './process-clock.ts';
import { registryOf } from './registry.ts';
import type { QuerySettings } from './query-work.ts';
import { UnexpectedExit } from './unexpected-exit.ts';
import { wallTime } from './wall-time.ts';
import type { Worker } from './worker.ts';

export interface WorkerProcessSettings extends ChannelSettings, QuerySettings {
  readonly nodeId: string | undefined;
  readonly slots: number;
  readonly prefetch: number | undefined;
  readonly listen: string | undefined;
  readonly advertise: string | undefined;
  readonly httpPort: number | undefined;
  readonly modules: readonly string[];
  /** Executors that must be there before the worker registers. */
  readonly expect: readonly string[];
  readonly capabilities: Capabilities;
  readonly allowPrivateHttp: boolean;
  readonly allowCommand: readonly string[];
  readonly allowEnv: readonly string[];
  readonly allowContainer: string | undefined;
  readonly drainMs: number;
  readonly abortGraceMs: number;
  readonly clockOffsetMs: number;
  readonly logFormat: 'text' | 'json';
  readonly logLevel: keyof TaskLog;
}

export interface WorkerWorld {
  /** Aborts when the worker shall drain and end. */
  readonly drain: AbortSignal;
  /** Aborts when the worker is not needed any more: running tasks are returned. */
  readonly orphaned?: AbortSignal;
  /** Once, when it is registered and takes work. */
  readonly onReady: (nodeId: NodeId, listener: string, httpPort: number | null) => void;
  /** Once, when it was asked to drain and starts nothing more. */
  readonly onLeaving?: () => void;
  /** A line for people. */
  readonly say: (line: string) => void;
  /** A handler cannot be stopped: say it and end the process. */
  readonly die: (error: Error) => void;
}

/** An orphan says goodbye if the leader answers, and does not wait longer. */
const ORPHAN_MS = 5_000;

/** For the exporters of the user's spans. */
const FLUSH_MS = 2_000;

/** Runs until it has drained. Rejects when it cannot run as it is. */
export async function runWorkerProcess(
  settings: WorkerProcessSettings,
  world: WorkerWorld,
): Promise<void> {
  let worker: Worker | null = null;
  const die = (error: Error): void => {
    exits.close();
    world.die(error);
  };
  const exits = new UnexpectedExit({
    atWork: () => worker?.atWork ?? [],
    isLeaving: () => world.drain.aborted || world.orphaned?.aborted === true,
    die,
  });
  try {
    const executors = await registryOf(settings);
    exits.loaded();
    const { nodeId } = settings;
    const about: LogAbout = { pid: process.pid, ...(nodeId === undefined ? {} : { node: nodeId }) };
    const opened = await openWorker({
      ...settings,
      executors,
      log: logWith(settings, about, world.say),
      onStuck: die,
      onBroken: (error) => die(new Error(`The heartbeat thread has exited: ${error.message}`)),
    });
    worker = opened.worker;
    about.node = opened.nodeId;
    try {
      await runUntilDrained(worker, { ...world, die }, () => {
        world.onReady(opened.nodeId, `127.0.0.1:${opened.port}`, opened.httpPort);
      });
    } finally {
      await opened.close();
      executors.close();
      await flushTraces(FLUSH_MS);
    }
  } finally {
    exits.close();
  }
}

async function runUntilDrained(
  worker: Worker,
  { drain, orphaned, die, onLeaving }: WorkerWorld,
  onReady: () => void,
): Promise<void> {
  const stop = (): void => {
    // A failure rejects `ended` as well.
    void worker.stop().catch(() => {});
    onLeaving?.();
  };
  const stopNow = (): void => {
    worker.stopNow().catch(() => {});
    cancelEnd = processClock.after(ORPHAN_MS, () => {
      die(
        new Error(
          'The parent process of this worker has exited, and the worker could not return its tasks.',
        ),
      );
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

function logWith(
  settings: WorkerProcessSettings,
  about: LogAbout,
  say: (line: string) => void,
): TaskLog {
  const { logFormat: format, logLevel: level, clockOffsetMs } = settings;
  const own = processLog({
    format,
    level,
    now: () => wallTime(clockOffsetMs),
    write: (text) => say(text.trimEnd()),
    about,
  });
  const line =
    (severity: keyof TaskLog): TaskLog['info'] =>
    (message, fields) =>
      own(message, severity, fields);
  return { debug: line('debug'), info: line('info'), warn: line('warn'), error: line('error') };
}
