/** A range of a partition that comes as a plain stream of bytes: what is asked, what is answered before them, and the bytes. */
import { MillraceError } from '../../../scheduler/core/index.ts';
import type { PartitionChunk, PartitionRange } from '../../../scheduler/contract/index.ts';
import {
  BYTES_TYPE,
  CHUNK_HEADER,
  ERROR_BYTES_MAX,
  ERROR_TYPE,
  STREAM_HEADER,
  errorIn,
  headIn,
  pathOf,
} from '../stream-format.ts';
import { LARGE_BYTES } from './byte-connection.ts';
import type { ByteConnection } from './byte-connection.ts';

/** What answers there is not a node that serves streams. */
export class NoStreamsError extends Error {}

export interface StreamCall {
  /** HOST:PORT of the other side. */
  readonly address: string;
  readonly token: string | null;
  readonly range: PartitionRange;
}

export interface StreamAnswer {
  /** What comes, without its bytes. */
  readonly whole: PartitionChunk;
  /** The bytes that are here already; valid until more is read. */
  readonly rest: Buffer;
}

const HEAD_BYTES_MAX = 16_384;
const END_OF_HEAD = '\r\n\r\n';

/** Throws `NoStreamsError`, what the other side has thrown, or what the network says. */
export async function ask(connection: ByteConnection, call: StreamCall): Promise<StreamAnswer> {
  await connection.ready();
  connection.send(requestText(call));
  const { head, rest } = await readHead(connection);
  const headers = headersIn(head);
  const length = Number(headers.get('content-length'));
  if (!Number.isSafeInteger(length) || length < 0) throw new NoStreamsError();
  const type = headers.get('content-type');
  if (type === ERROR_TYPE) throw await readError(connection, rest, length);
  if (type !== BYTES_TYPE) throw new NoStreamsError();
  const whole = headIn(headers.get(CHUNK_HEADER) ?? '');
  if (whole.endOffset - whole.startOffset !== length) throw notAsSaid(call.address);
  return { whole, rest };
}

/** As they come. The connection can be used again when all have been taken. */
export async function* chunksOf(
  connection: ByteConnection,
  { whole, rest }: StreamAnswer,
  address: string,
): AsyncGenerator<PartitionChunk> {
  let offset = whole.startOffset;
  for (let payload: Buffer | null = rest; ;) {
    if (payload === null) throw broken(address);
    const startOffset = offset;
    offset += payload.length;
    if (offset > whole.endOffset) throw notAsSaid(address);
    const isAll = offset === whole.endOffset;
    if (payload.length > 0 || isAll) yield { ...whole, payload, startOffset, endOffset: offset };
    if (isAll) return;
    payload = await connection.read(Math.min(LARGE_BYTES, whole.endOffset - offset));
  }
}

function requestText({ address, token, range }: StreamCall): string {
  const lines = [`GET ${pathOf(range)} HTTP/1.1`, `host: ${address}`, `${STREAM_HEADER}: 1`];
  if (token !== null) lines.push(`authorization: Bearer ${token}`);
  return `${lines.join('\r\n')}${END_OF_HEAD}`;
}

async function readHead(
  connection: ByteConnection,
): Promise<{ readonly head: string; readonly rest: Buffer }> {
  let bytes: Buffer = Buffer.alloc(0);
  for (;;) {
    const more = await connection.read(1);
    if (more === null) throw new NoStreamsError();
    bytes = bytes.length === 0 ? more : Buffer.concat([bytes, more]);
    const end = bytes.indexOf(END_OF_HEAD);
    if (end >= 0 && end < HEAD_BYTES_MAX) {
      const head = bytes.toString('latin1', 0, end);
      return { head, rest: bytes.subarray(end + END_OF_HEAD.length) };
    }
    if (bytes.length >= HEAD_BYTES_MAX) throw new NoStreamsError();
    // What comes next may be put where this is.
    bytes = Buffer.from(bytes);
  }
}

function headersIn(head: string): ReadonlyMap<string, string> {
  const [first = '', ...lines] = head.split('\r\n');
  if (!first.startsWith('HTTP/1.1 ')) throw new NoStreamsError();
  return new Map(
    lines.map((line) => {
      const at = line.indexOf(':');
      return [line.slice(0, at).toLowerCase(), line.slice(at + 1).trim()];
    }),
  );
}

async function readError(
  connection: ByteConnection,
  rest: Buffer,
  length: number,
): Promise<MillraceError> {
  if (length > ERROR_BYTES_MAX) throw new NoStreamsError();
  let bytes = Buffer.from(rest);
  while (bytes.length < length) {
    const more = await connection.read(length - bytes.length);
    if (more === null) throw new NoStreamsError();
    bytes = Buffer.concat([bytes, more]);
  }
  return errorIn(bytes.subarray(0, length));
}

function broken(address: string): MillraceError {
  return new MillraceError({
    code: 'unreachable',
    what: `The connection to ${address} broke before all data had come.`,
  });
}

function notAsSaid(address: string): MillraceError {
  return new MillraceError({
    code: 'invariant',
    what: `The worker at ${address} sent other data than it said.`,
  });
}
