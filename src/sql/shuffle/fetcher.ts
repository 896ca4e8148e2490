/**
 * Fetches partitions from other workers into files. The bytes in flight from one node are bounded, however many tasks
 * fetch from it. A broken connection is retried from the last byte received.
 */
import { isMillraceError } from '../../scheduler/core/index.ts';
import type { ErrorCode, JobId } from '../../scheduler/core/index.ts';
import { type Clock, sleep, systemClock } from '../../kit/index.ts';
import type {
  PartitionChunk,
  PartitionRange,
  RemoteShuffle,
} from '../../scheduler/contract/index.ts';
import type { PartitionRead } from '../plan/index.ts';
import { ByteWindow } from './byte-window.ts';
import { FetchRate } from './fetch-rate.ts';
import { keyOf } from './output-name.ts';
import { PartitionLostError } from './partition-lost.ts';
import { SegmentWriter } from './segment-writer.ts';

export interface FetcherOptions {
  readonly channel: Pick<RemoteShuffle, 'fetch'>;
  readonly clock?: Clock;
}

/** From one node, over all fetches, unless the leader recommends another. */
const WINDOW_BYTES: number = 48 * 2 ** 20;
/** The window may have been recommended by a leader that is gone. */
const RECOMMENDED_MS = 30_000;
/** Whatever is recommended, a fetch goes on. */
const WINDOW_BYTES_MIN: number = 256 * 1_024;
/** The most that one call fetches; then others have their turn. */
const RANGE_BYTES: number = 16 * 2 ** 20;
/**
 * The minimum cost of a call, which bounds the number of concurrent calls. Measured on one machine: three streams
 * carry twice as much as eight, and the first tasks can start while others are still fetching. Small calls carry
 * little and mostly wait for the round trip.
 */
const LARGE_COST_BYTES: number = 16 * 2 ** 20;
const SMALL_COST_BYTES: number = 2 * 2 ** 20;
const SMALL_BYTES: number = 256 * 1_024;
/** Backoff after calls that failed without progress. After the last one the output counts as lost. */
const RETRY_MS: readonly number[] = [50, 200, 800];
/**
 * The retry budget of calls without progress. A node that has stopped accepts calls and answers none of them until
 * the response timeout, by which time the leader has given it up.
 */
const RETRY_BUDGET_MS = 15_000;
/** The other node, or the way to it, may recover in a moment. */
const TRANSIENT: ReadonlySet<ErrorCode> = new Set(['unreachable', 'overloaded', 'shutting_down']);
/** These say nothing about the data, and the operator has to know. */
const NOT_LOST: ReadonlySet<ErrorCode> = new Set(['unauthenticated', 'forbidden']);

export class Fetcher {
  readonly #channel: Pick<RemoteShuffle, 'fetch'>;
  readonly #clock: Clock;
  readonly #windows: Map<string, ByteWindow> = new Map();
  readonly #rate: FetchRate;
  #recommended: { readonly bytes: number; readonly untilMs: number } | null = null;

  constructor({ channel, clock = systemClock }: FetcherOptions) {
    this.#channel = channel;
    this.#clock = clock;
    this.#rate = new FetchRate(clock);
  }

  /** Bytes taken in per second of the last seconds; 0 if nothing was fetched. */
  measure(): number {
    return this.#rate.measure();
  }

  /** The window for each node from now on, also for fetches that run. It holds for a while. */
  recommend(windowBytes: number): void {
    const bytes = Math.min(WINDOW_BYTES, Math.max(WINDOW_BYTES_MIN, windowBytes));
    this.#recommended = { bytes, untilMs: this.#clock.monotonicMs() + RECOMMENDED_MS };
    for (const window of this.#windows.values()) window.resize(bytes);
  }

  #windowBytes(): number {
    const { bytes, untilMs } = this.#recommended ?? { bytes: WINDOW_BYTES, untilMs: Infinity };
    return this.#clock.monotonicMs() < untilMs ? bytes : WINDOW_BYTES;
  }

