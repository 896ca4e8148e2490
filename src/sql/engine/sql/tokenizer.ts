/** A minimal SQL tokenizer: finds strings, comments, placeholders and semicolons, without parsing. */

export type Token =
  | { readonly kind: 'word'; readonly from: number; readonly to: number }
  /** `?`, `$1` or `$name`; the name is empty for `?`. */
  | {
      readonly kind: 'placeholder';
      readonly from: number;
      readonly to: number;
      readonly name: string;
    }
  | { readonly kind: 'semicolon'; readonly from: number; readonly to: number }
  /** Any other significant text. */
  | { readonly kind: 'other'; readonly from: number; readonly to: number };

type Found = readonly [kind: Token['kind'] | 'blank', to: number];

/**
 * Takes linear time for any text: each rule looks at its own characters only, and an unterminated string or comment
 * extends to the end.
 */
export function tokensOf(sql: string): Token[] {
  const tokens: Token[] = [];
  for (let from = 0; from < sql.length;) {
    const [kind, to] = foundAt(sql, from);
    if (kind === 'placeholder') {
      const name = sql.slice(from + 1, to);
      tokens.push({ kind, from, to, name });
    } else if (kind !== 'blank') tokens.push({ kind, from, to });
    from = to;
  }
  return tokens;
}

const SPACE = /\s/;
const TAG = /\$(?:[\p{L}_][\p{L}\p{N}_]*)?\$/uy;
const PARAMETER = /\$[\p{L}\p{N}_]+/uy;
const NUMBER = /[\d.]+(?:[eE][+-]?\d+)?/y;

function foundAt(sql: string, at: number): Found {
  const letter = sql.charAt(at);
  switch (letter) {
    case '-':
      return sql.charAt(at + 1) === '-' ? ['blank', endOfLine(sql, at)] : ['other', at + 1];
    case '/':
      return sql.charAt(at + 1) === '*' ? ['blank', endOfBlock(sql, at)] : ['other', at + 1];
    case "'":
    case '"':
      return ['other', endOfQuoted(sql, at)];
    case '$':
      return dollar(sql, at);
    case '?':
      return ['placeholder', at + 1];
    case ';':
      return ['semicolon', at + 1];
    case 'e':
    case 'E':
      // A string with escapes: a backslash escapes the next character.
      if (sql.charAt(at + 1) === "'") return ['other', endOfEscaped(sql, at + 1)];
      break;
    default:
  }
  const unit = sql.charCodeAt(at);
  if (isSpace(unit, letter)) return ['blank', endOfSpace(sql, at)];
  if (isWordStart(unit)) return ['word', endOfWord(sql, at)];
  return ['other', endOf(NUMBER, sql, at) ?? at + 1];
}

function isSpace(unit: number, letter: string): boolean {
  return unit < 128 ? unit === 32 || (unit >= 9 && unit <= 13) : SPACE.test(letter);
}

function endOfSpace(sql: string, from: number): number {
  let at = from + 1;
  while (at < sql.length && isSpace(sql.charCodeAt(at), sql.charAt(at))) at += 1;
  return at;
}

/** A carriage return ends it too. */
function endOfLine(sql: string, from: number): number {
  let at = from;
  while (at < sql.length && sql.charAt(at) !== '\n' && sql.charAt(at) !== '\r') at += 1;
  return at;
}

/** Comments may be nested. */
function endOfBlock(sql: string, from: number): number {
  let depth = 0;
  for (let at = from; at < sql.length; at += 1) {
    const pair = sql.charAt(at) + sql.charAt(at + 1);
    if (pair !== '/*' && pair !== '*/') continue;
    depth += pair === '/*' ? 1 : -1;
    at += 1;
    if (depth === 0) return at + 1;
  }
  return sql.length;
}

/** A doubled quote is an escaped one. */
function endOfQuoted(sql: string, from: number): number {
  const quote = sql.charAt(from);
  for (let at = from + 1; ; at += 2) {
    at = sql.indexOf(quote, at);
    if (at < 0) return sql.length;
    if (sql.charAt(at + 1) !== quote) return at + 1;
  }
}

function endOfEscaped(sql: string, from: number): number {
  for (let at = from + 1; at < sql.length; at += 1) {
    const letter = sql.charAt(at);
    if (letter === '\\') at += 1;
    else if (letter === "'" && sql.charAt(at + 1) === "'") at += 1;
    else if (letter === "'") return at + 1;
  }
  return sql.length;
}

/** A dollar-quoted string, as `$$it's$$` or `$x$...$x$`; or a parameter. */
function dollar(sql: string, at: number): Found {
  const body = endOf(TAG, sql, at);
  if (body !== null) {
    const tag = sql.slice(at, body);
    const close = sql.indexOf(tag, body);
    return ['other', close < 0 ? sql.length : close + tag.length];
  }
  const end = endOf(PARAMETER, sql, at);
  return end === null ? ['other', at + 1] : ['placeholder', end];
}

function endOf(pattern: RegExp, sql: string, at: number): number | null {
  pattern.lastIndex = at;
  return pattern.test(sql) ? pattern.lastIndex : null;
}

function endOfWord(sql: string, from: number): number {
  let at = from + 1;
  while (at < sql.length && isWordPart(sql.charCodeAt(at))) at += 1;
  return at;
}

/** As in DuckDB, every non-ASCII character may be part of a word. */
function isWordStart(unit: number): boolean {
  return (unit >= 97 && unit <= 122) || (unit >= 65 && unit <= 90) || unit === 95 || unit >= 128;
}

function isWordPart(unit: number): boolean {
  return isWordStart(unit) || (unit >= 48 && unit <= 57) || unit === 36;
}
