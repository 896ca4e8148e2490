/**
 * Calls of custom operators in a statement: `FROM name((SELECT ...), parameter => value)`. DuckDB parses the statement
 * and says where the calls are; here they are cut out of its text.
 */
import type { Fault } from '../messages.ts';
import { type Token, tokensOf } from './tokenizer.ts';

/** A call as the parsed tree has it. */
export interface FoundCall {
  /** In lower case. */
  readonly name: string;
  /** Where it begins in the statement, in UTF-8 bytes. */
  readonly at: number;
  /** The query gives its result a name. */
  readonly hasAlias: boolean;
  readonly params: Readonly<Record<string, unknown>>;
}

type Node = Readonly<Record<string, unknown>>;

/** The outermost calls of these operators in a parsed statement, or why one of them cannot be. */
export function callsIn(
  tree: unknown,
  operators: ReadonlySet<string>,
): readonly FoundCall[] | Fault {
  const found: FoundCall[] = [];
  const open: unknown[] = [tree];
  while (open.length > 0) {
    const value = open.pop();
    if (typeof value !== 'object' || value === null) continue;
    const node = value as Node;
    const call = node['type'] === 'TABLE_FUNCTION' ? (node['function'] as Node) : undefined;
    const name = String(call?.['function_name']).toLowerCase();
    if (call === undefined || call['schema'] !== undefined || !operators.has(name)) {
      open.push(...Object.values(node));
      continue;
    }
    const read = readCall(name, node, call);
    if ('code' in read) return read;
    found.push(read);
  }
  return found.toSorted((a, b) => a.at - b.at);
}

function readCall(name: string, table: Node, call: Node): FoundCall | Fault {
  const [input, ...others] = (call['children'] ?? []) as readonly Node[];
  const at = Number(call['query_location']);
  const refuse = (what: string): Fault => ({
    code: 'bad_query',
    what,
    todo: `Write ${name}((SELECT ...), parameter => value).`,
    position: { at, unit: 'byte' },
  });
  if (input?.['class'] !== 'SUBQUERY' || input['alias'] !== undefined)
    return refuse(`The first argument of the operator ${name} must be a query in parentheses.`);
  if (table['with_ordinality'] !== 'WITHOUT_ORDINALITY')
    return refuse(`The operator ${name} cannot be read WITH ORDINALITY.`);
  const params: Record<string, unknown> = {};
  for (const other of others) {
    const key = other['alias'];
    if (typeof key !== 'string') return refuse(`A parameter of the operator ${name} has no name.`);
    if (Object.hasOwn(params, key)) return refuse(`The parameter '${key}' is given twice.`);
    const value = literalOf(other);
    if (value === undefined)
      return refuse(`The parameter '${key}' of the operator ${name} must be a constant.`);
    Object.defineProperty(params, key, { value, enumerable: true });
  }
  return { name, at, hasAlias: table['alias'] !== undefined, params };
}

/** As JSON; undefined if it is not a constant that JSON has. */
function literalOf(node: Node): unknown {
  switch (node['class']) {
    case 'CONSTANT':
      return constantOf(node['value'] as Node);
    case 'CAST': {
      const inner = literalOf(node['child'] as Node);
      const type = (node['cast_type'] as Node | undefined)?.['id'];
      if (type === 'BOOLEAN' && typeof inner === 'string') return inner === 't';
      return type === 'DOUBLE' && typeof inner === 'string' ? Number(inner) : undefined;
    }
    case 'FUNCTION':
      return listOf(node);
    default:
      return undefined;
  }
}

function listOf(node: Node): unknown {
  const items = (node['children'] ?? []) as readonly Node[];
  const values = items.map(literalOf);
  if (values.includes(undefined)) return undefined;
  switch (node['function_name']) {
    case 'list_value':
      return values;
    case 'struct_pack':
      return Object.fromEntries(items.map((item, at) => [String(item['alias']), values[at]]));
    case '-':
      return values.length === 1 && typeof values[0] === 'number' ? -values[0] : undefined;
    default:
      return undefined;
  }
}

const NUMBERS: ReadonlySet<unknown> = new Set(['INTEGER', 'BIGINT', 'DOUBLE', 'FLOAT']);

function constantOf({ type, is_null: isNull, value }: Node): unknown {
  if (isNull === true) return null;
  const { id, type_info: info } = type as Node;
  if (id === 'VARCHAR' && typeof value === 'string') return value;
  if (id === 'BOOLEAN' && typeof value === 'boolean') return value;
  if (typeof value !== 'number') return undefined;
  if (id === 'DECIMAL') return value / 10 ** Number((info as Node)['scale']);
  // A larger integer would be another one in JSON.
  const isExact = !Number.isInteger(value) || Number.isSafeInteger(value);
  return NUMBERS.has(id) && isExact ? value : undefined;
}

