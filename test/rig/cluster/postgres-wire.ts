/** As much of PostgreSQL's protocol (version 3) as it takes to stand between a client and a server. */

export interface Message {
  /** One letter; empty for the first message of a client, which has none. */
  readonly type: string;
  readonly body: Buffer;
  /** As it went over the wire. */
  readonly raw: Buffer;
}

/** Cuts a stream into messages. */
export class MessageReader {
  #rest: Buffer = Buffer.alloc(0);
  #typed: boolean;

  /** A client's stream begins with messages that have no type, a server's does not. */
  constructor(of: 'client' | 'server') {
    this.#typed = of === 'server';
  }

  push(chunk: Buffer): Message[] {
    this.#rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    const messages: Message[] = [];
    for (;;) {
      const head = this.#typed ? 1 : 0;
      if (this.#rest.length < head + 4) return messages;
      const end = head + this.#rest.readInt32BE(head);
      if (this.#rest.length < end) return messages;
      const raw = this.#rest.subarray(0, end);
      const type = this.#typed ? raw.toString('latin1', 0, 1) : '';
      this.#rest = this.#rest.subarray(end);
      messages.push({ type, body: raw.subarray(head + 4), raw });
      if (type === '' && raw.readInt32BE(4) === VERSION_3) this.#typed = true;
    }
  }
}

export const VERSION_3 = 196_608;

/** What else a client may say first. */
export const CANCEL_REQUEST = 80_877_102;

export function message(type: string, ...parts: readonly (Buffer | string)[]): Buffer {
  const body = Buffer.concat(parts.map((part) => (typeof part === 'string' ? text(part) : part)));
  const head = Buffer.alloc(type.length + 4);
  head.write(type, 'latin1');
  head.writeInt32BE(body.length + 4, type.length);
  return Buffer.concat([head, body]);
}

/** A text as the protocol ends it. */
export function text(value: string): Buffer {
  return Buffer.from(`${value}\0`);
}

export function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
}

/** The first `count` texts of a body, and what follows them. */
export function textsOf(body: Buffer, count: number): { texts: string[]; rest: Buffer } {
  const texts: string[] = [];
  let at = 0;
  while (texts.length < count) {
    const end = body.indexOf(0, at);
    if (end === -1) break;
    texts.push(body.toString('utf8', at, end));
    at = end + 1;
  }
  return { texts, rest: body.subarray(at) };
}

/** Names and values of a start-up message. */
export function startupParameters(body: Buffer): Map<string, string> {
  const parameters = new Map<string, string>();
  for (let rest = body.subarray(4); rest.length > 1;) {
    const { texts, rest: after } = textsOf(rest, 2);
    const [name, value] = texts;
    if (name === undefined || value === undefined) break;
    parameters.set(name, value);
    rest = after;
  }
  return parameters;
}

export function startupMessage(parameters: Iterable<readonly [string, string]>): Buffer {
  const texts = [...parameters].flatMap(([name, value]) => [text(name), text(value)]);
  return message('', int32(VERSION_3), ...texts, Buffer.from([0]));
}

export function fatal(code: string, what: string): Buffer {
  return message('E', 'SFATAL', 'VFATAL', `C${code}`, `M${what}`, Buffer.from([0]));
}

/** The message for people in an error of the server. */
export function errorText(body: Buffer): string {
  const fields = body.toString('utf8').split('\0');
  return fields.find((field) => field.startsWith('M'))?.slice(1) ?? 'no message';
}
