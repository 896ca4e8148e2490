/** The user's statement: inlines its parameters, and locates errors in its text. */
import { quotedText } from '../../plan/index.ts';
import { MillraceError } from '../../../scheduler/core/index.ts';
import type { PlanRequest } from '../engine.ts';
import { type Token, tokensOf } from './tokenizer.ts';

export interface Statement {
  /** One statement without a trailing semicolon, with its parameters inlined. */
  readonly sql: string;
  /** Maps an offset in `sql` to the offset in the user's text, both in UTF-16 units. */
  readonly placeOf: (at: number) => number;
}

/** Fails with `bad_query`. */
export function statementOf({ sql, params }: Pick<PlanRequest, 'sql' | 'params'>): Statement {
  const tokens = oneStatement(sql);
  const constants = new Constants(params);
  const pieces: { readonly from: number; readonly at: number }[] = [];
  let text = '';
  let from = 0;
  const keep = (to: number): void => {
    pieces.push({ from, at: text.length });
    text += sql.slice(from, to);
  };
  for (const [no, mark] of tokens.entries()) {
    if (mark.kind !== 'placeholder') continue;
    checkApart(sql, mark, tokens[no - 1], tokens[no + 1]);
    keep(mark.from);
    pieces.push({ from: mark.from, at: text.length });
    text += constants.take(mark.name);
    from = mark.to;
  }
  const end = tokens.at(-1)?.to ?? 0;
  keep(end);
  text += tailOf(sql, end);
  constants.checkAllTaken();
  const placeOf = (at: number): number => {
    const index = pieces.findLastIndex((each) => each.at <= at);
    const piece = pieces[index] ?? { from: 0, at: 0 };
    const next = pieces[index + 1];
    const place = piece.from + (at - piece.at);
    return next === undefined ? place : Math.min(place, Math.max(piece.from, next.from - 1));
  };
  return { sql: text, placeOf };
}

/**
 * The text after the last token, with spaces for semicolons. Comments stay: DuckDB decides whether they are comments.
 */
function tailOf(sql: string, from: number): string {
  let tail = '';
  let at = from;
  for (const mark of tokensOf(sql)) {
    if (mark.from < from) continue;
    tail += `${sql.slice(at, mark.from)} `;
    at = mark.to;
  }
  return (tail + sql.slice(at)).trimEnd();
}

