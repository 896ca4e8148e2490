/**
 * A complete Millrace inside the caller's process: a node in a thread, and a worker that runs the caller's
 * functions.
 */
import { defined } from '../../kit/index.ts';
import { randomBytes } from 'node:crypto';
import type { AllSettings } from '../../node/config/index.ts';
import { MillraceError } from '../../scheduler/core/index.ts';
import type { Capabilities, Json } from '../../scheduler/core/index.ts';
import type { TaskDefinition } from '../../tasks/executors/index.ts';
import type { OpenWorker } from '../../node/worker/index.ts';
import { localJobs, PortCaller } from '../../edge/local/index.ts';
import type { Client } from '../client.ts';
import type { DatedJob, Submitted } from '../answers.ts';
import { EmbeddedNode } from './embedded-node.ts';
import { FlowClient, resultIn } from '../flow-client.ts';
import { jobIdOf } from '../calls/paths.ts';
import type { SubmitCall } from '../http-client.ts';
import { paceOf } from '../options.ts';
import type { CallOptions, JobRef } from '../options.ts';
import { LocalCalls } from './local-calls.ts';
import { consoleLog } from '../log.ts';
import type { LogOption } from '../log.ts';
import type { Offered } from '../registry.ts';
import type { SqlTables } from '../sql/sql.ts';

export interface RuntimeOptions extends Offered {
  /** Where its data lies, `./.millrace` if not given. One process at a time uses a folder. */
  readonly data?: string;
  /**
   * A PostgreSQL database, `postgres://...`, that has the jobs instead of a file in `data`. One process at a time: a
   * second one on the same database is refused. Several of them are a cluster, see `millrace serve`.
   */
  readonly database?: string;
  /** `memory` keeps nothing beyond `close()`; `duckdb`, a file in `data`, is the default. */
  readonly store?: 'duckdb' | 'memory';
  /**
   * What it can run. Definitions passed to `submit` are added by themselves, but a job that an earlier process
   * left behind runs only if its tasks are named here.
   */
  readonly tasks?: readonly TaskDefinition[];
  /** Tasks that run at the same time; 8 if not given. */
  readonly slots?: number;
  /** The port of its HTTP API on this machine, any free one if not given. */
  readonly port?: number;
  /**
   * The token that other processes must show; generated if not given. Null admits everybody on this machine, as
   * `millrace up` does.
   */
  readonly token?: string | null;
  readonly capabilities?: Capabilities;
  /** Tables of `runtime.sql`, by name; paths are as this process sees them. */
  readonly tables?: SqlTables;
  /** A file that names more tables: JSON or YAML. */
  readonly catalog?: string;
  /** Folders that queries may read. Without any they may read exactly what is named as a table. */
  readonly roots?: readonly string[];
  /** For queries, in all; 60 % of the machine's if not given. */
  readonly memoryBytes?: number;
  /** Time for running tasks to finish when it is closed; after that they are aborted and given back. */
  readonly drainMs?: number;
  /** Any other setting, by the name that `millrace config` shows. */
  readonly settings?: RuntimeSettings;
  /** Where lines of `ctx.log` and of the worker go; to standard error if not given. */
  readonly log?: LogOption;
}

/** Settings that are not options of their own and make sense within one process. */
export type RuntimeSettings = Partial<
  Omit<
    AllSettings,
    | 'data'
    | 'database'
    | 'host'
    | 'port'
    | 'grpcPort'
    | 'role'
    | 'slots'
    | 'modules'
    | 'nodeId'
    | 'capabilities'
    | 'server'
    | 'servers'
    | 'listen'
    | 'advertise'
    | 'token'
    | 'tokenFile'
    | 'tlsCa'
    | 'tlsCert'
    | 'tlsKey'
    | 'insecure'
    | 'drainMs'
    | 'catalog'
    | 'roots'
    | 'memoryBytes'
  >
>;

/** The client of an embedded node. `close()` drains it: then the process can end by itself. */
export interface Runtime extends Client {
  /** For the command line and other processes: `millrace jobs --server URL`, with MILLRACE_TOKEN. */
  readonly url: string;
  /** What they must show; null when nothing. */
  readonly token: string | null;
  /** For `millrace worker --server`, should more workers help. */
  readonly grpc: string;
}

