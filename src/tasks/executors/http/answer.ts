/** The HTTP response: its body, read within a limit, decompressed and parsed. */
import type { IncomingMessage } from 'node:http';
import { pipeline } from 'node:stream';
import { TextDecoder } from 'node:util';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import type { Json } from '../../../scheduler/core/index.ts';
import { TaskFailure } from '../failure.ts';

export interface HttpResult {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  /** JSON where the content type says so, else text; null when there is none. */
  readonly body: Json;
}

/** The body up to a limit; null when there is more of it. The limit holds for what is unpacked. */
export async function bodyOf(response: IncomingMessage, maxBytes: number): Promise<Buffer | null> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of unpacked(response) as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > maxBytes) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** The beginning of a body, for a message. Whatever is wrong with it does not matter there. */
export async function beginningOf(response: IncomingMessage, maxBytes: number): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of unpacked(response) as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes >= maxBytes) break;
    }
  } catch {
    // What came before it broke is reported.
  }
  return decoderOf(response).decode(Buffer.concat(chunks).subarray(0, maxBytes));
}

export function resultOf(response: IncomingMessage, body: Buffer): HttpResult {
  const headers = Object.entries(response.headers).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value] as const],
  );
  return {
    status: response.statusCode ?? 0,
    headers: Object.fromEntries(headers),
    body: valueOf(response, body),
  };
}

function valueOf(response: IncomingMessage, body: Buffer): Json {
  if (body.length === 0) return isJson(response) ? null : '';
  const text = decoderOf(response).decode(body);
  if (!isJson(response)) return text;
  try {
    return JSON.parse(text) as Json;
  } catch {
    throw new TaskFailure(
      'bad_response',
      'fatal',
      'The response has a JSON content type but is not valid JSON.',
    );
  }
}

function isJson({ headers }: IncomingMessage): boolean {
  const [type = ''] = (headers['content-type'] ?? '').split(';', 1);
  return /^(application|text)\/([^;]*\+)?json$/i.test(type.trim());
}

function decoderOf({ headers }: IncomingMessage): TextDecoder {
  const [, charset] = /charset="?([^\s;"]+)/i.exec(headers['content-type'] ?? '') ?? [];
  try {
    return new TextDecoder(charset);
  } catch {
    return new TextDecoder();
  }
}

function unpacked(response: IncomingMessage): AsyncIterable<unknown> {
  const coding = (response.headers['content-encoding'] ?? '').trim().toLowerCase();
  const unpack = unpackerOf(coding);
  // The caller reads the last stream of the pipeline, where every error arrives.
  return unpack === null ? response : pipeline(response, unpack, () => {});
}

function unpackerOf(coding: string): ReturnType<typeof createGunzip> | null {
  switch (coding) {
    case '':
    case 'identity':
      return null;
    case 'gzip':
    case 'x-gzip':
      return createGunzip();
    case 'deflate':
      return createInflate();
    case 'br':
      return createBrotliDecompress();
    default:
      throw new TaskFailure(
        'bad_response',
        'fatal',
        `The response has the unsupported encoding ${coding}.`,
      );
  }
}
