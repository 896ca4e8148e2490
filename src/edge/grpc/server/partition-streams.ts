/** Serves ranges of partitions as plain streams of bytes, with the checks and limits of the gRPC method. */
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { MillraceError } from '../../../scheduler/core/index.ts';
import type { ErrorCode } from '../../../scheduler/core/index.ts';
import { type Clock, deferred } from '../../../kit/index.ts';
import type {
  PartitionChunk,
  PartitionRange,
  ShuffleSource,
} from '../../../scheduler/contract/index.ts';
import {
  BYTES_TYPE,
  CHUNK_HEADER,
  ERROR_TYPE,
  STREAM_HEADER,
  STREAM_METHOD,
  errorBytes,
  headText,
  rangeIn,
} from '../stream-format.ts';
import { asMillraceError } from '../status.ts';
import { NEEDED_ROLES } from './access.ts';
import type { AccessCheck } from './access.ts';
import { shuttingDown } from './handlers.ts';

export interface PartitionStreamsOptions {
  /** Answers null where no data is kept. */
  readonly source: () => ShuffleSource | null;
  /** Absent: every caller may do everything. */
  readonly access: AccessCheck | undefined;
  /** Aborts when the server stops. */
  readonly life: AbortSignal;
  readonly clock: Clock;
  /** How long a reader may take nothing. */
  readonly stalledMs: number;
}

/**
 * On one connection: a reader that has all bytes of an answer may ask for the next ones before the end of it is noticed here.
 * Each takes a buffer at once, so those that do not wait for their answers are not served.
 */
const AT_ONCE = 2;

export function partitionStreams(options: PartitionStreamsOptions): RequestListener {
  const underWay = new WeakMap<object, number>();
  return (request, response) => {
    const { socket } = request;
    const before = underWay.get(socket) ?? 0;
    if (before === AT_ONCE) return void socket.destroy();
    underWay.set(socket, before + 1);
    response.once('close', () => underWay.set(socket, (underWay.get(socket) ?? 1) - 1));
    void serve(request, response, options);
  };
}

async function serve(
  request: IncomingMessage,
  response: ServerResponse,
  options: PartitionStreamsOptions,
): Promise<void> {
  const { life } = options;
  const over = new AbortController();
  const end = (): void => over.abort();
  // At once: the end of the connection is only noticed when nothing else is left to do.
  const cut = (): void => {
    end();
    response.destroy();
  };
  response.once('close', end);
  life.addEventListener('abort', cut, { once: true });
  try {
    if (life.aborted) throw shuttingDown();
    const range = await allowed(request, options);
    await send(response, range, { signal: over.signal, cut }, options);
  } catch (thrown) {
    // Bytes are missing then, and a reader sees that.
    if (response.headersSent) response.destroy();
    else refuse(response, thrown);
  } finally {
    life.removeEventListener('abort', cut);
    over.abort();
  }
}

/** Who asks is checked before what is asked for. */
async function allowed(
  { headers, method, url = '', socket }: IncomingMessage,
  { access }: PartitionStreamsOptions,
): Promise<PartitionRange> {
  const { remoteAddress, remotePort, localAddress, localPort } = socket;
  if (headers[STREAM_HEADER] === undefined || method !== 'GET') throw notServed();
  const needed = NEEDED_ROLES.get(STREAM_METHOD);
  if (access !== undefined && needed !== undefined && needed !== 'open') {
    const peer = { connection: socket, remoteAddress, remotePort, localAddress, localPort };
    await access({ authorization: headers.authorization ?? null, peer }, needed);
  }
  return readRange(url) ?? refuseNotServed();
}

function readRange(url: string): PartitionRange | null {
  try {
    return rangeIn(url);
  } catch (cause) {
    throw new MillraceError({
      code: 'bad_input',
      what: 'The request does not match the type of the method.',
      cause,
    });
  }
}

