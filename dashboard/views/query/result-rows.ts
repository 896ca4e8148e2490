/** Rows of a result, as far as a page can show them. Numbers that do not fit into one of JavaScript come as text. */
import type { Json } from '../../../src/scheduler/core/index.ts';
import { api, request } from '../../api/call.ts';

export interface ResultRows {
  readonly columns: readonly { readonly name: string; readonly type: string }[];
  readonly rows: readonly (readonly Json[])[];
  /** Whether there are more than were read. */
  readonly isCut: boolean;
}

const BYTES_MAX: number = 24 * 1024 * 1024;

/** The answer has a head and then one row a line; what is beyond the limit is not read. */
export async function readRows(
  id: string,
  rowsMax: number,
  signal: AbortSignal,
): Promise<ResultRows> {
  const own = new AbortController();
  signal.addEventListener('abort', () => own.abort());
  const response = await request(api(`queries/${encodeURIComponent(id)}/results?format=json`), {
    signal: own.signal,
  });
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  const decoder = new TextDecoder();
  let [text, size, lines, isWhole] = ['', 0, 0, false];
  for (;;) {
    const { done, value } = await reader.read();
    if (done) {
      isWhole = true;
      break;
    }
    text += decoder.decode(value, { stream: true });
    size += value.length;
    lines += linesIn(value);
    if (size > BYTES_MAX || lines > rowsMax + 2) break;
  }
  if (!isWhole) own.abort();
  return isWhole
    ? cutTo(JSON.parse(text) as ResultRows, rowsMax)
    : cutTo(wholeRowsOf(text), rowsMax, true);
}

const cutTo = (
  { columns, rows }: Pick<ResultRows, 'columns' | 'rows'>,
  rowsMax: number,
  isCut = false,
): ResultRows => ({
  columns,
  rows: rows.slice(0, rowsMax),
  isCut: isCut || rows.length > rowsMax,
});

const LINE_END = 10;

function linesIn(piece: Uint8Array): number {
  let lines = 0;
  for (let at = piece.indexOf(LINE_END); at >= 0; at = piece.indexOf(LINE_END, at + 1)) lines += 1;
  return lines;
}

/** Everything up to the last whole row, closed as JSON. */
function wholeRowsOf(text: string): Pick<ResultRows, 'columns' | 'rows'> {
  const end = text.lastIndexOf('],\n[');
  return JSON.parse(`${text.slice(0, end)}]]}`) as Pick<ResultRows, 'columns' | 'rows'>;
}