const DATA = './.millrace';
/** Always the same: when a process that was killed comes back, its new session takes the place of the
 * old one, and nothing has to wait for a time limit. */
const NODE_ID = 'embedded';

/**
 * Starts a runtime in this process. The scheduler and its store run in a thread of their own, the
 * handlers in the thread of the caller.
 */
export async function createRuntime(options: RuntimeOptions = {}): Promise<Runtime> {
  const { store = 'duckdb', data = DATA, log = consoleLog } = options;
  if (options.database !== undefined && options.store !== undefined) throw twoStores(options.store);
  const flags = flagsOf(options);
  const token = options.token === undefined ? madeUpToken() : checkedToken(options.token);
  const fate = new Fate();
  // The thread starts while this one loads what it needs.
  const starting = EmbeddedNode.start({
    data: store === 'memory' ? null : data,
    database: options.database ?? null,
    // Its worker is the one in this thread.
    flags: { ...flags, slots: 0 },
    token,
    say: (line) => log.debug(line),
    onLost: (error) => fate.lost(error),
  });
  const [started, opening] = await Promise.allSettled([
    starting,
    workerFor(options, { flags, token, log }),
  ]);
  if (started.status === 'rejected') throw started.reason as Error;
  const node = started.value;
  let opened: OpenWorker | null = null;
  try {
    if (opening.status === 'rejected') throw opening.reason as Error;
    opened = await opening.value(node, (error) => fate.lost(error));
    await opened.worker.start();
    const isLocal = isOwn(options);
    return new EmbeddedRuntime(node, { token, opened, fate, isLocal, tables: options.tables });
  } catch (error) {
    await opened?.close();
    await node.stop();
    throw error;
  }
}

/** No other process can lead on its store. With a database one may, and then it is found over the network. */
function isOwn({ database }: RuntimeOptions): boolean {
  return database === undefined;
}

type OpenFor = (node: EmbeddedNode, onLost: (error: MillraceError) => void) => Promise<OpenWorker>;

interface WorkerParts {
  readonly flags: Readonly<Record<string, unknown>>;
  readonly token: string | null;
  readonly log: LogOption;
}

/** Everything but the address of the leader. Whatever needs gRPC is loaded here and not before: `connect`
 * does without. */
async function workerFor(
  options: RuntimeOptions,
  { flags, token, log }: WorkerParts,
): Promise<OpenFor> {
  const [{ loadConfig }, { ownRegistry, withRegistry }, { openWorker }] = await Promise.all([
    import('../../node/config/index.ts'),
    import('../registry.ts'),
    import('../../node/worker/index.ts'),
  ]);
  const { node, core } = loadConfig({ flags, folder: import.meta.dirname });
  const executors = await ownRegistry(node, options);
  return async (embedded, onLost) => {
    const opened = await openWorker({
      ...node,
      data: options.store === 'memory' ? undefined : node.data,
      // The leader goes as well.
      abandonOutputs: true,
      servers: [embedded.grpc],
      ...(isOwn(options)
        ? { local: { work: embedded.connect(), heartbeat: embedded.connect() } }
        : {}),
      token: token ?? undefined,
      sessionTtlMs: core.sessionTtlMs,
      resultBytesMax: core.resultBytesMax,
      executors,
      listen: null,
      log,
      // The process is the caller's: it is not ours to end.
      stuck: 'abandon',
      onStuck: (error) => log.error(error.message),
      onBroken: (error) => onLost(brokenWorker(error)),
    });
    return withRegistry(opened, executors);
  };
}

/** The end of the threads behind a runtime, which may be lost before it is ready. */
class Fate {
  #error: MillraceError | null = null;
  #tell: (error: MillraceError) => void = () => {};

  get isLost(): boolean {
    return this.#error !== null;
  }

  lost(error: MillraceError): void {
    this.#error ??= error;
    this.#tell(this.#error);
  }

