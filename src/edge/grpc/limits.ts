/** Limits of the wire, by name. Both ends keep the same ones. */
import { PAYLOAD_BYTES_MAX } from '../../scheduler/contract/index.ts';

/** The request limit of a server: the largest document, 16 MiB, and what surrounds it. */
export const REQUEST_BYTES_MAX: number = 20 * 1024 * 1024;
/** What a client takes in. A job of many tasks, or a task of many steps, is read as a whole. */
const ANSWER_BYTES_MAX: number = 512 * 1024 * 1024;
/** Calls at the same time on one connection. */
export const STREAMS_MAX = 1_000;
/** Calls without an answer on one stream of a worker. */
export const WORK_CALLS_MAX = 32;
/** A client keeps to half of that: an answer may reach it before the server counts it as sent. */
export const WORK_CALLS_SENT_MAX: number = WORK_CALLS_MAX / 2;
/** What one message on such a stream may have: it holds up those behind it. */
export const WORK_MESSAGE_BYTES_MAX: number = 1024 * 1024;
/** A server that reads packed calls on a stream says `1` in this header of its answer. */
export const PACKED_HEADER = 'millrace-packed';
/** The longest that a poll is parked, whatever the caller asks for. */
export const POLL_WAIT_MS_MAX = 30_000;
/** A watcher that takes nothing for this long is cut. */
export const STALLED_READER_MS = 30_000;
/** How long calls in flight may take to end when a server stops. */
export const STOP_GRACE_MS = 3_000;

/** How soon a connection without a living peer is noticed: after both together. */
export interface KeepAlive {
  readonly everyMs: number;
  readonly timeoutMs: number;
}

/** How much less often than its clients a server asks whether the other side lives. Sessions have times of their own. */
const SERVER_KEEPALIVE_MULTIPLIER = 9;

const KEEP_ALIVE: KeepAlive = { everyMs: 7_000, timeoutMs: 3_000 };

/** Well within half of the session's time: a dead connection is found while there is time to act. */
export function keepAliveFor(sessionTtlMs: number): KeepAlive {
  return {
    everyMs: Math.max(10, Math.min(KEEP_ALIVE.everyMs, Math.floor(sessionTtlMs / 3))),
    timeoutMs: Math.max(10, Math.min(KEEP_ALIVE.timeoutMs, Math.floor(sessionTtlMs / 8))),
  };
}

export function channelOptions(
  end: 'server' | 'client',
  keepAlive: KeepAlive = KEEP_ALIVE,
  requestBytesMax: number = REQUEST_BYTES_MAX,
): Record<string, number> {
  const isServer = end === 'server';
  return {
    'grpc.max_receive_message_length': isServer ? requestBytesMax : ANSWER_BYTES_MAX,
    'grpc.max_send_message_length': isServer ? ANSWER_BYTES_MAX : -1,
    // A server with a thousand clients would do little else; their own questions keep it informed.
    'grpc.keepalive_time_ms': keepAlive.everyMs * (isServer ? SERVER_KEEPALIVE_MULTIPLIER : 1),
    'grpc.keepalive_timeout_ms': keepAlive.timeoutMs,
    'grpc.keepalive_permit_without_calls': 1,
    // Book-keeping for a debugging tool that is never attached.
    'grpc.enable_channelz': 0,
  };
}

/** Room for what stands around each item. */
const ITEM_BYTES = 256;

/** How many of the items, from `start` on, fit into one message. At least one, or none would ever go. */
export function fitting<T>(
  items: readonly T[],
  start: number,
  bytesOf: (item: T) => number,
): number {
  let bytes = 0;
  let at = start;
  for (; at < items.length; at += 1) {
    bytes += bytesOf(items[at] as T) + ITEM_BYTES;
    if (bytes > PAYLOAD_BYTES_MAX && at > start) break;
  }
  return at - start;
}

/** As few messages as will hold them, in order. */
export function* inParts<T>(items: T[], bytesOf: (item: T) => number): Generator<T[]> {
  let start = 0;
  while (start < items.length) {
    const count = fitting(items, start, bytesOf);
    yield count === items.length ? items : items.slice(start, start + count);
    start += count;
  }
}
