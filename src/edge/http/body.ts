/** The body of a request, read under limits on its size and on silence. */
import type { IncomingMessage } from 'node:http';
import { MillraceError, isMillraceError, parseShallow } from '../../scheduler/core/index.ts';
import type { Clock } from '../../kit/index.ts';
import { jsonFaultAt, lineAndColumn, requestBytes } from '../../kit/index.ts';
import type { ByteShare } from '../../kit/index.ts';
import type { ApiLimits } from './limits.ts';
import { HttpRefusal, badInput } from './refusal.ts';

export interface BodyOptions {
  readonly clock: Clock;
  readonly limits: Pick<ApiLimits, 'bodyBytesMax' | 'bodyIdleMs'>;
  /** The client waits for `100 Continue` before it sends the body. */
  readonly goOn: () => void;
  /** The memory that the request takes until it is answered. */
  readonly share: ByteShare;
}

/** The JSON in the body; undefined when there is no body at all. */
export async function readJson(request: IncomingMessage, options: BodyOptions): Promise<unknown> {
  const { bodyBytesMax } = options.limits;
  const { 'content-length': length, 'transfer-encoding': encoding } = request.headers;
  if (encoding === undefined && (length === undefined || length === '0')) return undefined;
  checkType(request);
  if (Number(length ?? 0) > bodyBytesMax) throw tooLarge(bodyBytesMax);
  // Before any of it is read, where the client says how much it will be.
  admit(options, Number(length ?? 0));
  options.goOn();
  const bytes = await readBytes(request, options);
  if (bytes.length === 0) return undefined;
  const value = parseBytes(bytes);
  if (Array.isArray(value)) admit(options, bytes.length, value.length);
  return value;
}

function admit(options: BodyOptions, textBytes: number, items = 0): void {
  const refusal = noRoom(options, textBytes, items);
  if (refusal !== null) throw refusal;
}

/** Null when there is room for it, and then it is held. */
function noRoom({ share }: BodyOptions, textBytes: number, items = 0): MillraceError | null {
  if (share.hold(requestBytes(textBytes, items))) return null;
  return new MillraceError({
    code: 'overloaded',
    what: 'The server has reached its memory limit for pending requests.',
    todo: 'Retry shortly, with fewer or smaller requests at a time.',
  });
}

function checkType({ headers }: IncomingMessage): void {
  const type = headers['content-type'] ?? '';
  if (!/^application\/(?:[\w.-]+\+)?json *(?:;|$)/i.test(type)) {
    throw new HttpRefusal('unsupported_media_type', {
      what:
        type === '' ? 'The body has no Content-Type.' : 'The Content-Type of the body is not JSON.',
      todo: 'Send `Content-Type: application/json`.',
    });
  }
  if ((headers['content-encoding'] ?? 'identity') === 'identity') return;
  throw new HttpRefusal('unsupported_media_type', {
    what: 'The body is compressed, which this server does not support.',
    todo: 'Send it without Content-Encoding.',
  });
}

function readBytes(request: IncomingMessage, options: BodyOptions): Promise<Buffer> {
  const { clock, limits } = options;
  const { bodyBytesMax, bodyIdleMs } = limits;
  const isCounted = request.headers['content-length'] !== undefined;
  return new Promise((resolve, reject) => {
    const pieces: Buffer[] = [];
    let size = 0;
    let cancel = (): void => {};
    const finish = (act: () => void): void => {
      cancel();
      request.off('data', onData).off('end', onEnd).off('close', onClose).off('error', onClose);
      act();
    };
    const onIdle = (): void => finish(() => reject(tooSlow(bodyIdleMs)));
    const onData = (piece: Buffer): void => {
      size += piece.length;
      if (size > bodyBytesMax) return finish(() => reject(tooLarge(bodyBytesMax)));
      const refusal = isCounted ? null : noRoom(options, size);
      if (refusal !== null) return finish(() => reject(refusal));
      pieces.push(piece);
      cancel();
      cancel = clock.after(bodyIdleMs, onIdle);
    };
    const onEnd = (): void => finish(() => resolve(Buffer.concat(pieces, size)));
    const onClose = (): void => finish(() => reject(cutOff()));
    cancel = clock.after(bodyIdleMs, onIdle);
    request.on('data', onData).on('end', onEnd).on('close', onClose).on('error', onClose);
  });
}

function parseBytes(bytes: Buffer): unknown {
  const text = decoded(bytes);
  try {
    return parseShallow(text, DEPTH_MAX);
  } catch (error) {
    if (isMillraceError(error)) throw error;
    const at = jsonFaultAt(text);
    const where = `${lineAndColumn(text, at)} (position ${at})`;
    const what =
      at >= text.length
        ? `The body is not valid JSON: it ends unexpectedly at ${where}.`
        : `The body is not valid JSON: unexpected input at ${where}.`;
    throw badInput('', what);
  }
}

/** As deep as a signal or a result may be. What is deeper cannot be written again by the platform. */
const DEPTH_MAX = 1_000;

function decoded(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw badInput('', 'The body is not valid UTF-8.');
  }
}

function tooLarge(bytesMax: number): MillraceError {
  return new MillraceError({
    code: 'too_large',
    what: `The body is larger than ${bytesMax} bytes.`,
    todo: 'Send less at a time; store large data elsewhere and pass its location.',
  });
}

function tooSlow(ms: number): HttpRefusal {
  return new HttpRefusal('request_timeout', {
    what: `No data of the body was received for ${ms} ms.`,
    todo: 'Send the request again.',
  });
}

function cutOff(): HttpRefusal {
  return new HttpRefusal('bad_request', {
    what: 'The connection was closed before the end of the body.',
  });
}