  whenLost(tell: (error: MillraceError) => void): void {
    this.#tell = tell;
    if (this.#error !== null) tell(this.#error);
  }
}

interface RuntimeParts {
  readonly token: string | null;
  readonly opened: OpenWorker;
  readonly fate: Fate;
  readonly isLocal: boolean;
  readonly tables: SqlTables | undefined;
}

class EmbeddedRuntime extends FlowClient implements Runtime {
  readonly url: string;
  readonly grpc: string;
  readonly token: string | null;
  readonly #local: LocalCalls | null;

  constructor(node: EmbeddedNode, { token, opened, fate, isLocal, tables }: RuntimeParts) {
    const { worker, close } = opened;
    const options = { server: node.url, ...(token === null ? {} : { token }) };
    const caller = isLocal ? new PortCaller(node.connect()) : null;
    super(options, {
      tables,
      offer: (tasks) => worker.offer(tasks, 'what was submitted'),
      onClose: async () => {
        try {
          // Work first, while its results can still be reported.
          await (fate.isLost ? worker.stopNow() : worker.stop());
        } finally {
          caller?.close();
          await close();
          await node.stop();
        }
      },
    });
    this.url = node.url;
    this.grpc = node.grpc;
    this.token = token;
    this.#local = caller === null ? null : new LocalCalls(localJobs(caller), paceOf(options));
    fate.whenLost((error) => this.end(error));
  }

  override submitDocument(document: unknown, options?: SubmitCall): Promise<Submitted> {
    if (this.#local === null) return super.submitDocument(document, options);
    return this.#local.submit(document, this.limited(options));
  }

  override submitDocuments(
    documents: readonly unknown[],
    options?: CallOptions,
  ): Promise<readonly (Submitted | MillraceError)[]> {
    if (this.#local === null) return super.submitDocuments(documents, options);
    return this.#local.submitAll(documents, this.limited(options));
  }

  override ended(job: JobRef, options?: CallOptions): Promise<DatedJob> {
    if (this.#local === null) return super.ended(job, options);
    return this.#local.ended(jobIdOf(job), this.limited(options));
  }

  protected override async awaitResult(job: JobRef, options?: CallOptions): Promise<Json> {
    if (this.#local === null) return super.awaitResult(job, options);
    const answer = await this.#local.result(jobIdOf(job), this.limited(options));
    return 'result' in answer ? answer.result : resultIn(answer.job);
  }
}

function flagsOf(options: RuntimeOptions): Readonly<Record<string, unknown>> {
  const { slots, port = 0, capabilities, drainMs, settings = {}, data = DATA } = options;
  const { catalog, roots, memoryBytes, database } = options;
  return {
    ...settings,
    data,
    host: '127.0.0.1',
    port,
    grpcPort: 0,
    // No other node can lead on a folder of its own: there is nothing to wait for.
    role: 'leader',
    nodeId: NODE_ID,
    ...defined({ database, slots, capabilities, drainMs, catalog, roots, memoryBytes }),
  };
}

function twoStores(store: string): MillraceError {
  return new MillraceError({
    code: 'bad_setting',
    what: `A runtime cannot have both a database and the store '${store}'.`,
    todo: 'Leave one of the two out.',
  });
}

const TOKEN_BYTES = 24;

function madeUpToken(): string {
  return randomBytes(TOKEN_BYTES).toString('base64url');
}

/** By the rule for token files. The text is not repeated. */
function checkedToken(token: string | null): string | null {
  if (token === null || /^[\x21-\x7e]{16,}$/.test(token)) return token;
  throw new MillraceError({
    code: 'bad_setting',
    what: 'The token of this runtime is too short, or contains characters that are not allowed in a header.',
    todo: 'Give at least 16 ASCII characters without spaces, or omit it and use runtime.token.',
  });
}

function brokenWorker(error: Error): MillraceError {
  return new MillraceError({
    code: 'unreachable',
    what: 'The worker of this runtime stopped: its heartbeat thread has exited.',
    why: error.message,
    todo: 'Create a new runtime.',
    cause: error,
  });
}
