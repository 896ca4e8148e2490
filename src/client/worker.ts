/**
 * `millrace/worker`: a worker of a cluster inside the user's own program. It pulls tasks from the leader and
 * runs the given definitions in the thread of the caller.
 */
import { loadConfig } from '../node/config/index.ts';
import type { AllSettings } from '../node/config/index.ts';
import type { Capabilities } from '../scheduler/core/index.ts';
import { openWorker } from '../node/worker/index.ts';
import type { OpenWorker } from '../node/worker/index.ts';
import type { TlsFileNames } from './options.ts';
import { consoleLog } from './log.ts';
import type { LogOption } from './log.ts';
import { ownRegistry, withRegistry } from './registry.ts';
import type { Offered } from './registry.ts';

export type { LogOption, Offered, TlsFileNames };

export interface StartWorkerOptions extends Offered {
  /** gRPC addresses of servers that may lead, as HOST:PORT; the port is 7071 unless set. */
  readonly server: string | readonly string[];
  /** Tasks that run at the same time; 8 if not given. */
  readonly slots?: number;
  /** Generated if not given. */
  readonly nodeId?: string;
  readonly capabilities?: Capabilities;
  readonly token?: string;
  readonly tls?: TlsFileNames;
  /** Time for running tasks to finish when it drains. */
  readonly drainMs?: number;
  /**
   * A handler that ignores its abort: `abandon` frees its slot although it may still run (the default here),
   * `end` ends the process, as `millrace worker` does.
   */
  readonly stuck?: 'end' | 'abandon';
  /** Any other setting of `millrace worker`, by the name that `millrace config` shows. */
  readonly settings?: Partial<AllSettings>;
  readonly log?: LogOption;
}

export interface RunningWorker extends AsyncDisposable {
  readonly nodeId: string;
  /** Takes no more work, finishes what it has and leaves. */
  drain(): Promise<void>;
  /** Resolves when it has left, for whatever reason; rejects when it cannot continue. */
  readonly ended: Promise<void>;
}

/** Resolves once it is registered and takes work. */
export async function startWorker(options: StartWorkerOptions): Promise<RunningWorker> {
  const { log = consoleLog, stuck = 'abandon' } = options;
  const { node, core, isGiven } = loadConfig({
    flags: flagsOf(options),
    folder: import.meta.dirname,
  });
  const executors = await ownRegistry(node, options);
  const opened = withRegistry(
    await openWorker({
      ...node,
      data: isGiven('data') ? node.data : undefined,
      sessionTtlMs: core.sessionTtlMs,
      resultBytesMax: core.resultBytesMax,
      executors,
      log,
      stuck,
      onStuck: (error) => end(log, error),
      onBroken: (error) => end(log, error),
    }),
    executors,
  );
  try {
    await opened.worker.start();
  } catch (error) {
    await opened.close();
    throw error;
  }
  return running(opened);
}

function running({ worker, nodeId, close }: OpenWorker): RunningWorker {
  // However it ends, nothing of it stays open.
  const ended = worker.ended.then(close, async (error: Error) => {
    await close();
    throw error;
  });
  ended.catch(() => {});
  const drain = async (): Promise<void> => {
    await worker.stop();
    await ended;
  };
  return { nodeId, ended, drain, [Symbol.asyncDispose]: drain };
}

/** A worker that cannot keep its leases must not go on as if it could. */
function end(log: LogOption, error: Error): void {
  log.error(error.message);
  process.exit(1);
}

function flagsOf(options: StartWorkerOptions): Readonly<Record<string, unknown>> {
  const { server, slots, nodeId, capabilities, token, tls = {}, drainMs, settings } = options;
  const given = {
    ...settings,
    servers: typeof server === 'string' ? server.split(',').map((each) => each.trim()) : server,
    slots,
    nodeId,
    capabilities,
    token,
    tlsCa: tls.ca,
    tlsCert: tls.cert,
    tlsKey: tls.key,
    drainMs,
  };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}