async function send(
  response: ServerResponse,
  range: PartitionRange,
  { signal, cut }: { readonly signal: AbortSignal; readonly cut: () => void },
  { source, clock, stalledMs }: PartitionStreamsOptions,
): Promise<void> {
  const present = source() ?? refuseNotServed();
  const reader = new Reader(response, () => clock.after(stalledMs, cut), signal);
  let whole: PartitionChunk | null = null;
  let offset = 0;
  for await (const chunk of present.fetch(range, signal)) {
    if (whole === null) {
      // Nothing is said before there is something: what cannot be read is refused as over gRPC.
      whole = begin(response, range, chunk);
      offset = whole.startOffset;
    }
    checkNext(chunk, offset, whole);
    offset = chunk.endOffset;
    if (chunk.payload.length > 0) await reader.write(chunk.payload);
    if (signal.aborted) return;
  }
  if (whole === null || offset < whole.endOffset) throw new Error('Bytes are missing.');
  response.end();
}

/** The length is that of the whole range, as far as the partition reaches now. */
function begin(
  response: ServerResponse,
  { maxBytes }: PartitionRange,
  first: PartitionChunk,
): PartitionChunk {
  const { startOffset, watermarkOffset } = first;
  const endOffset =
    maxBytes === 0 ? watermarkOffset : Math.min(watermarkOffset, startOffset + maxBytes);
  const whole = { ...first, endOffset };
  response.writeHead(200, {
    'content-type': BYTES_TYPE,
    'content-length': endOffset - startOffset,
    [CHUNK_HEADER]: headText(whole),
  });
  return whole;
}

/** What was said of all bytes is true of these, and none is left out. */
function checkNext(chunk: PartitionChunk, offset: number, whole: PartitionChunk): void {
  const { payload, startOffset, endOffset, epoch, isFinalized } = chunk;
  const isNext = startOffset === offset && endOffset === offset + payload.length;
  const isSame = epoch === whole.epoch && isFinalized === whole.isFinalized;
  if (isNext && isSame && endOffset <= whole.endOffset) return;
  throw new Error('The partition changed while it was read.');
}

/** The other side, which takes what it is sent, or is cut off. */
class Reader {
  readonly #response: ServerResponse;
  readonly #stalling: () => () => void;
  readonly #signal: AbortSignal;
  #goOn = (): void => {};

  /** `stalling` begins to wait for the reader; the function that it returns ends that. */
  constructor(response: ServerResponse, stalling: () => () => void, signal: AbortSignal) {
    this.#response = response;
    this.#stalling = stalling;
    this.#signal = signal;
    // Of what has not left then, nothing more is heard.
    signal.addEventListener('abort', () => this.#goOn(), { once: true });
  }

  /** Resolves when the bytes have left, or never will. */
  async write(bytes: Buffer): Promise<void> {
    const left = deferred();
    this.#goOn = left.resolve;
    this.#response.write(bytes, () => left.resolve());
    if (this.#signal.aborted) return;
    const cancelTimer = this.#stalling();
    await left.promise;
    cancelTimer();
  }
}

function refuse(response: ServerResponse, thrown: unknown): void {
  const bytes = errorBytes(thrown);
  response.writeHead(STATUSES[asMillraceError(thrown).code] ?? 500, {
    'content-type': ERROR_TYPE,
    'content-length': bytes.length,
  });
  response.end(bytes);
}

/** For people who look at it; the reader has the whole error. */
const STATUSES: Readonly<Partial<Record<ErrorCode, number>>> = {
  unauthenticated: 401,
  forbidden: 403,
  bad_input: 400,
  unimplemented: 404,
  conflict: 409,
  superseded: 409,
  shutting_down: 503,
};

function refuseNotServed(): never {
  throw notServed();
}

function notServed(): MillraceError {
  return new MillraceError({
    code: 'unimplemented',
    what: 'Nothing else is served here over HTTP/1.1 than outputs of queries.',
    todo: 'Use gRPC, or fetch the output from the worker that produced it.',
  });
}
