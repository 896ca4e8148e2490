/**
 * The rows of a result as they come: `{"columns": [...], "rows": [[...], ...]}` of any length is read
 * piece by piece, and what is whole is handed on. No more than one piece and one row is kept.
 */
import { type Json, MillraceError } from '../../scheduler/core/index.ts';

export interface ResultColumn {
  readonly name: string;
  /** As DuckDB writes it: `DECIMAL(12,2)`, `BIGINT[]`. */
  readonly type: string;
}

/** Values in the order of the columns. */
export type JsonRow = readonly Json[];

export interface RowBatch {
  readonly columns: readonly ResultColumn[];
  readonly rows: readonly JsonRow[];
}

/** The first batch comes with the columns, and may have no rows. */
export async function* readRows(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<RowBatch, void> {
  const reader = new RowReader();
  for await (const piece of pieces) {
    const batch = reader.push(piece);
    if (batch !== null) yield batch;
  }
  reader.end();
}

const NEWLINE = 0x0a;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPENING: ReadonlySet<number> = new Set([0x5b, 0x7b]);
const CLOSING: ReadonlySet<number> = new Set([0x5d, 0x7d]);

class RowReader {
  #columns: readonly ResultColumn[] | null = null;
  /** What has come and belongs to no whole row yet. */
  #kept: Buffer[] = [];
  /** Not for what is read line by line. */
  readonly #scanner = new Scanner();
  #hasLines = true;
  #isOver = false;

  push(piece: Uint8Array): RowBatch | null {
    const bytes = Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength);
    if (this.#isOver) return null;
    if (this.#columns !== null) return this.#rows(this.#columns, bytes);
    const all = Buffer.concat([...this.#kept, bytes]);
    const start = rowsStart(all);
    if (start === -1) {
      this.#kept = [all];
      return null;
    }
    const { columns } = parsed(`${all.toString('utf8', 0, start)}]}`) as unknown as RowBatch;
    if (!Array.isArray(columns)) throw notRows();
    this.#columns = columns;
    this.#kept = [];
    return this.#rows(columns, all.subarray(start)) ?? { columns, rows: [] };
  }

  end(): void {
    if (!this.#isOver) throw notRows();
  }

  #rows(columns: readonly ResultColumn[], bytes: Buffer): RowBatch | null {
    if (this.#hasLines) {
      const rows = this.#lines(bytes);
      if (rows !== null) return { columns, rows };
      this.#hasLines = false;
      return this.#scanned(columns, Buffer.concat([...this.#kept.splice(0), bytes]));
    }
    return this.#scanned(columns, bytes);
  }

  /**
   * Our servers end each row with its line, and the texts in it have no line breaks. Null for what is written in another way,
   * and for the end of the list: up to a line break within a row, or behind the list, the brackets do not match.
   */
  #lines(bytes: Buffer): readonly JsonRow[] | null {
    const end = bytes.lastIndexOf(NEWLINE);
    if (end === -1) return null;
    const rows = rowsOf(Buffer.concat([...this.#kept, bytes.subarray(0, end)]).toString('utf8'));
    if (rows !== null) this.#kept = [bytes.subarray(end + 1)];
    return rows;
  }

  #scanned(columns: readonly ResultColumn[], bytes: Buffer): RowBatch | null {
    const { wholeUntil, isOver } = this.#scanner.scan(bytes);
    this.#isOver = isOver;
    if (wholeUntil === 0) {
      this.#kept.push(bytes);
      return null;
    }
    const text = Buffer.concat([...this.#kept, bytes.subarray(0, wholeUntil)]);
    this.#kept = [bytes.subarray(wholeUntil)];
    // All batches but the first begin with the comma that follows a row.
    const list = text.toString('utf8').replace(/^\s*,/, '');
    return { columns, rows: parsed(`[${list}]`) as readonly JsonRow[] };
  }
}

/** Follows brackets and texts through the list of rows. */
class Scanner {
  #depth = 0;
  #isText = false;
  #isEscaped = false;

  /** Outside of all but the first bracket, as when the whole answer is scanned. */
  get isKeyOfWhole(): boolean {
    return this.#depth === 1 && !this.#isText;
  }

  /** Up to where the rows in these bytes are whole, and whether the list ends in them. */
  scan(bytes: Buffer): { readonly wholeUntil: number; readonly isOver: boolean } {
    let depth = this.#depth;
    let isText = this.#isText;
    let isEscaped = this.#isEscaped;
    let wholeUntil = 0;
    for (let at = 0; at < bytes.length; at += 1) {
      const byte = bytes[at] as number;
      if (isEscaped) isEscaped = false;
      else if (byte === QUOTE) isText = !isText;
      else if (isText) isEscaped = byte === BACKSLASH;
      else if (OPENING.has(byte)) depth += 1;
      else if (CLOSING.has(byte)) {
        depth -= 1;
        if (depth < 0) return { wholeUntil, isOver: true };
        if (depth === 0) wholeUntil = at + 1;
      }
    }
    this.#depth = depth;
    this.#isText = isText;
    this.#isEscaped = isEscaped;
    return { wholeUntil, isOver: false };
  }
}

/** Behind the bracket that opens the rows; -1 while that has not come. Names of columns may hold anything. */
function rowsStart(bytes: Buffer): number {
  const scanner = new Scanner();
  let from = 0;
  for (;;) {
    const key = bytes.indexOf('"rows"', from);
    if (key === -1) return -1;
    const { isOver } = scanner.scan(bytes.subarray(from, key));
    if (isOver) throw notRows();
    const bracket = bytes.indexOf('[', key);
    if (bracket === -1) return -1;
    const between = bytes.toString('utf8', key + '"rows"'.length, bracket).trim();
    if (scanner.isKeyOfWhole && between === ':') return bracket + 1;
    scanner.scan(bytes.subarray(key, key + '"rows"'.length));
    from = key + '"rows"'.length;
  }
}

/** Null if the lines are not whole rows, each but for the last one of all with a comma. */
function rowsOf(lines: string): readonly JsonRow[] | null {
  const end = lines.trimEnd();
  try {
    return JSON.parse(`[${end.endsWith(',') ? end.slice(0, -1) : end}]`) as readonly JsonRow[];
  } catch {
    return null;
  }
}

function parsed(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    throw notRows();
  }
}

function notRows(): MillraceError {
  return new MillraceError({
    code: 'incompatible',
    what: 'The response of the server is not a valid query result.',
    todo: 'Check whether a proxy in between changes responses.',
  });
}
