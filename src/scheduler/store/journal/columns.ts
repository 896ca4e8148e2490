/**
 * Rows as columns, for a record of the journal. Rows that one commit writes are much alike: most columns have one value, or
 * few that change rarely, numbers that go up by one, ids that begin with the same time. Each of these has a short form.
 */
type Row = Readonly<Record<string, unknown>>;
type Read = (row: Row) => unknown;

type Column =
  /** The same in all rows. */
  | { readonly one: unknown }
  /** Values with how many rows have them: `[value, rows, value, rows]`. */
  | { readonly runs: readonly unknown[] }
  /** Whole numbers: the first one, and what each adds to the one before: `[step, rows, step, rows]`. */
  | { readonly from: number; readonly steps: readonly number[] }
  /** Texts that begin alike: the rest of each, as long as the others, one behind the other. */
  | { readonly start: string; readonly width: number; readonly rest: string }
  /** Texts that end in a whole number, as the ids of a list do. */
  | { readonly before: Column; readonly numbers: Column }
  /** Large numbers: their distances from this one. */
  | { readonly from: number; readonly by: readonly number[] }
  | readonly unknown[];

export interface PackedRows {
  readonly rows: number;
  readonly columns: Readonly<Record<string, Column>>;
}

/** `names`: the fields that are kept. */
export function columnsOf(
  rows: readonly Row[],
  names: readonly string[],
  readers: Readonly<Record<string, Read>>,
): PackedRows {
  const reads = names.map((name) => readers[name] ?? ((row: Row) => row[name]));
  const same = equalRows(rows, reads);
  const columns: Record<string, Column> = {};
  for (const [at, name] of names.entries()) {
    columns[name] = columnOf(rows, reads[at] as Read, same[at] as number);
  }
  return { rows: rows.length, columns };
}

/** Few enough to stay in the processor's cache while one column after the other is looked at: of the hundred thousand tasks of a
 * large job each column would fetch all rows anew. */
const ROWS_AT_ONCE = 64;

/** How many of the first rows are equal, by column. */
function equalRows(rows: readonly Row[], reads: readonly Read[]): number[] {
  const firsts = reads.map((read) => read(rows[0] as Row));
  const same = reads.map(() => 1);
  for (let from = 1; from < rows.length; from += ROWS_AT_ONCE) {
    const to = Math.min(from + ROWS_AT_ONCE, rows.length);
    for (let column = 0; column < reads.length; column += 1) {
      if (same[column] === from)
        same[column] = equalTo(rows, reads[column] as Read, firsts[column], from, to);
    }
  }
  return same;
}

function equalTo(
  rows: readonly Row[],
  read: Read,
  first: unknown,
  from: number,
  to: number,
): number {
  let at = from;
  while (at < to && isSame(read(rows[at] as Row), first)) at += 1;
  return at;
}

/** `same`: so many of the first values are equal. */
function columnOf(rows: readonly Row[], read: Read, same: number): Column {
  // Most columns of most batches: no list is made for them.
  if (same === rows.length) return { one: read(rows[0] as Row) };
  const values = rows.map(read);
  return (
    stepsOf(values) ??
    runsOf(values, same) ??
    distancesOf(values) ??
    alike(values) ??
    numbered(values) ??
    values
  );
}

/** Runs are shorter than a list as long as there are few of them. */
const isLong = (runs: number, rows: number): boolean => runs * 4 > rows;

function stepsOf(values: readonly unknown[]): Column | null {
  const [from] = values;
  if (typeof from !== 'number' || !Number.isSafeInteger(from)) return null;
  const steps: number[] = [];
  let before = from;
  let run = -1;
  for (let at = 1; at < values.length; at += 1) {
    const value = values[at];
    if (typeof value !== 'number' || !Number.isSafeInteger(value)) return null;
    const step = value - before;
    if (!Number.isSafeInteger(step)) return null;
    before = value;
    if (run >= 0 && steps[run] === step) steps[run + 1] = (steps[run + 1] ?? 0) + 1;
    else {
      run = steps.push(step, 1) - 2;
      if (isLong(run, values.length)) return null;
    }
  }
  return { from, steps };
}

/** `same`: so many of the first values are equal. */
function runsOf(values: readonly unknown[], same: number): Column | null {
  const runs: unknown[] = [values[0], same];
  let before = values[0];
  let count = 0;
  for (let at = same; at < values.length; at += 1) {
    if (count > 0 && isSame(values[at], before)) count += 1;
    else {
      if (count > 0) runs.push(before, count);
      if (isLong(runs.length, values.length)) return null;
      before = values[at];
      count = 1;
    }
  }
  runs.push(before, count);
  return { runs };
}

/** Below this a distance is hardly shorter than the number. */
const LARGE = 1_000_000;