  /** Returns the files of the partition, in order. Throws `PartitionLostError` if it cannot be fetched completely. */
  async fetch(
    query: JobId,
    read: PartitionRead,
    pathOf: (segment: number) => string,
    signal: AbortSignal,
  ): Promise<readonly string[]> {
    const { at, part } = read;
    const { address } = at;
    if (address === null) throw new PartitionLostError(at, 'Its node cannot be reached by others.');
    const writer = new SegmentWriter(part, pathOf);
    const lost = (why: string, cause?: unknown): never => {
      throw new PartitionLostError(at, why, cause);
    };
    let failures = 0;
    const vain = { ms: 0 };
    const ended = this.#rate.begin();
    try {
      while (writer.offset < part.bytes) {
        const before = writer.offset;
        try {
          await this.#range(query, read, address, writer, vain, signal);
          if (writer.offset === before) lost('It is shorter than expected.');
        } catch (error) {
          signal.throwIfAborted();
          if (!isMillraceError(error) || NOT_LOST.has(error.code)) throw error;
          if (!TRANSIENT.has(error.code)) throw asLost(read, error);
          if (writer.offset > before) failures = 0;
          if (vain.ms >= RETRY_BUDGET_MS) lost(error.what, error);
          const waitMs = RETRY_MS[failures] ?? lost(error.what, error);
          failures += 1;
          await sleep(this.#clock, waitMs, signal);
        }
      }
    } finally {
      ended();
      await writer.close();
    }
    return writer.files;
  }

  async #range(
    query: JobId,
    { at, partition, part }: PartitionRead,
    address: string,
    writer: SegmentWriter,
    vain: { ms: number },
    signal: AbortSignal,
  ): Promise<void> {
    const restBytes = Math.min(RANGE_BYTES, part.bytes - writer.offset);
    const leave = await this.#enter(address, costOf(restBytes), signal);
    // As it is now: the window may have changed while this one waited.
    const maxBytes = Math.min(restBytes, this.#windowBytes());
    const [before, startedAtMs] = [writer.offset, this.#clock.monotonicMs()];
    try {
      const range: PartitionRange = {
        ...keyOf({ query, task: at.task, fence: at.fence }),
        partition,
        startOffset: writer.offset,
        maxBytes,
        layoutVersion: at.layout,
        minEpoch: at.epoch,
      };
      for await (const chunk of this.#channel.fetch(address, range, signal)) {
        const fault =
          faultOf(chunk, writer.offset, at.epoch, part.bytes) ?? (await writer.take(chunk.payload));
        if (fault !== null) throw new PartitionLostError(at, fault);
        this.#rate.took(chunk.payload.length);
      }
    } finally {
      vain.ms = writer.offset > before ? 0 : vain.ms + this.#clock.monotonicMs() - startedAtMs;
      leave();
    }
  }

  async #enter(address: string, bytes: number, signal: AbortSignal): Promise<() => void> {
    let window = this.#windows.get(address);
    const max = this.#windowBytes();
    if (window === undefined) this.#windows.set(address, (window = new ByteWindow(max)));
    else if (window.max !== max) window.resize(max);
    const leave = await window.enter(bytes, signal);
    return () => {
      leave();
      if (window.isIdle && this.#windows.get(address) === window) this.#windows.delete(address);
    };
  }
}

function costOf(bytes: number): number {
  return bytes <= SMALL_BYTES ? SMALL_COST_BYTES : Math.max(LARGE_COST_BYTES, bytes);
}

/** A committed output never changes, so a chunk that does not fit belongs to another one. */
function faultOf(
  chunk: PartitionChunk,
  offset: number,
  epoch: number,
  bytes: number,
): string | null {
  if (chunk.epoch !== epoch) return `It has epoch ${chunk.epoch} instead of ${epoch}.`;
  if (!chunk.isFinalized || chunk.watermarkOffset !== bytes) {
    return `It has ${chunk.watermarkOffset} bytes there instead of ${bytes}.`;
  }
  const isNext = chunk.startOffset === offset;
  if (isNext && chunk.endOffset === offset + chunk.payload.length) return null;
  return `Received bytes from offset ${chunk.startOffset} instead of ${offset}.`;
}

function asLost({ at }: PartitionRead, error: Error): Error {
  return error instanceof PartitionLostError
    ? error
    : new PartitionLostError(at, error.message, error);
}