/** A call in the text of a statement. */
export interface CallText {
  /** UTF-16 offsets of the call. */
  readonly from: number;
  readonly to: number;
  /** The query that it reads, with the common table expressions that are in scope there. */
  readonly input: string;
}

/** Where a call stands and what it reads; null if the text does not have it there. */
export function callText(sql: string, at: number): CallText | null {
  const bytes = Buffer.from(sql);
  const from = bytes.subarray(0, at).toString().length;
  const tokens = tokensOf(sql);
  const start = tokens.findIndex((token) => token.from === from);
  const isOpen = (index: number): boolean => textOf(sql, tokens[index]) === '(';
  if (start < 0 || !isOpen(start + 1) || !isOpen(start + 2)) return null;
  const [end, inputEnd] = [closing(sql, tokens, start + 1), closing(sql, tokens, start + 2)];
  const [first, last, close] = [tokens[start + 2], tokens[inputEnd ?? -1], tokens[end ?? -1]];
  if (first === undefined || last === undefined || close === undefined) return null;
  const inner = sql.slice(first.to, last.from);
  return { from, to: close.to, input: inScope(sql, tokens, start, inner) };
}

/** The index of the parenthesis that closes the one at `open`. */
function closing(sql: string, tokens: readonly Token[], open: number): number | null {
  let depth = 0;
  for (let at = open; at < tokens.length; at += 1) {
    const text = textOf(sql, tokens[at]);
    if (text === '(') depth += 1;
    else if (text === ')') depth -= 1;
    if (depth === 0) return at;
  }
  return null;
}

/** The query after the WITH clauses around it, as far as it may need them. */
function inScope(sql: string, tokens: readonly Token[], call: number, inner: string): string {
  const levels = [0];
  for (let at = 0; at < call; at += 1) {
    const text = textOf(sql, tokens[at]);
    if (text === '(') levels.push(at + 1);
    else if (text === ')') levels.pop();
  }
  let query = inner;
  for (const level of levels.toReversed()) {
    const clause = clauseAt(sql, tokens, level, call);
    const words = new Set(tokensOf(query).map((token) => wordOf(query, token)));
    if (clause === null || !clause.names.some((name) => words.has(name))) continue;
    query = `${clause.text}\nSELECT * FROM (\n${query}\n)`;
  }
  return query;
}

interface Clause {
  readonly text: string;
  readonly names: readonly string[];
}

/** The WITH clause that begins at `level`, with the expressions that are complete before `call`. */
function clauseAt(
  sql: string,
  tokens: readonly Token[],
  level: number,
  call: number,
): Clause | null {
  if (wordOf(sql, tokens[level]) !== 'with') return null;
  const isRecursive = wordOf(sql, tokens[level + 1]) === 'recursive';
  const first = level + (isRecursive ? 2 : 1);
  const names: string[] = [];
  let last: Token | undefined;
  for (let at = first; at < call;) {
    const name = wordOf(sql, tokens[at]);
    // The names of its columns may stand between its name and AS.
    let open = at + 1;
    while (open < call && textOf(sql, tokens[open]) !== '(') open += 1;
    const columnsEnd = closing(sql, tokens, open);
    const hasColumns = columnsEnd !== null && wordOf(sql, tokens[columnsEnd + 1]) === 'as';
    if (hasColumns) {
      open = columnsEnd + 1;
      while (open < call && textOf(sql, tokens[open]) !== '(') open += 1;
    }
    const end = closing(sql, tokens, open);
    if (end === null || end >= call) break;
    names.push(name);
    last = tokens[end];
    if (textOf(sql, tokens[end + 1]) !== ',') break;
    at = end + 2;
  }
  const begin = tokens[first];
  if (begin === undefined || last === undefined) return null;
  const text = `WITH ${isRecursive ? 'RECURSIVE ' : ''}${sql.slice(begin.from, last.to)}`;
  return { text, names };
}

function textOf(sql: string, token: Token | undefined): string {
  return token === undefined ? '' : sql.slice(token.from, token.to);
}

/** A word or a quoted name, in lower case. */
function wordOf(sql: string, token: Token | undefined): string {
  const text = textOf(sql, token);
  const name = text.startsWith('"') ? text.slice(1, -1).replaceAll('""', '"') : text;
  return name.toLowerCase();
}

/**
 * Quotes the names of parameters: `column => 'body'` is an error to DuckDB's parser, because `column` is a reserved
 * word.
 */
export function withQuotedParameters(sql: string): string {
  const tokens = tokensOf(sql);
  let text = '';
  let from = 0;
  for (const [at, token] of tokens.entries()) {
    if (token.kind !== 'word') continue;
    const before = textOf(sql, tokens[at - 1]);
    const after = sql.slice(token.to).trimStart();
    const isParameter = (before === '(' || before === ',') && /^(=>|:=)/.test(after.slice(0, 2));
    if (!isParameter) continue;
    text += `${sql.slice(from, token.from)}"${sql.slice(token.from, token.to)}"`;
    from = token.to;
  }
  return text + sql.slice(from);
}
