/**
 * What nodes ask of each other about the data between stages. The store of a worker keeps this port, and so
 * does the client that carries it over the network.
 */
import type { JobId } from '../core/index.ts';
import type { Session } from './worker-service.ts';

/** How outputs are written: Parquet files one after the other. Raised when a current reader could not read a new one. */
export const LAYOUT_VERSION = 1;

/** One attempt at a map task. */
export interface MapOutputKey {
  readonly query: JobId;
  readonly stage: number;
  readonly mapTask: number;
  /** The number of its assignment, which no task is given twice; 0 for the newest of `attempt`. */
  readonly fence: number;
  /** The number of the retry. Only looked at when there is no fence. */
  readonly attempt: number;
}

export interface MapPartition {
  readonly partition: number;
  readonly bytes: number;
  readonly rows: number;
  readonly batches: number;
  readonly epoch: number;
  /** Up to here it may be read. */
  readonly committedOffset: number;
  /** Nothing more will come. */
  readonly isFinalized: boolean;
  /** Length and CRC-32 of each file in it, in order; empty if the writer has not said. */
  readonly segments: readonly (readonly [bytes: number, crc32: number])[];
}

export interface MapOutput extends MapOutputKey {
  readonly partitions: readonly MapPartition[];
  /** 0 for the current one. */
  readonly layoutVersion: number;
  /** The number of partitions of the stage; 0 for as many as planned. */
  readonly layoutFingerprint: bigint;
}

/** A stretch of one partition. */
export interface PartitionRange extends MapOutputKey {
  readonly partition: number;
  readonly startOffset: number;
  /** 0 for all that may be read. */
  readonly maxBytes: number;
  /** 0 for any. */
  readonly layoutVersion: number;
  readonly minEpoch: number;
}

export interface PartitionChunk {
  /** Valid until the next chunk is asked for. */
  readonly payload: Buffer;
  readonly startOffset: number;
  readonly endOffset: number;
  readonly watermarkOffset: number;
  readonly isFinalized: boolean;
  readonly epoch: number;
}

/** What other workers hold, by the address of the worker. */
export interface RemoteShuffle {
  /** At the pace of the reader. Throws `unreachable` when the connection fails or stalls. */
  fetch(address: string, range: PartitionRange, signal: AbortSignal): AsyncIterable<PartitionChunk>;
  close(): void;
}

export interface ShuffleSource {
  /**
   * Repeated calls are fine. Throws `superseded` for an attempt, an epoch or a layout that is not the current one, and
   * `conflict` for an output that is not known to be made here.
   */
  register(output: MapOutput, by: Session | null): void | Promise<void>;
  /**
   * In order, without gaps; one empty chunk where there is nothing to send. Throws `conflict` for an attempt
   * that is not registered, `superseded` for an epoch or a layout that is not the one here, `input_lost` when
   * the data is not what was registered.
   */
  fetch(range: PartitionRange, signal: AbortSignal): AsyncIterable<PartitionChunk>;
}
