/**
 * The text format of server-sent events, as in the HTML standard: lines end in LF, CR or both, also across
 * chunks; an event ends with an empty line; a truncated one is dropped.
 */
import { StringDecoder } from 'node:string_decoder';
import { MillraceError } from '../../scheduler/core/index.ts';

export interface SseMessage {
  /** The last id seen so far, in this message or before. */
  readonly id: string | null;
  readonly event: string;
  /** Null for a message without data: browsers drop it, but its id still counts. */
  readonly data: string | null;
}

/** One event holds at most a detail; more than this is not ours. */
const EVENT_CHARS_MAX = 16 * 1024 * 1024;

export class SseParser {
  readonly #decoder: StringDecoder = new StringDecoder('utf8');
  readonly #charsMax: number;
  #isFirst = true;
  /** Parts of a line whose end has not come yet. */
  #line: string[] = [];
  #skipLineFeed = false;
  #chars = 0;
  #id: string | null = null;
  #event = '';
  #data: string[] = [];
  #isEmpty = true;

  constructor(charsMax: number = EVENT_CHARS_MAX) {
    this.#charsMax = charsMax;
  }

  push(chunk: Buffer): SseMessage[] {
    const text = this.#text(chunk);
    const messages: SseMessage[] = [];
    let start = 0;
    for (const { index, 0: mark } of text.matchAll(/\r\n?|\n/g)) {
      const isRest = this.#skipLineFeed && index === 0 && mark === '\n';
      this.#skipLineFeed = mark === '\r' && index === text.length - 1;
      if (!isRest) this.#endLine(text.slice(start, index), messages);
      start = index + mark.length;
    }
    if (start < text.length) {
      this.#skipLineFeed = false;
      this.#count(text.length - start);
      this.#line.push(text.slice(start));
    }
    return messages;
  }

  #text(chunk: Buffer): string {
    const text = this.#decoder.write(chunk);
    if (!this.#isFirst || text === '') return text;
    this.#isFirst = false;
    return text.startsWith('\uFEFF') ? text.slice(1) : text;
  }

  #endLine(end: string, messages: SseMessage[]): void {
    this.#count(end.length);
    const line = this.#line.length === 0 ? end : [...this.#line, end].join('');
    this.#line = [];
    if (line !== '') return this.#field(line);
    if (!this.#isEmpty) {
      const data = this.#data.length === 0 ? null : this.#data.join('\n');
      messages.push({ id: this.#id, event: this.#event || 'message', data });
    }
    this.#event = '';
    this.#data = [];
    this.#isEmpty = true;
    this.#chars = 0;
  }

  #field(line: string): void {
    const colon = line.indexOf(':');
    // A comment is a sign of life and no more; it must not add up over days.
    if (colon === 0) {
      this.#chars -= line.length;
      return;
    }
    const name = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? '' : line.slice(colon + 1).replace(/^ /, '');
    switch (name) {
      case 'id':
        if (value.includes('\0')) return;
        this.#id = value;
        break;
      case 'event':
        this.#event = value;
        break;
      case 'data':
        this.#data.push(value);
        break;
      default:
        return;
    }
    this.#isEmpty = false;
  }

  #count(chars: number): void {
    this.#chars += chars;
    if (this.#chars <= this.#charsMax) return;
    throw new MillraceError({
      code: 'too_large',
      what: `The server sent one event of more than ${this.#charsMax} characters.`,
    });
  }
}
