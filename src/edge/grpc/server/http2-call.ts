/**
 * The HTTP/2 stream below a call. gRPC tells a handler that its call was cancelled, but not whether
 * the caller changed its mind or is gone, and it has no way to cut off a caller that does not read.
 * Both need the stream, which gRPC keeps to itself: where it cannot be found, nothing is known.
 */
import { constants } from 'node:http2';
import type { Http2Session, ServerHttp2Stream } from 'node:http2';

/** How deep interceptors may lie over the stream. */
const LAYERS_MAX = 8;

interface Lowest {
  readonly stream: ServerHttp2Stream;
  readonly incomingEncoding?: unknown;
}

function lowestLayer(call: object): Lowest | null {
  let layer: unknown = call;
  for (let depth = 0; depth < LAYERS_MAX; depth += 1) {
    if (typeof layer !== 'object' || layer === null) return null;
    if ('stream' in layer) return layer as Lowest;
    if ('nextCall' in layer) layer = layer.nextCall;
    else if ('call' in layer) layer = layer.call;
    else return null;
  }
  return null;
}

/** The connection that a call came over; null where it cannot be found. */
export function connectionOf(call: object): Http2Session | null {
  return lowestLayer(call)?.stream.session ?? null;
}

/** The stream of a call whose messages come as they are; null where that is not known. */
export function uncompressedStream(call: object): ServerHttp2Stream | null {
  const lowest = lowestLayer(call);
  return lowest?.incomingEncoding === 'identity' ? lowest.stream : null;
}

export function cutOff(call: object): void {
  lowestLayer(call)?.stream.close(constants.NGHTTP2_ENHANCE_YOUR_CALM);
}
