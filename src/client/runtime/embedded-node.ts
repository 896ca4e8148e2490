/** The caller's side of the thread in which a runtime's node lives. */
import { resolve } from 'node:path';
import { MessageChannel } from 'node:worker_threads';
import type { MessagePort, Worker as Thread } from 'node:worker_threads';
import { MillraceError } from '../../scheduler/core/index.ts';
import { deferred, startThread } from '../../kit/index.ts';
import type { Deferred } from '../../kit/index.ts';
import type { FromNode, NodeThreadData, ToNode } from './node-messages.ts';

export interface EmbeddedNodeOptions extends NodeThreadData {
  readonly say: (line: string) => void;
  /** It ended without being asked to. */
  readonly onLost: (error: MillraceError) => void;
}

interface NodeAddresses {
  readonly url: string;
  readonly grpc: string;
}

/** For the short-lived objects of a list of jobs: a node with Node.js's 48 MiB spends twice as long on collecting them. */
const YOUNG_MB = 192;

/** A thread that was asked to stop and still runs after this long is ended. */
const STOP_MS = 10_000;

/**
 * DuckDB guards its file against other processes, not against another thread of this one: two runtimes
 * on one folder would destroy it. The list is shared by all copies of this module.
 */
const OPEN = Symbol.for('millrace.runtime.folders');
const folders: Set<string> = ((globalThis as { [OPEN]?: Set<string> })[OPEN] ??= new Set());

export class EmbeddedNode {
  readonly url: string;
  readonly grpc: string;
  readonly #thread: NodeThread;

  static async start(options: EmbeddedNodeOptions): Promise<EmbeddedNode> {
    // With a database, the folder only has what no other process needs.
    const isOwner = options.data !== null && options.database === null;
    const folder = options.data === null || !isOwner ? null : resolve(options.data);
    if (folder !== null && folders.has(folder)) throw inUse(folder, 'this process');
    if (folder !== null) folders.add(folder);
    const thread = new NodeThread({ ...options, data: folder }, () => {
      if (folder !== null) folders.delete(folder);
    });
    const addresses = await thread.ready;
    return new EmbeddedNode(thread, addresses);
  }

  private constructor(thread: NodeThread, { url, grpc }: NodeAddresses) {
    this.#thread = thread;
    this.url = url;
    this.grpc = grpc;
  }

  /** A port through which the node answers calls of this process. */
  connect(): MessagePort {
    const { port1, port2 } = new MessageChannel();
    this.#thread.serve(port2);
    return port1;
  }

  /** Resolves when the thread is gone and its folder free. */
  stop(): Promise<void> {
    return this.#thread.stop();
  }
}

class NodeThread {
  readonly #options: EmbeddedNodeOptions;
  readonly #thread: Thread;
  readonly #ready: Deferred<NodeAddresses> = deferred();
  readonly #exited: Deferred<void> = deferred();
  #isReady = false;
  #isStopping = false;
  #isGone = false;
  #failure: MillraceError | null = null;

  constructor(options: EmbeddedNodeOptions, onExit: () => void) {
    this.#options = options;
    const { data, database, flags, token } = options;
    const workerData: NodeThreadData = { data, database, flags, token };
    this.#thread = startThread(import.meta.url, './node-entry', {
      ...{ workerData, name: 'millrace' },
      resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MB },
    });
    this.#thread.on('message', (message: FromNode) => this.#heard(message));
    this.#thread.on('error', (error) => {
      this.#failure ??= lost(error.message);
    });
    this.#thread.on('exit', (code) => {
      onExit();
      this.#ended(code);
    });
  }

  get ready(): Promise<NodeAddresses> {
    return this.#ready.promise;
  }

  serve(port: MessagePort): void {
    this.#thread.postMessage(port satisfies ToNode, [port]);
  }

  /** One that has ended by itself has reported that already. */
  async stop(): Promise<void> {
    if (this.#isGone) return;
    this.#isStopping = true;
    // Nothing is handed over.
    this.#thread.postMessage('stop' satisfies ToNode, []);
    const timer = setTimeout(() => void this.#thread.terminate(), STOP_MS);
    await this.#exited.promise;
    clearTimeout(timer);
    if (this.#failure !== null) throw this.#failure;
  }

  #heard(message: FromNode): void {
    switch (message.type) {
      case 'ready':
        this.#isReady = true;
        this.#ready.resolve(message);
        return;
      case 'said':
        this.#options.say(message.line);
        return;
      case 'failed':
        this.#failure = failureOf(message, this.#options.data);
        return;
    }
  }

  #ended(code: number): void {
    const error = this.#failure ?? lost(`its thread ended with code ${code}`);
    this.#isGone = true;
    this.#exited.resolve();
    // Only now, because the caller may try again on the same folder.
    if (!this.#isReady) this.#ready.reject(error);
    else if (!this.#isStopping) this.#options.onLost(error);
  }
}

function failureOf(
  { error }: Extract<FromNode, { type: 'failed' }>,
  data: string | null,
): MillraceError {
  if (error.code !== 'store_locked' || data === null) return new MillraceError(error);
  const holder = /the process \d+/.exec(error.what)?.[0] ?? 'another process';
  return inUse(data, holder);
}

function inUse(folder: string, holder: string): MillraceError {
  return new MillraceError({
    code: 'store_locked',
    what: `The folder ${folder} is already in use by ${holder}.`,
    why: 'One runtime at a time owns the data of a folder.',
    todo:
      "Use the one that owns it: connect('http://127.0.0.1:7070') for `millrace up`, " +
      'connect(runtime.url, { token: runtime.token }) for another runtime. Or give this one a `data` folder of its own.',
  });
}

function lost(why: string): MillraceError {
  return new MillraceError({
    code: 'unreachable',
    what: 'The node of this runtime has exited.',
    why: `${why.replace(/\.$/, '')}.`,
    todo: 'Create a new runtime; everything committed is in its data folder.',
  });
}
