/**
 * Rows as COPY reads them in its binary form, which costs PostgreSQL less than half of what arrays cost that become rows. Rows
 * of one fold are much alike: each begins as a copy of the one before, and only what differs is written into it.
 */
import { badRow } from '../row-checks.ts';

type Value = string | number | readonly string[] | null;

/** Times are milliseconds since 1970. */
type CopyType =
  | 'smallint'
  | 'integer'
  | 'bigint'
  | 'double precision'
  | 'timestamptz'
  | 'text'
  | 'text[]';

export interface CopyColumn<Row> {
  readonly name: string;
  readonly type: CopyType;
  readonly of: (row: Row) => Value;
}

/** What is copied: the statement, and what is sent after it. */
export interface Copy {
  readonly statement: string;
  readonly body: Uint8Array;
}

/** Columns that are null in all rows are left out. `rows`: at least one. */
export function copyOf<Row>(
  table: string,
  columns: readonly CopyColumn<Row>[],
  rows: readonly Row[],
): Copy {
  let sent = columns.filter(({ of }) => rows.some((row) => of(row) !== null));
  // Every row has something, or it would not be there.
  if (sent.length === 0) sent = columns.slice(0, 1);
  const names = sent.map(({ name }) => name).join(', ');
  return {
    statement: `copy ${table} (${names}) from stdin (format binary)`,
    body: new CopyWriter(sent).write(rows),
  };
}

const SIGNATURE = [80, 71, 67, 79, 80, 89, 10, 255, 13, 10, 0];
/** Flags and the length of an extension: there are none. */
const HEADER_BYTES = SIGNATURE.length + 8;
const FIRST_BYTES = 64 * 1024;
const NULL_LENGTH = -1;
/** Of a length or a count of columns. */
const [LENGTH_BYTES, COUNT_BYTES] = [4, 2];
/** PostgreSQL counts microseconds from the year 2000. */
const EPOCH_MS = 946_684_800_000;
const TEXT_OID = 25;
const TWO_32 = 2 ** 32;

const FIXED_BYTES = {
  smallint: 2,
  integer: 4,
  bigint: 8,
  'double precision': 8,
  timestamptz: 8,
} as const;

class CopyWriter<Row> {
  readonly #columns: readonly CopyColumn<Row>[];
  /** Of the row before: its values, and where each begins and how long it is, within the row. */
  readonly #values: Value[];
  readonly #starts: Int32Array;
  readonly #lengths: Int32Array;
  #buffer: Buffer = Buffer.allocUnsafe(FIRST_BYTES);
  #at = HEADER_BYTES;

  constructor(columns: readonly CopyColumn<Row>[]) {
    this.#columns = columns;
    this.#values = columns.map(() => null);
    this.#starts = new Int32Array(columns.length);
    this.#lengths = new Int32Array(columns.length);
  }

  write(rows: readonly Row[]): Uint8Array {
    this.#buffer.fill(0, 0, HEADER_BYTES).set(SIGNATURE);
    let before = 0;
    for (const row of rows) {
      const length = before === 0 ? 0 : this.#at - before;
      const from = this.#at;
      if (!this.#writeLike(row, before, length)) this.#writeWhole(from);
      before = from;
    }
    this.#room(COUNT_BYTES);
    this.#at = this.#buffer.writeInt16BE(-1, this.#at);
    return this.#buffer.subarray(0, this.#at);
  }

  /** False when a value has another length than the one before; all values are known then. */
  #writeLike(row: Row, before: number, length: number): boolean {
    this.#room(length);
    const at = this.#at;
    this.#buffer.copyWithin(at, before, before + length);
    let fits = length > 0;
    for (let place = 0; place < this.#columns.length; place += 1) {
      const value = this.#columns[place]?.of(row) ?? null;
      const last = this.#values[place] ?? null;
      if (value === last) continue;
      this.#values[place] = value;
      fits &&= last !== null && value !== null && this.#replace(place, at, value);
    }
    if (fits) this.#at = at + length;
    return fits;
  }

