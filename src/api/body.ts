/** The body of a request, read under limits: so many bytes, and never a long silence. */
import type { IncomingMessage } from 'node:http';
import { MillraceError, checkDepth, mayBeDeep } from '../core/index.ts';
import type { Clock } from '../kit/index.ts';
import { jsonFaultAt, lineAndColumn } from '../kit/index.ts';
import type { ApiLimits } from './limits.ts';
import { HttpRefusal, badInput } from './refusal.ts';

export interface BodyOptions {
  readonly clock: Clock;
  readonly limits: Pick<ApiLimits, 'bodyBytesMax' | 'bodyIdleMs'>;
  /** The client waits for a word before it sends the body. */
  readonly goOn: () => void;
}

/** The JSON in the body; undefined when there is no body at all. */
export async function readJson(request: IncomingMessage, options: BodyOptions): Promise<unknown> {
  const { bodyBytesMax } = options.limits;
  const { 'content-length': length, 'transfer-encoding': encoding } = request.headers;
  if (encoding === undefined && (length === undefined || length === '0')) return undefined;
  checkType(request);
  if (Number(length ?? 0) > bodyBytesMax) throw tooLarge(bodyBytesMax);
  options.goOn();
  const bytes = await readBytes(request, options);
  return bytes.length === 0 ? undefined : parseBytes(bytes);
}

function checkType({ headers }: IncomingMessage): void {
  const type = headers['content-type'] ?? '';
  if (!/^application\/(?:[\w.-]+\+)?json *(?:;|$)/i.test(type)) {
    throw new HttpRefusal('unsupported_media_type', {
      what: type === '' ? 'The body has no Content-Type.' : 'The body is not said to be JSON.',
      todo: 'Send `Content-Type: application/json`.',
    });
  }
  if ((headers['content-encoding'] ?? 'identity') === 'identity') return;
  throw new HttpRefusal('unsupported_media_type', {
    what: 'The body is compressed, and this server reads plain ones only.',
    todo: 'Send it without Content-Encoding.',
  });
}

function readBytes(
  request: IncomingMessage,
  { clock, limits: { bodyBytesMax, bodyIdleMs } }: BodyOptions,
): Promise<Buffer> {
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
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    const at = jsonFaultAt(text);
    const where = `${lineAndColumn(text, at)} (position ${at})`;
    const what =
      at >= text.length
        ? `The body ends too early to be JSON, at ${where}.`
        : `The body is not JSON: it goes wrong at ${where}.`;
    throw badInput('', what);
  }
  if (mayBeDeep(text, DEPTH_MAX)) checkDepth(value, DEPTH_MAX);
  return value;
}

/** As deep as a signal or a result may be. What is deeper cannot be written again by the platform. */
const DEPTH_MAX = 1_000;

function decoded(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw badInput('', 'The body is not UTF-8.');
  }
}

function tooLarge(bytesMax: number): MillraceError {
  return new MillraceError({
    code: 'too_large',
    what: `The body has more than ${bytesMax} bytes.`,
    todo: 'Send less at a time; keep large data elsewhere and name its place.',
  });
}

function tooSlow(ms: number): HttpRefusal {
  return new HttpRefusal('request_timeout', {
    what: `Nothing more of the body came for ${ms} ms.`,
    todo: 'Send the request again.',
  });
}

function cutOff(): HttpRefusal {
  return new HttpRefusal('bad_request', { what: 'The connection ended within the body.' });
}
