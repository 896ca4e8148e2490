/**
 * The messages of a call in both directions. gRPC takes several promises, queues and pauses of the connection for each of
 * them, which costs more than most of our answers. So they are read from the HTTP/2 stream and written to it, where that can
 * be found; the head and the end of the call stay with gRPC.
 */
import type { ServerDuplexStream } from '@grpc/grpc-js';
import { MillraceError } from '../../../scheduler/core/index.ts';
import { uncompressedStream } from './http2-call.ts';

export interface Messages {
  write(bytes: Buffer, hasLeft: () => void): void;
  /** Something that was written has not left. */
  readonly hasUnsent: boolean;
  pause(): void;
  resume(): void;
  /** Nothing that comes from now on is wanted. Only a stream that is read to its end goes. */
  discard(): void;
}

export interface MessageReader {
  readonly bytesMax: number;
  /** One or several, in the order in which they came. */
  readonly onMessages: (messages: readonly Buffer[]) => void;
  /** The other side has no more to say. */
  readonly onEnd: () => void;
  readonly onFault: (error: MillraceError) => void;
}

type Call = ServerDuplexStream<Buffer, Buffer>;

export function messagesOf(call: Call, reader: MessageReader): Messages {
  return overHttp2(call, reader) ?? overGrpc(call, reader);
}

function overGrpc(call: Call, { bytesMax, onMessages, onEnd, onFault }: MessageReader): Messages {
  call.on('data', (bytes: Buffer) => {
    if (bytes.length > bytesMax) onFault(tooLarge(bytes.length, bytesMax));
    else onMessages([bytes]);
  });
  call.once('end', onEnd);
  return {
    write: (bytes, hasLeft) => void call.write(bytes, hasLeft),
    get hasUnsent() {
      return call.writableLength > 0;
    },
    pause: () => void call.pause(),
    resume: () => void call.resume(),
    // gRPC does so itself.
    discard: () => void call.removeAllListeners('data').resume(),
  };
}

function overHttp2(
  call: Call,
  { bytesMax, onMessages, onEnd, onFault }: MessageReader,
): Messages | null {
  const stream = uncompressedStream(call);
  if (stream === null) return null;
  const frames = new Frames(bytesMax);
  // Those of gRPC, which has read nothing yet.
  stream.removeAllListeners('data').removeAllListeners('end');
  stream.on('data', (bytes: Buffer) => {
    try {
      const messages = frames.read(bytes);
      if (messages.length > 0) onMessages(messages);
    } catch (thrown) {
      onFault(thrown as MillraceError);
    }
  });
  stream.once('end', onEnd);
  stream.resume();
  return {
    write(bytes, hasLeft) {
      if (!stream.destroyed && !stream.writableEnded) stream.write(framed(bytes), hasLeft);
    },
    get hasUnsent() {
      return stream.writableLength > 0;
    },
    pause: () => void stream.pause(),
    resume: () => void stream.resume(),
    discard: () => void stream.removeAllListeners('data').resume(),
  };
}

/** Whether it is compressed, and its length. */
const HEAD_BYTES = 5;

function framed(bytes: Buffer): Buffer {
  const frame = Buffer.allocUnsafe(HEAD_BYTES + bytes.length);
  frame[0] = 0;
  frame.writeUInt32BE(bytes.length, 1);
  frame.set(bytes, HEAD_BYTES);
  return frame;
}

/** From what comes over a stream to the messages in it. */
export class Frames {
  readonly #bytesMax: number;
  /** The beginning of a message whose end has not come. */
  #pieces: Buffer[] = [];
  #size = 0;
  /** What the pieces have to have before they are looked at again. */
  #wanted = HEAD_BYTES;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Those that are whole now. */
  read(bytes: Buffer): Buffer[] {
    let rest = bytes;
    if (this.#size > 0) {
      this.#pieces.push(bytes);
      this.#size += bytes.length;
      if (this.#size < this.#wanted) return [];
      rest = Buffer.concat(this.#pieces, this.#size);
    }
    const messages: Buffer[] = [];
    let at = 0;
    this.#wanted = HEAD_BYTES;
    while (rest.length - at >= HEAD_BYTES) {
      const end = at + HEAD_BYTES + this.#lengthIn(rest, at);
      this.#wanted = end - at;
      if (end > rest.length) break;
      messages.push(rest.subarray(at + HEAD_BYTES, end));
      this.#wanted = HEAD_BYTES;
      at = end;
    }
    this.#size = rest.length - at;
    this.#pieces = this.#size === 0 ? [] : [rest.subarray(at)];
    return messages;
  }

  #lengthIn(bytes: Buffer, at: number): number {
    const length = bytes.readUInt32BE(at + 1);
    if (length > this.#bytesMax) throw tooLarge(length, this.#bytesMax);
    if (bytes[at] === 0) return length;
    throw new MillraceError({
      code: 'bad_input',
      what: 'A message is compressed, but the call does not say how.',
      todo: 'Send messages as they are, or name the way in grpc-encoding.',
    });
  }
}

function tooLarge(length: number, bytesMax: number): MillraceError {
  return new MillraceError({
    code: 'too_large',
    what: `A message of ${length} bytes exceeds the limit of a stream, ${bytesMax} bytes.`,
    todo: 'Send it by the method of its own.',
  });
}
