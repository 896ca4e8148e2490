/** Files that a statement names in place of tables, such as `FROM 'data/*.parquet'`. */
import { tokensOf } from '../../sql/engine/index.ts';

/** After these, and after a comma or a parenthesis, a statement names a table. */
const BEFORE_TABLES: ReadonlySet<string> = new Set(['from', 'join', 'describe', 'summarize']);

/**
 * The file names as they are written, without quotes. Whatever else it finds is harmless: DuckDB's parser decides what
 * a table is, and a table that no part of the statement uses is not read.
 */
export function namedFiles(sql: string): readonly string[] {
  const tokens = tokensOf(sql).map(({ from, to }) => sql.slice(from, to));
  const found = tokens.flatMap((token, at) => {
    const before = tokens[at - 1]?.toLowerCase() ?? '';
    const name = unquoted(token);
    const isTable = BEFORE_TABLES.has(before) || (before === ',' && isInFrom(tokens, at));
    return isTable && name !== null && looksLikeFile(name) ? [name] : [];
  });
  return [...new Set(found)];
}

/** Whether the list that this comma continues began with FROM: literals in other lists are values. */
function isInFrom(tokens: readonly string[], at: number): boolean {
  let depth = 0;
  for (let place = at - 1; place >= 0; place -= 1) {
    const token = tokens[place]?.toLowerCase() ?? '';
    if (token === ')') depth += 1;
    else if (token === '(') depth -= 1;
    if (depth < 0) return false;
    if (depth > 0) continue;
    if (token === 'from') return true;
    if (ENDS_FROM.has(token)) return false;
  }
  return false;
}

const ENDS_FROM: ReadonlySet<string> = new Set([
  ...['select', 'where', 'group', 'having', 'order', 'limit', 'window', 'qualify', 'values', 'in'],
]);

function unquoted(token: string): string | null {
  const [, quote, inner = ''] = /^(['"])(.+)\1$/s.exec(token) ?? [];
  return quote === undefined ? null : inner.replaceAll(quote + quote, quote);
}

/** A name of a table has no slash, wildcard or extension; a URL is not a file of this machine. */
function looksLikeFile(name: string): boolean {
  return /[/*?[\]\\]|\.[a-z0-9]{2,8}$/i.test(name) && !/^[a-z][a-z0-9+.-]+:\/\//i.test(name);
}
