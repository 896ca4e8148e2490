/**
 * Fetches data that other workers retain: as plain streams, and over gRPC where there are none, on one connection per address.
 * A call is tried once: the caller knows where to resume.
 */
import type { ServiceError } from '@grpc/grpc-js';
import { isMillraceError } from '../../../scheduler/core/index.ts';
import type { MillraceError } from '../../../scheduler/core/index.ts';
import { type Clock, deferred, systemClock } from '../../../kit/index.ts';
import { decodeChunk } from '../codec/partition-chunk.ts';
import { toWireMapOutput, toWireRange } from '../codec/shuffle.ts';
import { ShuffleServiceService } from '../gen/millrace/v1/shuffle.ts';
import type {
  MapOutput,
  PartitionChunk,
  PartitionRange,
  RemoteShuffle,
  Session,
} from '../../../scheduler/contract/index.ts';
import { errorOfStatus } from '../status.ts';
import { Connections } from './connections.ts';
import type { ConnectionOptions } from './connections.ts';
import { PartitionStreams, stalled } from './partition-streams.ts';

export interface ShuffleChannelOptions extends ConnectionOptions {
  readonly clock?: Clock;
  /** A stream that brings nothing for this long is given up. */
  readonly stalledMs?: number;
}

const STALLED_MS = 10_000;
const REGISTER_MS = 10_000;
/** Enough to keep a fast network busy over a long way; the streams of a connection share it. */
const WINDOW_BYTES: number = 8 * 2 ** 20;

export class ShuffleChannel implements RemoteShuffle {
  readonly #connections: Connections;
  readonly #streams: PartitionStreams;
  readonly #clock: Clock;
  readonly #stalledMs: number;

  constructor(options: ShuffleChannelOptions) {
    this.#connections = new Connections({ windowBytes: WINDOW_BYTES, ...options });
    this.#clock = options.clock ?? systemClock;
    this.#stalledMs = options.stalledMs ?? STALLED_MS;
    this.#streams = new PartitionStreams({
      ...options,
      clock: this.#clock,
      stalledMs: this.#stalledMs,
    });
  }

  /** At the pace of the reader. Throws `unreachable` when the connection fails or nothing comes, the signal's
   * reason when it aborts, and what the other side throws. */
  async *fetch(
    address: string,
    range: PartitionRange,
    signal: AbortSignal,
  ): AsyncIterable<PartitionChunk> {
    signal.throwIfAborted();
    const stream = await this.#streams.fetch(address, range, signal);
    yield* stream ?? this.#overGrpc(address, range, signal);
  }

  /** From a node that serves no streams. */
  async *#overGrpc(
    address: string,
    range: PartitionRange,
    signal: AbortSignal,
  ): AsyncIterable<PartitionChunk> {
    signal.throwIfAborted();
    const client = this.#connections.to(address);
    const { path, requestSerialize } = ShuffleServiceService.fetchShufflePartition;
    const call = client.makeServerStreamRequest(
      path,
      requestSerialize,
      decodeChunk,
      toWireRange(range),
      this.#connections.metadata(address),
    );
    // After the last message nobody listens, and a cancelled call still reports its end.
    call.on('error', () => {});
    let isStalled = false;
    const cancel = (): void => call.cancel();
    const giveUp = (): void => {
      isStalled = true;
      cancel();
    };
    let cancelTimer = this.#clock.after(this.#stalledMs, giveUp);
    signal.addEventListener('abort', cancel, { once: true });
    try {
      for await (const message of call) {
        cancelTimer();
        yield message as PartitionChunk;
        // Only the other side's time counts, not that of the reader.
        cancelTimer = this.#clock.after(this.#stalledMs, giveUp);
      }
    } catch (thrown) {
      signal.throwIfAborted();
      const error = isStalled ? stalled(address) : errorOfCall(thrown, address);
      if (error.code === 'unreachable') this.#connections.drop(address, client);
      throw error;
    } finally {
      cancelTimer();
      signal.removeEventListener('abort', cancel);
      call.cancel();
    }
  }

  async register(address: string, output: MapOutput, by: Session): Promise<void> {
    const client = this.#connections.to(address);
    const { path, requestSerialize, responseDeserialize } = ShuffleServiceService.registerMapOutput;
    const answered = deferred();
    client.makeUnaryRequest(
      path,
      requestSerialize,
      responseDeserialize,
      toWireMapOutput(output, by),
      this.#connections.metadata(address),
      { deadline: Date.now() + REGISTER_MS },
      (failure) => {
        if (failure === null) return answered.resolve();
        const error = errorOfStatus(failure, address);
        if (error.code === 'unreachable') this.#connections.drop(address, client);
        answered.reject(error);
      },
    );
    await answered.promise;
  }

  close(): void {
    this.#streams.close();
    this.#connections.close();
  }
}

/** An error of the reader while it handles a message is its own. */
function errorOfCall(thrown: unknown, address: string): MillraceError {
  if (isMillraceError(thrown)) return thrown;
  return errorOfStatus(thrown as ServiceError, address);
}
