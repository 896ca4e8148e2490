/**
 * Lossless parser for the JSON that DuckDB writes: a number stays text, because virtual column ids and 64-bit
 * constants do not fit into a JavaScript number. `NaN` and `Infinity` are accepted, since DuckDB writes them.
 */
import { Undistributable } from './undistributable.ts';

export type Json = null | boolean | string | NumberText | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly fields: ReadonlyMap<string, Json>;
}
export interface NumberText {
  readonly number: string;
}

/** Deeper plans are refused before they exhaust the stack. */
const MAX_DEPTH = 2000;
const NUMBER = /-?(?:(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|Infinity|NaN)/y;
const STRING = /"[^"\\]*(?:\\.[^"\\]*)*"/sy;
/** Without escapes: nearly all of them. Control characters must be escaped in JSON. */
const PLAIN_STRING = /"[^"\\\p{Cc}]*"/uy;
const WORDS = [
  ['true', true],
  ['false', false],
  ['null', null],
] as const;
const SPACE = 0x20;
const LETTER_A = 0x61;

export function parseJson(text: string): Json {
  const reader = new JsonReader(text);
  return reader.whole();
}

class JsonReader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  whole(): Json {
    const value = this.#value(0);
    this.#skip();
    if (this.#at < this.#text.length) throw broken();
    return value;
  }

  #value(depth: number): Json {
    if (depth > MAX_DEPTH) throw new Undistributable('it is nested too deeply');
    this.#skip();
    const first = this.#text[this.#at];
    if (first === '{') return this.#object(depth);
    if (first === '[') return this.#array(depth);
    if (first === '"') return this.#string();
    if (this.#text.charCodeAt(this.#at) >= LETTER_A) {
      for (const [word, value] of WORDS) {
        if (!this.#text.startsWith(word, this.#at)) continue;
        this.#at += word.length;
        return value;
      }
    }
    return { number: this.#match(NUMBER) };
  }

  #object(depth: number): Json {
    const fields = new Map<string, Json>();
    this.#at++;
    if (this.#takes('}')) return { fields };
    do {
      this.#skip();
      const key = this.#string();
      if (!this.#takes(':')) throw broken();
      fields.set(key, this.#value(depth + 1));
    } while (this.#takes(','));
    if (!this.#takes('}')) throw broken();
    return { fields };
  }

  #array(depth: number): Json {
    const items: Json[] = [];
    this.#at++;
    if (this.#takes(']')) return items;
    do items.push(this.#value(depth + 1));
    while (this.#takes(','));
    if (!this.#takes(']')) throw broken();
    return items;
  }

  #string(): string {
    PLAIN_STRING.lastIndex = this.#at;
    if (PLAIN_STRING.test(this.#text)) {
      const from = this.#at + 1;
      this.#at = PLAIN_STRING.lastIndex;
      return this.#text.slice(from, this.#at - 1);
    }
    const found = this.#match(STRING);
    try {
      return String(JSON.parse(found));
    } catch {
      throw broken();
    }
  }

  #takes(sign: string): boolean {
    this.#skip();
    if (this.#text[this.#at] !== sign) return false;
    this.#at++;
    return true;
  }

  #skip(): void {
    while (isSpace(this.#text.charCodeAt(this.#at))) this.#at += 1;
  }

  #match(pattern: RegExp): string {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text);
    if (found === null) throw broken();
    this.#at = pattern.lastIndex;
    return found[0];
  }
}

/** At the end of the text the code is NaN. */
function isSpace(code: number): boolean {
  return code === SPACE || (code >= 0x09 && code <= 0x0d);
}

/** DuckDB truncates the text at some constants (BIT, BIGNUM). */
function broken(): Undistributable {
  return new Undistributable('it has a constant that DuckDB cannot write into a plan');
}
