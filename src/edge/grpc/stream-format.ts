/**
 * A range of a partition as a plain stream of bytes: a GET of HTTP/1.1 on the port of gRPC. It is asked for by the message of
 * `FetchShufflePartition`, and answered by a head, which is the answer of that method without its payload, and the bytes. An
 * error is answered by the same message as over gRPC.
 */
import { decodeChunk, encodeChunk } from './codec/partition-chunk.ts';
import { fromWireRange, toWireRange } from './codec/shuffle.ts';
import { FetchShufflePartitionRequest } from './gen/millrace/v1/shuffle.ts';
import { ErrorDetail } from './gen/millrace/v1/types.ts';
import { asMillraceError, errorFromDetail, errorToDetail } from './status.ts';
import type { MillraceError } from '../../scheduler/core/index.ts';
import type { PartitionChunk, PartitionRange } from '../../scheduler/contract/index.ts';

/** Whoever may call this method may have the stream. */
export const STREAM_METHOD = '/millrace.v1.ShuffleService/FetchShufflePartition';
/** No page of a browser can send a header that begins with `sec-`. */
export const STREAM_HEADER = 'sec-millrace-stream';
/** Of an answer: what comes. */
export const CHUNK_HEADER = 'millrace-chunk-bin';
export const BYTES_TYPE = 'application/vnd.millrace.partition';
export const ERROR_TYPE = 'application/vnd.millrace.error';
export const ERROR_BYTES_MAX = 65_536;

export function pathOf(range: PartitionRange): string {
  const bytes = FetchShufflePartitionRequest.encode(toWireRange(range)).finish();
  return `${STREAM_METHOD}?${Buffer.from(bytes).toString('base64url')}`;
}

/** Null for any other path. Throws if the range is not one. */
export function rangeIn(path: string): PartitionRange | null {
  const [method, text = ''] = path.split('?', 2);
  if (method !== STREAM_METHOD) return null;
  return fromWireRange(FetchShufflePartitionRequest.decode(Buffer.from(text, 'base64url')));
}

const NOTHING: Buffer = Buffer.alloc(0);

export function headText(chunk: PartitionChunk): string {
  return encodeChunk({ ...chunk, payload: NOTHING }).toString('base64url');
}

/** A chunk without its payload. */
export function headIn(text: string): PartitionChunk {
  return decodeChunk(Buffer.from(text, 'base64url'));
}

export function errorBytes(thrown: unknown): Buffer {
  return Buffer.from(ErrorDetail.encode(errorToDetail(asMillraceError(thrown))).finish());
}

export function errorIn(bytes: Buffer): MillraceError {
  return errorFromDetail(ErrorDetail.decode(bytes));
}