/** Characters that an inlined constant must not touch: `e?` would become `e'...'`, a string with escapes. */
const GLUED = /[\p{L}\p{N}_$.'"?\u0080-\uffff]/u;

/** A constant must not touch other text, nor follow a string: DuckDB joins `'a'` and `'b'` on the next line. */
function checkApart(
  sql: string,
  { from, to }: Token,
  before: Token | undefined,
  after: Token | undefined,
): void {
  const isText = (mark: Token | undefined): boolean =>
    mark !== undefined && (mark.kind === 'placeholder' || sql[mark.to - 1] === "'");
  const isGlued =
    GLUED.test(sql.charAt(from - 1)) ||
    GLUED.test(sql.charAt(to)) ||
    /^u&$/i.test(sql.slice(Math.max(0, from - 2), from));
  if (!isGlued && !isText(before) && !isText(after)) return;
  throw new MillraceError({
    code: 'bad_query',
    what: `The parameter ${sql.slice(from, to)} is not separate from the text around it.`,
    why: `${pointedAt(sql, from).where}: ${sql.slice(Math.max(0, from - 10), to + 10)}`,
    todo: 'Put a space or an operator on both sides of it.',
  });
}

/** Statements that DuckDB would run, but that are not queries. */
const INSTEAD: ReadonlyMap<string, string> = new Map(
  Object.entries({
    explain: 'EXPLAIN and EXPLAIN ANALYZE are followed by a query.',
    set: 'Send settings, such as the time zone, with the query.',
    pragma: 'Select from the function of the same name, if there is one.',
    copy: 'Ask for the result as Parquet, CSV or JSON.',
  }),
);

/** The tokens of the only statement, without trailing semicolons. */
function oneStatement(sql: string): Token[] {
  const tokens = tokensOf(sql);
  while (tokens.at(-1)?.kind === 'semicolon') tokens.pop();
  const [first] = tokens;
  if (first === undefined) throw refused('The text has no statement.');
  const word = sql.slice(first.from, first.to).toLowerCase();
  const instead = first.kind === 'word' ? INSTEAD.get(word) : undefined;
  if (instead !== undefined) throw refused(`It starts with ${word.toUpperCase()}.`, instead);
  const between = tokens.find(({ kind }) => kind === 'semicolon');
  if (between !== undefined) throw refused('There is text after a semicolon.');
  return tokens;
}

function refused(why: string, todo?: string): MillraceError {
  const what = 'A query must be a single SELECT statement.';
  return new MillraceError({ code: 'bad_query', what, why, todo });
}

class Constants {
  readonly #params: PlanRequest['params'];
  readonly #left: Set<string>;
  #next = 0;

  constructor(params: PlanRequest['params']) {
    this.#params = params;
    this.#left = new Set(Object.keys(params));
  }

  take(name: string): string {
    const key = this.#keyOf(name);
    this.#left.delete(key);
    const values = this.#params as Readonly<Record<string, unknown>>;
    if (!Object.hasOwn(values, key))
      throw new MillraceError({
        code: 'bad_query',
        what: `The parameter ${name === '' ? '?' : `$${name}`} has no value.`,
        todo: 'Set it in `params`: a list for ? and $1, an object for $name.',
      });
    return constant(values[key], `/params/${key}`);
  }

  checkAllTaken(): void {
    const [left] = this.#left;
    if (left === undefined) return;
    throw new MillraceError({
      code: 'bad_query',
      what: 'The statement has no parameter for this value.',
      path: `/params/${left}`,
    });
  }

  #keyOf(name: string): string {
    if (name === '') {
      this.#next += 1;
      return String(this.#next - 1);
    }
    return Array.isArray(this.#params) && /^\d+$/.test(name) ? String(Number(name) - 1) : name;
  }
}

/** A literal that DuckDB can cast to what the statement needs: `'2026-01-01'` to a date, `1` to any integer. */
function constant(value: unknown, path: string): string {
  if (value === null) return 'NULL';
  switch (typeof value) {
    case 'boolean':
      return value ? 'true' : 'false';
    case 'number':
      if (Number.isSafeInteger(value)) return value < 0 ? `(${value})` : String(value);
      if (Number.isFinite(value)) return `CAST('${value}' AS DOUBLE)`;
      break;
    case 'string':
      if (!value.includes('\0')) return quotedText(value);
      break;
    case 'object': {
      const inside = (each: unknown, key: number | string): string =>
        constant(each, `${path}/${key}`);
      if (Array.isArray(value)) return vector(value) ?? `[${value.map(inside).join(', ')}]`;
      const fields = Object.entries(value).map(
        ([key, each]) => `${quotedText(key)}: ${inside(each, key)}`,
      );
      if (fields.length > 0) return `{${fields.join(', ')}}`;
      break;
    }
    case 'bigint':
    case 'function':
    case 'symbol':
    case 'undefined':
      break;
  }
  throw new MillraceError({
    code: 'bad_query',
    what: 'This value is not a valid parameter.',
    why: 'A parameter is a number, a string, true, false, null, or a list or an object of these.',
    path,
  });
}

/** A list of numbers with fractions as one constant: embeddings have thousands of elements. Null for any other list. */
function vector(list: readonly unknown[]): string | null {
  if (!list.every((each) => Number.isFinite(each)) || list.every(Number.isSafeInteger)) return null;
  return `CAST('[${list.join(', ')}]' AS DOUBLE[])`;
}

/** `at` is an offset in UTF-16 units in the user's text. */
export function pointedAt(
  sql: string,
  at: number,
): { readonly where: string; readonly shown: string } {
  const place = Math.min(at, sql.length);
  const start = sql.lastIndexOf('\n', place - 1) + 1;
  const end = sql.indexOf('\n', place);
  const line = sql.slice(start, end < 0 ? sql.length : end).trimEnd();
  const column = place - start;
  const number = sql.slice(0, start).split('\n').length;
  // Of a long line only the surroundings are shown.
  const cut = Math.max(0, column - SHOWN / 2);
  const part = line.slice(cut, cut + SHOWN);
  // One blank per character, of the same width: tabs stay, East Asian characters and emoji get a wide one.
  const gap = part
    .slice(0, column - cut)
    .replaceAll(WIDE, '\u3000')
    .replaceAll(/[^\t\u3000]/gu, ' ');
  return { where: `${number}:${column + 1}`, shown: `${part}\n${gap}^` };
}

const SHOWN = 120;
const WIDE =
  /[\u1100-\u115F\u2E80-\u303E\u3041-\uA4CF\uAC00-\uD7A3\uF900-\uFAFF\uFE30-\uFE6F\uFF00-\uFF60\uFFE0-\uFFE6]|\p{Emoji_Presentation}/gu;
