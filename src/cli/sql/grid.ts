/** Rows as a table for people: aligned, framed, and no wider than what it is read on. */
import type { JsonRow, ResultColumn } from '../../client/index.ts';
import type { Json } from '../../scheduler/core/index.ts';
import { plain } from '../table.ts';
import { fitted, padded, textWidth } from '../view/text-width.ts';

export interface GridOptions {
  /** Null where the width is unknown: then nothing is cut. */
  readonly columns: number | null;
  readonly isUnicode: boolean;
  readonly hasColour: boolean;
}

export interface Grid {
  readonly lines: readonly string[];
  /** Columns that there was no room for. */
  readonly hidden: number;
}

interface Marks {
  readonly bar: string;
  readonly dash: string;
  readonly top: readonly [string, string, string];
  readonly middle: readonly [string, string, string];
  readonly bottom: readonly [string, string, string];
  readonly cut: string;
}

const UNICODE: Marks = {
  bar: '│',
  dash: '─',
  top: ['┌', '┬', '┐'],
  middle: ['├', '┼', '┤'],
  bottom: ['└', '┴', '┘'],
  cut: '…',
};
const PLAIN: Marks = {
  bar: '|',
  dash: '-',
  top: ['+', '+', '+'],
  middle: ['+', '+', '+'],
  bottom: ['+', '+', '+'],
  cut: '~',
};

/** A text column is not made narrower than this to make room for others. */
const WIDTH_MIN = 8;
/** On a terminal a value is not shown longer than this, however much room there is. */
const WIDTH_MAX = 60;
/** A frame line between two columns, with a blank on each side of it. */
const GAP = 3;
const NUMBERS = /^(U?(TINY|SMALL|BIG|HUGE)INT|U?INTEGER|FLOAT|DOUBLE|BIGNUM|DECIMAL\(\d+,\d+\))$/;

interface Column {
  /** In a row. */
  readonly place: number;
  readonly head: string;
  readonly type: string;
  readonly isNumber: boolean;
  readonly cells: readonly string[];
  readonly width: number;
}

export function gridOf(
  columns: readonly ResultColumn[],
  rows: readonly JsonRow[],
  options: GridOptions,
): Grid {
  const marks = options.isUnicode ? UNICODE : PLAIN;
  const all = columns.map((column, at) => columnOf(column, rows, at));
  const shown = options.columns === null ? all : narrowed(all, options.columns);
  const dim = (text: string): string => (options.hasColour ? `\u001B[2m${text}\u001B[0m` : text);
  const bold = (text: string): string => (options.hasColour ? `\u001B[1m${text}\u001B[0m` : text);
  const rule = ([left, cross, right]: readonly [string, string, string]): string =>
    dim(left + shown.map(({ width }) => marks.dash.repeat(width + 2)).join(cross) + right);
  const bar = dim(marks.bar);
  const line = (cell: (column: Column) => string): string =>
    `${bar} ${shown.map(cell).join(` ${bar} `)} ${bar}`;
  const fill = ({ width, isNumber }: Column, text: string): string => {
    const cut = fitted(text, width, marks.cut);
    return isNumber ? ' '.repeat(Math.max(0, width - textWidth(cut))) + cut : padded(cut, width);
  };
  const body = rows.map((row, at) =>
    line((column) => {
      const text = fill(column, column.cells[at] ?? '');
      return row[column.place] === null ? dim(text) : text;
    }),
  );
  if (columns.length === 0) return { lines: [], hidden: 0 };
  const lines = [
    rule(marks.top),
    line((column) => bold(fill(column, column.head))),
    line((column) => dim(fill(column, column.type))),
    rule(marks.middle),
    ...body,
    rule(marks.bottom),
  ];
  return { lines, hidden: all.length - shown.length };
}

function columnOf({ name, type }: ResultColumn, rows: readonly JsonRow[], at: number): Column {
  const cells = rows.map((row) => cellText(row[at] ?? null));
  const head = visible(name);
  const shownType = type.toLowerCase();
  const width = [head, shownType, ...cells].reduce(
    (most, text) => Math.max(most, textWidth(text)),
    1,
  );
  return { place: at, head, type: shownType, isNumber: NUMBERS.test(type), cells, width };
}

export function cellText(value: Json): string {
  if (value === null) return 'NULL';
  return visible(typeof value === 'string' ? value : JSON.stringify(value));
}

/** Characters that move a cursor or end a line are shown, not sent. */
export function visible(text: string): string {
  return plain(text.replaceAll('\n', '\\n').replaceAll('\r', '\\r').replaceAll('\t', '\\t'));
}

/** Long texts first; then columns from the right, for which there is no room at all. */
function narrowed(all: readonly Column[], columns: number): Column[] {
  const capped = all.map((column) => withWidth(column, Math.min(column.width, WIDTH_MAX)));
  const room = columns - 1;
  const used = (list: readonly Column[]): number =>
    list.reduce((sum, { width }) => sum + width + GAP, 1);
  const least = (column: Column): Column =>
    withWidth(column, column.isNumber ? column.width : Math.min(column.width, WIDTH_MIN));
  let count = capped.length;
  while (count > 1 && used(capped.slice(0, count).map(least)) > room) count -= 1;
  const shown = capped.slice(0, count);
  for (let excess = used(shown) - room; excess > 0; excess = used(shown) - room) {
    const widest = widestText(shown);
    const column = widest === -1 ? undefined : shown[widest];
    if (column === undefined) break;
    const others = shown.filter((each, at) => at !== widest && !each.isNumber);
    // As far down as the second longest one, then both go on.
    const next = Math.max(WIDTH_MIN, ...others.map(({ width }) => width));
    const target = Math.max(WIDTH_MIN, column.width - excess, Math.min(next, column.width - 1));
    shown[widest] = withWidth(column, target);
  }
  return shown;
}

function widestText(columns: readonly Column[]): number {
  let found = -1;
  for (const [at, { isNumber, width }] of columns.entries()) {
    if (isNumber || width <= WIDTH_MIN) continue;
    if (found === -1 || width > (columns[found]?.width ?? 0)) found = at;
  }
  return found;
}

function withWidth(column: Column, width: number): Column {
  return { ...column, width };
}
