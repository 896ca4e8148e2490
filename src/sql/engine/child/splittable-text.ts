/** Whether the rows of text files end with their lines, so that tasks can read ranges of their bytes. */
import { quotedText } from '../../plan/index.ts';
import { open } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import type { TableLines } from '../../plan/index.ts';
import {
  type ReaderOption,
  typeMap,
  withOptions,
  withoutOptions,
  writeOptions,
} from '../sql/options.ts';
import { quotedPath } from '../sql/reader.ts';
import type { Connection } from './work.ts';

/** A first line that is longer is not looked at. */
const HEAD_BYTES = 1024 * 1024;
const NEWLINE = 0x0a;

/** What DuckDB finds out from the first line, written out: a part of the file may begin with another one. */
const JSON_LINES: readonly ReaderOption[] = [
  { name: 'format', value: "'newline_delimited'" },
  { name: 'records', value: 'true' },
];

/**
 * Null if one of the files does not begin with a line that is an object. DuckDB goes by the first line too, and then reads
 * the others one by one.
 */
export async function jsonLines(
  files: readonly string[],
  options: readonly ReaderOption[],
): Promise<TableLines | null> {
  let rows = 0;
  for (const path of files) {
    const head = await headOf(path);
    if (head === null || (head.size > 0 && !isObject(head.line))) return null;
    rows += head.rows;
  }
  return { rows, options: writeOptions(withOptions(options, JSON_LINES)), headerBytes: 0 };
}

interface Head {
  readonly size: number;
  readonly line: Buffer;
  /** Estimated. */
  readonly rows: number;
}

/** Null if the first line is too long, or the name of the file says that it is compressed. */
async function headOf(path: string): Promise<Head | null> {
  if (/\.(gz|zst)$/i.test(path)) return null;
  return reading(path, async (file) => {
    const { size } = await file.stat();
    if (size === 0) return { size, line: Buffer.alloc(0), rows: 0 };
    const head = Buffer.alloc(Math.min(HEAD_BYTES, size));
    const { bytesRead } = await file.read(head, 0, head.length, 0);
    const read = head.subarray(0, bytesRead);
    const end = read.indexOf(NEWLINE);
    if (end < 0 && bytesRead < size) return null;
    const lines = read.reduce((count, byte) => count + (byte === NEWLINE ? 1 : 0), 0);
    const rows = Math.max(1, Math.round((lines * size) / bytesRead));
    return { size, line: read.subarray(0, end < 0 ? bytesRead : end), rows };
  });
}

async function reading<T>(path: string, read: (file: FileHandle) => Promise<T>): Promise<T> {
  const file = await open(path, 'r');
  try {
    return await read(file);
  } finally {
    await file.close();
  }
}

/** From its first byte, so that no mark or white space before it has to be understood. */
function isObject(line: Buffer): boolean {
  if (line[0] !== '{'.codePointAt(0)) return false;
  try {
    JSON.parse(line.toString());
    return true;
  } catch {
    return false;
  }
}

/** Files are read once to see that they have no quotes; larger tables are not split. */
const CHECKED_BYTES_MAX = 4 * 2 ** 30;
const BLOCK_BYTES = 4 * 1024 * 1024;
/** A line end inside quotes, or another kind of line end, would be taken for the end of a row. */
const UNSAFE = ['"', '\r', '\0'].map((character) => character.codePointAt(0) as number);
/** With one column, DuckDB reads an empty line as NULL, but not at the end of a file. */
const COLUMNS_MIN = 2;
const OPEN_OPTIONS: ReadonlySet<string> = new Set([
  ...['types', 'header', 'quote', 'escape', 'auto_detect'],
]);

/**
 * Null if rows could span lines, or if the first line is anything but the names of the columns. The other lines are read
 * with everything written out that DuckDB infers from the whole file.
 */
export async function csvLines(
  connection: Connection,
  files: readonly string[],
  columns: readonly { readonly name: string; readonly type: string }[],
  options: readonly ReaderOption[],
): Promise<TableLines | null> {
  if (columns.length < COLUMNS_MIN) return null;
  const [first] = files;
  const delimiter = first === undefined ? null : await plainDelimiter(connection, first);
  if (delimiter === null) return null;
  const header = columns.map(({ name }) => name).join(delimiter);
  const heads: Head[] = [];
  for (const path of files) {
    const head = await headOf(path);
    if (head?.line.toString() !== header) return null;
    heads.push(head);
  }
  const bytes = heads.reduce((sum, { size }) => sum + size, 0);
  if (bytes > CHECKED_BYTES_MAX) return null;
  for (const path of files) if (await reading(path, hasUnsafe)) return null;
  const explicit = [
    ...withoutOptions(options, OPEN_OPTIONS),
    { name: 'columns', value: typeMap(columns) },
    { name: 'auto_detect', value: 'false' },
    { name: 'header', value: 'false' },
    { name: 'quote', value: "''" },
    { name: 'escape', value: "''" },
    { name: 'new_line', value: quotedText('\\n') },
  ];
  return {
    rows: heads.reduce((sum, { rows }) => sum + rows, 0),
    options: writeOptions(explicit),
    headerBytes: Buffer.byteLength(header) + 1,
  };
}

/** Null if the file has comments, skipped lines, no header, or another dialect than the plainest one. */
async function plainDelimiter(connection: Connection, path: string): Promise<string | null> {
  const [found = []] = await connection.texts(
    `SELECT Delimiter, Quote, Escape, NewLineDelimiter, Comment, SkipRows::VARCHAR, HasHeader::VARCHAR
     FROM sniff_csv(${quotedPath(path)})`,
  );
  const [delimiter, quote, escape, newline, comment, skipped, header] = found;
  const isPlain =
    isUnset(quote) &&
    isUnset(escape) &&
    isUnset(comment) &&
    newline === '\\n' &&
    skipped === '0' &&
    header === 'true';
  return isPlain && !isUnset(delimiter) ? String(delimiter) : null;
}

function isUnset(value: string | null | undefined): boolean {
  return value === null || value === undefined || value === '' || value === '(empty)';
}

async function hasUnsafe(file: FileHandle): Promise<boolean> {
  const block = Buffer.alloc(BLOCK_BYTES);
  for (let position = 0; ;) {
    const { bytesRead } = await file.read(block, 0, BLOCK_BYTES, position);
    if (bytesRead === 0) return false;
    const read = block.subarray(0, bytesRead);
    if (UNSAFE.some((byte) => read.includes(byte))) return true;
    position += bytesRead;
  }
}