function distancesOf(values: readonly unknown[]): Column | null {
  const [from] = values;
  if (typeof from !== 'number' || from < LARGE || !values.every(Number.isSafeInteger)) return null;
  const by = (values as number[]).map((value) => value - from);
  return by.every(Number.isSafeInteger) ? { from, by } : null;
}

/** Ids are shorter, and longer texts rarely begin alike. */
const ALIKE_MAX = 64;

/** Texts of one length, ids above all, that begin alike. */
function alike(values: readonly unknown[]): Column | null {
  const [first] = values;
  if (typeof first !== 'string' || first.length > ALIKE_MAX) return null;
  let shared = first.length;
  for (const value of values) {
    if (typeof value !== 'string' || value.length !== first.length) return null;
    let at = 0;
    while (at < shared && value.charCodeAt(at) === first.charCodeAt(at)) at += 1;
    shared = at;
  }
  const rest = values.map((value) => (value as string).slice(shared));
  return { start: first.slice(0, shared), width: first.length - shared, rest: rest.join('') };
}

/** As many as are a whole number for certain, and the same text again. */
const DIGITS_MAX = 15;

/** Ids of a list, or of tasks that were made one after the other. */
function numbered(values: readonly unknown[]): Column | null {
  const texts: string[] = [];
  const counts: number[] = [];
  const numbers: number[] = [];
  let text = '';
  for (const value of values) {
    if (typeof value !== 'string' || value.length > ALIKE_MAX) return null;
    const at = numberAt(value);
    if (at === value.length) return null;
    // Nearly always the same: a text of its own for each of a hundred thousand would cost more than all else here.
    if (counts.length === 0 || at !== text.length || !value.startsWith(text)) {
      text = value.slice(0, at);
      texts.push(text);
      counts.push(1);
      if (isLong(texts.length * 2, values.length)) return null;
    } else counts[counts.length - 1] = (counts.at(-1) ?? 0) + 1;
    numbers.push(wholeFrom(value, at));
  }
  const steps = stepsOf(numbers);
  if (steps === null) return null;
  const before =
    texts.length === 1 ? { one: text } : { runs: texts.flatMap((each, at) => [each, counts[at]]) };
  return { before, numbers: steps };
}

/** The digits from here to the end. */
function wholeFrom(text: string, from: number): number {
  let number = 0;
  for (let at = from; at < text.length; at += 1) number = number * 10 + text.charCodeAt(at) - ZERO;
  return number;
}

/** Where the number begins with which a text ends, without zeros before it; the end if there is none. */
function numberAt(text: string): number {
  const least = Math.max(0, text.length - DIGITS_MAX);
  let at = text.length;
  while (at > least && isDigit(text.charCodeAt(at - 1))) at -= 1;
  while (at < text.length - 1 && text.charCodeAt(at) === ZERO) at += 1;
  return at;
}

const ZERO = 48;
const isDigit = (code: number): boolean => code >= ZERO && code <= ZERO + 9;

/** Empty lists are equal, whoever made them: dependencies and labels are, of most jobs. */
function isSame(value: unknown, other: unknown): boolean {
  return value === other || (isEmptyList(value) && isEmptyList(other));
}

function isEmptyList(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0;
}

export function rowsOf({ rows, columns }: PackedRows): Record<string, unknown>[] {
  const names = Object.keys(columns);
  const values = names.map((name) => valuesOf(columns[name] ?? [], rows));
  return Array.from({ length: rows }, (_, at) => {
    const row: Record<string, unknown> = {};
    for (const [place, name] of names.entries()) row[name] = values[place]?.[at];
    return row;
  });
}

function valuesOf(column: Column, rows: number): readonly unknown[] {
  if (isList(column)) return column;
  if ('one' in column) return Array.from({ length: rows }, () => column.one);
  if ('runs' in column) return repeated(column.runs);
  if ('by' in column) return column.by.map((distance) => column.from + distance);
  if ('steps' in column) {
    const values = [column.from];
    for (const step of repeated(column.steps)) values.push((values.at(-1) ?? 0) + (step as number));
    return values;
  }
  if ('before' in column) {
    const numbers = valuesOf(column.numbers, rows);
    return valuesOf(column.before, rows).map(
      (text, at) => `${text as string}${numbers[at] as number}`,
    );
  }
  const { start, width, rest } = column;
  return Array.from({ length: rows }, (_, at) => start + rest.slice(at * width, (at + 1) * width));
}

function repeated(runs: readonly unknown[]): unknown[] {
  const values: unknown[] = [];
  for (let at = 0; at < runs.length; at += 2) {
    for (let count = runs[at + 1] as number; count > 0; count -= 1) values.push(runs[at]);
  }
  return values;
}

const isList = (column: Column): column is readonly unknown[] => Array.isArray(column);
