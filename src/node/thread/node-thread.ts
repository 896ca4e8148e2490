/** The side of the process around the node. */
import { totalmem } from 'node:os';
import type { MessagePort, Worker as Thread } from 'node:worker_threads';
import { type Deferred, deferred, type Say, startThread } from '../../kit/index.ts';
import { MillraceError } from '../../scheduler/core/index.ts';
import type {
  Failure,
  FromNode,
  NodeAddresses,
  NodeThreadData,
  StorePlace,
  ToNode,
} from './messages.ts';

export interface NodeThreadOptions extends NodeThreadData {
  readonly say: Say;
  /** The thread is gone, for whatever reason, and what it had open is free. */
  readonly onExit?: () => void;
  /** In the words of the caller. */
  readonly explain?: (failure: Failure) => MillraceError;
}

/**
 * For what a list of jobs leaves behind: with Node.js's own 48 MiB a leader takes a fifth longer. A worker is better off with those: what
 * it touches stays in the cache of its core.
 */
const YOUNG_MB = 96;
/** With DuckDB in the same process more is under way, for its tables follow later. */
const YOUNG_MB_WITH_DUCKDB = 192;
const LEAST_YOUNG_MB = 48;
/** Of the memory, where there is not much. */
const YOUNG_SHARE = 1 / 16;
const MB = 1_048_576;

/** What is left open when everything has ended, such as a connection to a silent server, is not waited for. */
const LINGER_MS = 1_000;

export class NodeThread {
  readonly #options: NodeThreadOptions;
  readonly #thread: Thread;
  readonly #listening: Deferred<NodeAddresses> = deferred();
  readonly #ready: Deferred<void> = deferred();
  readonly #lost: Deferred<never> = deferred();
  readonly #exited: Deferred<void> = deferred();
  readonly #replacing: Deferred<void>[] = [];
  #isReady = false;
  #isStopping = false;
  #isGone = false;
  #failure: MillraceError | null = null;

  constructor(options: NodeThreadOptions) {
    const { say: _, onExit: __, explain: ___, ...data } = options;
    this.#options = options;
    this.#thread = startThread(import.meta.url, './entry', {
      ...{ workerData: data satisfies NodeThreadData, name: 'millrace' },
      resourceLimits: { maxYoungGenerationSizeMb: youngMb(options.place) },
    });
    this.#thread.on('message', (message: FromNode) => this.#heard(message));
    this.#thread.on('error', (error) => {
      options.say(`Unexpected: ${error.stack ?? error.message}`, 'error');
      this.#failure ??= lost(error.message);
    });
    this.#thread.on('exit', (code) => this.#ended(code));
    // Each of them may have nobody who waits for it.
    for (const { promise } of [this.#listening, this.#ready, this.#lost]) promise.catch(() => {});
  }

  /** Settles when the node listens; rejects when it never will, and the thread is gone. */
  get listening(): Promise<NodeAddresses> {
    return this.#listening.promise;
  }

  /** The same for when it accepts work. */
  get ready(): Promise<void> {
    return this.#ready.promise;
  }

  /** Rejects when it ends after it was ready, without being asked to. */
  get lost(): Promise<never> {
    return this.#lost.promise;
  }

  /** The node answers calls that come through this port. */
  serve(port: MessagePort): void {
    this.#thread.postMessage(port satisfies ToNode, [port]);
  }

  /** See `ServerNode`. */
  async replaceWorker(): Promise<void> {
    if (this.#isGone) return;
    const replaced: Deferred<void> = deferred();
    this.#replacing.push(replaced);
    this.#thread.postMessage('replace' satisfies ToNode, []);
    await replaced.promise;
  }

  /**
   * Settles when the thread is gone. One that still runs after `mostMs` is ended. One that has ended by itself has reported that
   * already.
   */
  async stop(mostMs?: number): Promise<void> {
    if (this.#isGone) return;
    this.#isStopping = true;
    // Nothing is handed over.
    this.#thread.postMessage('stop' satisfies ToNode, []);
    const timer = mostMs === undefined ? undefined : this.#endIn(mostMs);
    await this.#exited.promise;
    clearTimeout(timer);
    if (this.#failure !== null) throw this.#failure;
  }

  #heard(message: FromNode): void {
    switch (message.type) {
      case 'listens':
        this.#listening.resolve(message);
        return;
      case 'ready':
        this.#isReady = true;
        this.#ready.resolve();
        return;
      case 'said':
        this.#options.say(...(message.what as Parameters<Say>));
        return;
      case 'replaced':
        if (message.error === null) this.#replacing.shift()?.resolve();
        else this.#replacing.shift()?.reject(new MillraceError(message.error));
        return;
      case 'failed':
        this.#failure ??= this.#options.explain?.(message) ?? new MillraceError(message.error);
        return;
      case 'ended':
        this.#endIn(LINGER_MS);
        return;
    }
  }

  #endIn(ms: number): NodeJS.Timeout {
    return setTimeout(() => void this.#thread.terminate(), ms).unref();
  }

  #ended(code: number): void {
    const error = this.#failure ?? lost(`its thread ended with code ${code}`);
    this.#isGone = true;
    this.#options.onExit?.();
    for (const each of this.#replacing) each.reject(error);
    this.#exited.resolve();
    // Only now, because the caller may try again on the same folder.
    this.#listening.reject(error);
    this.#ready.reject(error);
    if (this.#isReady && !this.#isStopping) this.#lost.reject(error);
  }
}

function youngMb(place: StorePlace | null): number {
  const limit = process.constrainedMemory();
  const bytes = limit > 0 ? Math.min(limit, totalmem()) : totalmem();
  const share = Math.floor((bytes * YOUNG_SHARE) / MB);
  const most = place?.kind === 'duckdb' ? YOUNG_MB_WITH_DUCKDB : YOUNG_MB;
  return Math.min(most, Math.max(LEAST_YOUNG_MB, share));
}

function lost(why: string): MillraceError {
  return new MillraceError({
    code: 'invariant',
    what: 'The node of this process has ended.',
    why: `${why.replace(/\.$/, '')}.`,
    todo: 'Start it again; everything committed is in its store.',
  });
}
