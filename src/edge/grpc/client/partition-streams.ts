/**
 * Fetches ranges of partitions as plain streams of bytes. Connections are kept for the next range for a while. A node that
 * serves no streams is remembered, and asked over gRPC.
 */
import { createSecureContext } from 'node:tls';
import type { SecureContext } from 'node:tls';
import { MillraceError, isMillraceError } from '../../../scheduler/core/index.ts';
import { type Clock, LruCache } from '../../../kit/index.ts';
import type { PartitionChunk, PartitionRange } from '../../../scheduler/contract/index.ts';
import { ByteConnection } from './byte-connection.ts';
import type { ByteConnectionOptions } from './byte-connection.ts';
import type { ConnectionOptions } from './connections.ts';
import { NoStreamsError, ask, chunksOf } from './partition-stream.ts';
import type { StreamAnswer, StreamCall } from './partition-stream.ts';

export interface PartitionStreamsOptions extends Pick<ConnectionOptions, 'tls' | 'token'> {
  readonly clock: Clock;
  /** A stream that has not begun, or brings nothing, for this long is given up. */
  readonly stalledMs: number;
}

/** The other side closes a connection that is idle for 30 seconds. */
const IDLE_MS = 5_000;
/** For each node; more are closed when they have been used. */
const IDLE_MAX = 8;
const WITHOUT_MAX = 1_000;
/** The node may have become one of a newer version. */
const WITHOUT_MS = 600_000;
/** It may have been stopped for a moment. */
const SILENT_MS = 60_000;
const PORT_MAX = 65_535;

interface Idle {
  readonly connection: ByteConnection;
  readonly cancelTimer: () => void;
}

interface Opened {
  readonly connection: ByteConnection;
  readonly answer: StreamAnswer;
}

export class PartitionStreams {
  readonly #options: PartitionStreamsOptions;
  readonly #idle: Map<string, Idle[]> = new Map();
  /** Until when a node counts as one that serves no streams. */
  readonly #without: LruCache<string, number> = new LruCache({ max: WITHOUT_MAX });
  #tls: SecureContext | null = null;
  #isClosed = false;

  constructor(options: PartitionStreamsOptions) {
    this.#options = options;
  }

  /** Null if it has to be fetched over gRPC; otherwise what gRPC would bring, or fail with. */
  async fetch(
    address: string,
    range: PartitionRange,
    signal: AbortSignal,
  ): Promise<AsyncIterable<PartitionChunk> | null> {
    const { clock, token } = this.#options;
    if ((this.#without.get(address) ?? 0) > clock.monotonicMs()) return null;
    const end = endOf(address);
    if (end === null) return null;
    const call = { address, range, token: token?.(address) ?? null };
    const kept = this.#take(address);
    const opened =
      // It may have been closed meanwhile, which says nothing about the node.
      (kept === null ? null : await this.#asked(kept, call, signal, () => {})) ??
      (await this.#asked(this.#open(end), call, signal, () =>
        this.#doWithout(address, WITHOUT_MS),
      ));
    return opened === null ? null : this.#chunks(opened, address, signal);
  }

  /** Connections in use are closed when they have been used. */
  close(): void {
    this.#isClosed = true;
    for (const { connection, cancelTimer } of [...this.#idle.values()].flat()) {
      cancelTimer();
      connection.close();
    }
    this.#idle.clear();
  }

  #open(end: End): ByteConnection {
    const { clock, stalledMs, tls } = this.#options;
    if (tls !== null) this.#tls ??= createSecureContext(tls);
    return new ByteConnection({ ...end, tls: this.#tls, clock, stalledMs });
  }

  /** Null if nothing was answered: the node serves no streams, or cannot be reached. Over gRPC it is said why. */
  async #asked(
    connection: ByteConnection,
    call: StreamCall,
    signal: AbortSignal,
    onNoStreams: () => void,
  ): Promise<Opened | null> {
    const { address } = call;
    const { clock, stalledMs } = this.#options;
    // Also one whose answer comes a byte at a time.
    const cancelTimer = clock.after(stalledMs, () => connection.giveUp());
    const cut = (): void => connection.close();
    signal.addEventListener('abort', cut, { once: true });
    if (signal.aborted) cut();
    try {
      return { connection, answer: await ask(connection, call) };
    } catch (thrown) {
      connection.close();
      signal.throwIfAborted();
      if (connection.isStalled) {
        this.#doWithout(address, SILENT_MS);
        throw stalled(address);
      }
      if (isMillraceError(thrown)) throw thrown;
      if (isNoStreams(thrown)) onNoStreams();
      return null;
    } finally {
      cancelTimer();
      signal.removeEventListener('abort', cut);
    }
  }

  #doWithout(address: string, forMs: number): void {
    this.#without.set(address, this.#options.clock.monotonicMs() + forMs);
  }

  async *#chunks(
    { connection, answer }: Opened,
    address: string,
    signal: AbortSignal,
  ): AsyncGenerator<PartitionChunk> {
    const cut = (): void => connection.close();
    signal.addEventListener('abort', cut, { once: true });
    let isWhole = false;
    try {
      signal.throwIfAborted();
      yield* chunksOf(connection, answer, address);
      isWhole = true;
    } catch (thrown) {
      signal.throwIfAborted();
      if (connection.isStalled) throw stalled(address);
      throw isMillraceError(thrown) ? thrown : unreachable(address, thrown);
    } finally {
      signal.removeEventListener('abort', cut);
      if (isWhole) this.#keep(address, connection);
      else connection.close();
    }
  }

  #take(address: string): ByteConnection | null {
    const idle = this.#idle.get(address);
    for (let last = idle?.pop(); last !== undefined; last = idle?.pop()) {
      last.cancelTimer();
      if (!last.connection.isClosed && !last.connection.hasUnread) return last.connection;
      last.connection.close();
    }
    this.#idle.delete(address);
    return null;
  }

  #keep(address: string, connection: ByteConnection): void {
    const idle = this.#idle.get(address) ?? [];
    if (this.#isClosed || idle.length >= IDLE_MAX) return connection.close();
    const entry = {
      connection,
      cancelTimer: this.#options.clock.after(IDLE_MS, () => {
        connection.close();
        idle.splice(idle.indexOf(entry), 1);
        if (idle.length === 0) this.#idle.delete(address);
      }),
    };
    idle.push(entry);
    this.#idle.set(address, idle);
  }
}

/** A server that knows no other protocol than HTTP/2 says so in the handshake. */
function isNoStreams(thrown: unknown): boolean {
  if (thrown instanceof NoStreamsError) return true;
  const { code } = thrown as NodeJS.ErrnoException;
  return code === 'ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL';
}

type End = Pick<ByteConnectionOptions, 'host' | 'port'>;

/** Null if nothing can have this address: another worker has named it. */
function endOf(address: string): End | null {
  const [, inBrackets, name = inBrackets, port] =
    /^(?:\[([\w:.%]+)\]|([\w.-]+)):(\d{1,5})$/.exec(address) ?? [];
  if (name === undefined || Number(port) > PORT_MAX) return null;
  return { host: name, port: Number(port) };
}

export function stalled(address: string): MillraceError {
  return new MillraceError({
    code: 'unreachable',
    what: `The worker at ${address} stopped sending data.`,
  });
}

function unreachable(address: string, cause: unknown): MillraceError {
  const why = cause instanceof Error ? `${cause.message}.` : '';
  return new MillraceError({
    code: 'unreachable',
    what: `The connection to ${address} failed. ${why}`.trim(),
    cause,
  });
}