  #replace(place: number, at: number, value: string | number | readonly string[]): boolean {
    const start = at + (this.#starts[place] ?? 0);
    if (typeof value === 'number') {
      writeNumber(this.#buffer, start, this.#typeAt(place), value);
      return true;
    }
    if (typeof value !== 'string' || value.length !== this.#lengths[place]) return false;
    return writeAscii(this.#buffer, start, value);
  }

  #writeWhole(from: number): void {
    this.#at = from;
    this.#room(COUNT_BYTES);
    this.#at = this.#buffer.writeInt16BE(this.#columns.length, this.#at);
    for (let place = 0; place < this.#columns.length; place += 1) {
      const value = this.#values[place] ?? null;
      const { name } = this.#columns[place] as CopyColumn<Row>;
      const lengthAt = this.#at;
      this.#room(LENGTH_BYTES + bytesMax(value));
      this.#at += LENGTH_BYTES;
      this.#starts[place] = this.#at - from;
      if (value !== null) this.#append(place, name, value);
      const length = this.#at - lengthAt - LENGTH_BYTES;
      this.#lengths[place] = length;
      this.#buffer.writeInt32BE(value === null ? NULL_LENGTH : length, lengthAt);
    }
  }

  #append(place: number, name: string, value: string | number | readonly string[]): void {
    if (typeof value === 'number') {
      this.#at += writeNumber(this.#buffer, this.#at, this.#typeAt(place), value);
    } else if (typeof value === 'string') {
      this.#at += writeText(this.#buffer, this.#at, name, value);
    } else this.#appendList(name, value);
  }

  /** Dimensions, whether there are nulls, what the elements are; of a dimension its length and its first index. */
  #appendList(name: string, values: readonly string[]): void {
    const hasItems = values.length > 0;
    for (const number of [hasItems ? 1 : 0, 0, TEXT_OID, ...(hasItems ? [values.length, 1] : [])]) {
      this.#at = this.#buffer.writeInt32BE(number, this.#at);
    }
    for (const value of values) {
      const length = writeText(this.#buffer, this.#at + LENGTH_BYTES, name, value);
      this.#at = this.#buffer.writeInt32BE(length, this.#at) + length;
    }
  }

  #typeAt(place: number): CopyType {
    return this.#columns[place]?.type ?? 'text';
  }

  #room(bytes: number): void {
    const needed = this.#at + bytes;
    if (needed <= this.#buffer.length) return;
    const larger = Buffer.allocUnsafe(Math.max(needed, this.#buffer.length * 2));
    this.#buffer.copy(larger, 0, 0, this.#at);
    this.#buffer = larger;
  }
}

/** No character takes more bytes than this. */
const BYTES_A_CHARACTER = 3;
const LIST_BYTES = 20;

function bytesMax(value: Value): number {
  if (value === null || typeof value === 'number') return FIXED_BYTES.bigint;
  if (typeof value === 'string') return value.length * BYTES_A_CHARACTER;
  return value.reduce((sum, item) => sum + LENGTH_BYTES + bytesMax(item), LIST_BYTES);
}

function writeNumber(buffer: Buffer, at: number, type: CopyType, value: number): number {
  switch (type) {
    case 'smallint':
      buffer.writeInt16BE(value, at);
      return FIXED_BYTES[type];
    case 'integer':
      buffer.writeInt32BE(value, at);
      return FIXED_BYTES[type];
    case 'bigint':
      writeBigint(buffer, at, value);
      return FIXED_BYTES[type];
    case 'timestamptz':
      writeTime(buffer, at, value);
      return FIXED_BYTES[type];
    case 'double precision':
      buffer.writeDoubleBE(value, at);
      return FIXED_BYTES[type];
    case 'text':
    case 'text[]':
      throw badRow('a row of a copy', `the text is ${value}`);
  }
}

/** A safe whole number. */
function writeBigint(buffer: Buffer, at: number, value: number): void {
  const high = Math.floor(value / TWO_32);
  buffer.writeInt32BE(high, at);
  buffer.writeUInt32BE(value - high * TWO_32, at + 4);
}

function writeTime(buffer: Buffer, at: number, ms: number): void {
  const micros = (ms - EPOCH_MS) * 1_000;
  if (Number.isSafeInteger(micros)) writeBigint(buffer, at, micros);
  else buffer.writeBigInt64BE((BigInt(ms) - BigInt(EPOCH_MS)) * 1_000n, at);
}

/** False, and perhaps half written, when it has other characters. */
function writeAscii(buffer: Buffer, at: number, text: string): boolean {
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (code > 127) return false;
    buffer[at + index] = code;
  }
  return true;
}

/** UTF-8 has no half surrogate pairs: Node.js would write U+FFFD in their place and say nothing. */
function writeText(buffer: Buffer, at: number, column: string, text: string): number {
  if (text.length <= SHORT && writeAscii(buffer, at, text)) return text.length;
  if (!(text as string & { isWellFormed(): boolean }).isWellFormed()) {
    throw badRow(`a value of ${column}`, 'it contains an unpaired surrogate');
  }
  return buffer.write(text, at, 'utf8');
}

/** Below this a loop is quicker than a call. */
const SHORT = 64;
