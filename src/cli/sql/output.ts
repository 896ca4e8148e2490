/** The rows of a query, in the place and the format that the user chose. */
import { createWriteStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { extname } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { type JsonRow, type QueryCalls, type ResultFormat, readRows } from '../../client/index.ts';
import type { QueryShape } from '../../scheduler/contract/index.ts';
import type { Reply } from '../command.ts';
import { pathError, requireTarget } from '../local-path.ts';
import { wrongUse } from '../server-call.ts';
import { printable } from '../table.ts';
import { counted, countWords } from '../wording.ts';
import { recordsOf } from './records.ts';
import { gridOf } from './grid.ts';

export const FORMATS = ['table', 'json', 'ndjson', 'csv', 'parquet'] as const;
export type Format = (typeof FORMATS)[number];

export interface Target {
  readonly format: Format;
  /** A file instead of stdout. */
  readonly file: string | null;
  /** A table shows no more than this. */
  readonly rowsMax: number;
  /** A line for each value instead of one for each row. */
  readonly isExpanded?: boolean;
}

export interface TargetFlags {
  readonly format?: string;
  readonly output?: string;
  readonly json?: true;
}

/** Before anything runs, so that output that cannot be written is refused early. */
export async function targetOf(
  { format, output, json }: TargetFlags,
  rowsMax: number,
  isPage: boolean,
): Promise<Target> {
  const known = FORMATS.find((each) => each === format);
  if (format !== undefined && known === undefined) {
    throw wrongUse(`'${format}' is not a valid format.`, `Use ${FORMATS.join(', ')}.`);
  }
  const byFlag = known ?? (json === true && output === undefined ? 'json' : undefined);
  const chosen = byFlag ?? (output === undefined ? 'table' : formatOf(output));
  if (output !== undefined) await requireTarget(output);
  else if (chosen === 'parquet' && isPage) {
    throw wrongUse('Parquet output cannot be written to a terminal.', 'Give a file with --output.');
  }
  return { format: chosen, file: output ?? null, rowsMax };
}

/** A table shows the first rows only, so a file never gets one without a warning. */
function formatOf(file: string): Format {
  const ending = extname(file).toLowerCase();
  const format = ending === '.jsonl' ? 'ndjson' : FORMATS.find((each) => ending === `.${each}`);
  if (format !== undefined && format !== 'table') return format;
  const endings = '.json, .ndjson, .csv or .parquet';
  throw wrongUse(
    `The format cannot be derived from the file name ${file}.`,
    `Use the extension ${endings}, or set --format.`,
  );
}

type Calls = Pick<QueryCalls, 'results'>;

export interface Printing {
  readonly calls: Calls;
  readonly query: QueryShape;
  readonly target: Target;
  readonly reply: Reply;
  readonly signal: AbortSignal;
}

/** Returns a summary of what was printed, such as `3 rows`. */
export async function printRows(printing: Printing): Promise<string> {
  const { calls, query, target, reply, signal } = printing;
  const { id } = query;
  const words = counted(rowsIn(query), 'row').replace(/^\d+/, (count) => countWords(Number(count)));
  if (target.format === 'table') return printTable(printing, words);
  const pieces = calls.results(id, target.format, { signal });
  if (target.file !== null) {
    await writeFileOf(target.file, pieces);
    return `${words} to ${target.file}`;
  }
  await writeOut(pieces, reply, target.format);
  return words;
}

async function writeOut(
  pieces: AsyncIterable<Uint8Array>,
  reply: Reply,
  format: ResultFormat,
): Promise<void> {
  const NEWLINE = 0x0a;
  let last = NEWLINE;
  // In a terminal values must not move its cursor; a file or a program gets them as they are.
  const shown = reply.page === null || format === 'parquet' ? pieces : printablePieces(pieces);
  for await (const piece of shown) {
    await reply.write(piece);
    last = piece.at(-1) ?? last;
  }
  // A prompt, or another answer, begins on a line of its own.
  if (format !== 'parquet' && last !== NEWLINE) await reply.write(Buffer.from('\n'));
}

async function* printablePieces(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const decoder = new TextDecoder();
  for await (const piece of pieces) {
    yield Buffer.from(printable(decoder.decode(piece, { stream: true })));
  }
}

async function writeFileOf(file: string, pieces: AsyncIterable<Uint8Array>): Promise<void> {
  try {
    await pipeline(pieces, createWriteStream(file));
  } catch (error) {
    // Half of the rows must not be taken for all of them.
    await rm(file, { force: true });
    throw pathError(error, `${file} cannot be written`);
  }
}

async function printTable(printing: Printing, words: string): Promise<string> {
  const { query, target, reply } = printing;
  const { rows, hasMore } = await firstRows(printing, target.rowsMax);
  if (isExplanation(query)) {
    const text = Buffer.from(printable(rows.map(([, plan]) => plan as string).join('\n')));
    if (target.file === null) await reply.write(text);
    else await writeFileOf(target.file, oneOf(text));
    return 'Explained';
  }
  const { page } = reply;
  const drawn = target.isExpanded === true ? recordsOf : gridOf;
  const { lines, hidden } = drawn(query.columns, rows, {
    columns: target.file === null ? (page?.columns ?? null) : null,
    isUnicode: page?.isUnicode ?? true,
    hasColour: target.file === null && (page?.hasColour ?? false),
  });
  const text = lines.map((line) => `${line}\n`).join('');
  if (target.file === null) await reply.write(Buffer.from(text));
  else await writeFileOf(target.file, oneOf(Buffer.from(text)));
  if (hasMore) {
    reply.note(
      `Only the first ${countWords(rows.length)} rows are shown. Use --rows for more, or --format csv for all.`,
    );
  }
  if (hidden > 0) {
    const instead = target.isExpanded === undefined ? '--format csv' : '\\x';
    reply.note(
      `${counted(hidden, 'column')} did not fit. Use a wider terminal, or ${instead} for all columns.`,
    );
  }
  return words;
}

/** The rows of EXPLAIN: a text of several lines, which a cell of a table cannot show. */
function isExplanation({ columns: [key, value, ...more] }: QueryShape): boolean {
  return key?.name === 'explain_key' && value?.name === 'explain_value' && more.length === 0;
}

async function firstRows(
  { calls, query, signal }: Printing,
  max: number,
): Promise<{ readonly rows: readonly JsonRow[]; readonly hasMore: boolean }> {
  const rows: JsonRow[] = [];
  for await (const batch of readRows(calls.results(query.id, 'json', { signal }))) {
    for (const row of batch.rows) {
      if (rows.length === max) return { rows, hasMore: true };
      rows.push(row);
    }
  }
  return { rows, hasMore: false };
}

async function* oneOf(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

/** The rows of the last stage; an explanation is one row. */
function rowsIn(query: QueryShape): number {
  return isExplanation(query) ? 1 : (query.stages.at(-1)?.rowsOut ?? 0);
}
