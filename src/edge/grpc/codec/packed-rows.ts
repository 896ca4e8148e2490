/**
 * Rows of fixed width with their texts behind them, in one piece of bytes: numbers are read in place, and no object is made
 * for a field. A name that many rows share is stored once. What comes from outside is checked as it is read.
 *
 * Layout, little endian: number of rows (4 bytes), where the names begin (4), their number (4), rows, texts in the order in
 * which they are read, names (4 bytes of length each, then the text).
 */
import { isUtf8 } from 'node:buffer';
import { refuse } from './values.ts';

const HEADER_BYTES = 12;
const NAMES_AT = 4;
const NAME_COUNT = 8;
const LENGTH_BYTES = 4;
/** No character takes more bytes than this. */
const BYTES_A_CHARACTER = 3;
/** A guess at the texts of a row; what is wrong is made right when it is written. */
const TEXT_BYTES_A_ROW = 64;
/** More different names than this are a mistake: there are as many terms and executors. */
const NAMES_MAX = 10_000;

export class PackedRows {
  readonly #width: number;
  readonly #names: Map<string, number> = new Map();
  #bytes: Buffer;
  #view: DataView;
  #end: number;
  #count = 0;

  constructor(width: number, capacity: number) {
    this.#width = width;
    this.#end = HEADER_BYTES + width * capacity;
    this.#bytes = Buffer.allocUnsafeSlow(this.#end + TEXT_BYTES_A_ROW * (capacity + 1));
    // Columns that a row does not use must not tell what was in this memory before.
    this.#bytes.fill(0, 0, this.#end);
    this.#view = viewOf(this.#bytes);
  }

  /** Where the columns of the next row begin. */
  next(): number {
    const at = HEADER_BYTES + this.#width * this.#count;
    this.#count += 1;
    return at;
  }

  u32(at: number, value: number): void {
    this.#view.setUint32(at, value, true);
  }

  /** A whole number that a double holds exactly. */
  whole(at: number, value: number, field: string): void {
    if (!Number.isSafeInteger(value)) refuse(field, `${value} is not a whole number.`);
    this.#view.setFloat64(at, value, true);
  }

  /** Its number. */
  name(text: string): number {
    const known = this.#names.get(text);
    if (known !== undefined) return known;
    const no = this.#names.size;
    this.#names.set(text, no);
    return no;
  }

  /** Returns how many bytes it has. */
  text(value: string): number {
    this.#reserve(value.length * BYTES_A_CHARACTER);
    const length = this.#bytes.write(value, this.#end);
    this.#end += length;
    return length;
  }

  raw(value: Uint8Array): number {
    this.#reserve(value.length);
    this.#bytes.set(value, this.#end);
    this.#end += value.length;
    return value.length;
  }

  /** `capacity` rows have been written. */
  finish(): Buffer {
    this.u32(0, this.#count);
    this.u32(NAMES_AT, this.#end);
    this.u32(NAME_COUNT, this.#names.size);
    for (const name of this.#names.keys()) {
      this.#reserve(LENGTH_BYTES);
      const at = this.#end;
      this.#end += LENGTH_BYTES;
      const length = this.text(name);
      this.u32(at, length);
    }
    return this.#bytes.subarray(0, this.#end);
  }

  #reserve(bytes: number): void {
    if (this.#end + bytes <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafeSlow((this.#end + bytes) * 2);
    larger.set(this.#bytes.subarray(0, this.#end));
    this.#bytes = larger;
    this.#view = viewOf(larger);
  }
}

export class ReadRows {
  readonly count: number;
  readonly #field: string;
  readonly #width: number;
  readonly #bytes: Buffer;
  readonly #view: DataView;
  readonly #names: readonly string[];
  /** Of the texts. */
  readonly #limit: number;
  #next: number;

  constructor(bytes: Buffer, width: number, field: string, countMax: number) {
    this.#field = field;
    this.#width = width;
    this.#bytes = bytes;
    this.#view = viewOf(bytes);
    if (bytes.length < HEADER_BYTES) refuse(field, 'It is too short.');
    this.count = this.u32(0);
    if (this.count > countMax) refuse(field, `${this.count} are too many.`);
    this.#limit = this.u32(NAMES_AT);
    this.#next = HEADER_BYTES + width * this.count;
    if (this.#next > this.#limit || this.#limit > bytes.length) refuse(field, 'It is cut off.');
    this.#names = this.#readNames(this.u32(NAME_COUNT));
  }

  /** Where the columns of a row begin. */
  row(no: number): number {
    return HEADER_BYTES + this.#width * no;
  }

  u32(at: number): number {
    return this.#view.getUint32(at, true);
  }

  /** Not negative. */
  whole(at: number, field: string): number {
    const value = this.#view.getFloat64(at, true);
    if (!Number.isSafeInteger(value) || value < 0) {
      refuse(`${this.#field}/${field}`, `${value} is not a whole number, or is too large.`);
    }
    // A negative zero is zero.
    return value + 0;
  }

  name(no: number, field: string): string {
    const name = this.#names[no];
    if (name === undefined || name === '') refuse(`${this.#field}/${field}`, 'It is missing.');
    return name;
  }

  /** The next one, of this many bytes. */
  text(length: number, field: string): string {
    const at = this.#take(length, field);
    const bytes = this.#bytes;
    // Most are short and plain: to look at them first costs less than to have them checked.
    if (isPlain(bytes, at, at + length)) return bytes.toString('latin1', at, at + length);
    const part = bytes.subarray(at, at + length);
    if (!isUtf8(part)) refuse(`${this.#field}/${field}`, 'It is not valid UTF-8.');
    return part.toString('utf8');
  }

  raw(length: number, field: string): Buffer {
    const at = this.#take(length, field);
    return this.#bytes.subarray(at, at + length);
  }

  /** All of it has been read, or it is not what it says. */
  end(): void {
    if (this.#next !== this.#limit) refuse(this.#field, 'It has more texts than its rows say.');
  }

  #take(length: number, field: string): number {
    const at = this.#next;
    if (at + length > this.#limit) refuse(`${this.#field}/${field}`, 'It is cut off.');
    this.#next = at + length;
    return at;
  }

  #readNames(count: number): readonly string[] {
    if (count > NAMES_MAX) refuse(this.#field, `${count} names are too many.`);
    const names: string[] = [];
    let at = this.#limit;
    for (let no = 0; no < count; no += 1) {
      if (at + LENGTH_BYTES > this.#bytes.length) refuse(this.#field, 'It is cut off.');
      const end = at + LENGTH_BYTES + this.u32(at);
      if (end > this.#bytes.length) refuse(this.#field, 'It is cut off.');
      const part = this.#bytes.subarray(at + LENGTH_BYTES, end);
      if (!isUtf8(part)) refuse(this.#field, 'A name is not valid UTF-8.');
      names.push(part.toString('utf8'));
      at = end;
    }
    if (at !== this.#bytes.length) refuse(this.#field, 'It has more bytes than it says.');
    return names;
  }
}

/** Beyond this the loop costs more than the call that it saves. */
const PLAIN_MAX = 128;

function isPlain(bytes: Buffer, from: number, to: number): boolean {
  if (to - from > PLAIN_MAX) return false;
  for (let at = from; at < to; at += 1) if ((bytes[at] as number) > 0x7f) return false;
  return true;
}

function viewOf({ buffer, byteOffset, byteLength }: Buffer): DataView {
  return new DataView(buffer, byteOffset, byteLength);
}
