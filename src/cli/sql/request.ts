/** What the flags of `millrace sql` ask for, as the API takes it. */
import { resolve } from 'node:path';
import type { QueryRequest } from '../../client/index.ts';
import { parseBytes, parseMs } from '../../node/config/index.ts';
import { MillraceError } from '../../scheduler/core/index.ts';
import { readTextOf } from '../files/document-file.ts';
import { wrongUse } from '../server-call.ts';
import { namedFiles } from './named-files.ts';

export interface SqlFlags {
  readonly file?: string;
  readonly table?: readonly string[];
  readonly param?: readonly string[];
  readonly set?: readonly string[];
  readonly timeZone?: string;
}

/** Without a query and a file, statements are read one by one. */
export function isShell(query: string | undefined, { file }: SqlFlags): boolean {
  return query === undefined && file === undefined;
}

export async function requestOf(
  query: string | undefined,
  flags: SqlFlags,
  signal: AbortSignal,
): Promise<QueryRequest> {
  return { ...optionsOf(flags), sql: await sqlText(query, flags.file, signal) };
}

/** On this machine a query may read the files that it names: who runs it could read them anyway. */
export function withNamedFiles(request: QueryRequest): QueryRequest {
  const { tables = {} } = request;
  const known = new Set(Object.keys(tables).map((name) => name.toLowerCase()));
  const files = namedFiles(request.sql).filter((name) => !known.has(name.toLowerCase()));
  if (files.length === 0) return request;
  const named = Object.fromEntries(files.map((name) => [name, resolve(name)]));
  return { ...request, tables: { ...tables, ...named } };
}

/** All of a request but its text. */
export function optionsOf(flags: SqlFlags): Omit<QueryRequest, 'sql'> {
  const tables = tablesOf(flags.table ?? []);
  const params = paramsOf(flags.param ?? []);
  const settings = Object.fromEntries((flags.set ?? []).map(settingOf));
  return {
    ...(Object.keys(tables).length === 0 ? {} : { tables }),
    ...(params === null ? {} : { params }),
    ...(Object.keys(settings).length === 0 ? {} : { settings }),
    ...(flags.timeZone === undefined ? {} : { timeZone: flags.timeZone }),
  };
}

async function sqlText(
  query: string | undefined,
  file: string | undefined,
  signal: AbortSignal,
): Promise<string> {
  if (query !== undefined && file !== undefined) {
    throw wrongUse(
      'Two queries were given: one on the command line and one in --file.',
      'Give one.',
    );
  }
  const source = file ?? (query === '-' ? '-' : null);
  const text = source === null ? (query ?? '') : await readTextOf(source, signal);
  if (text.trim() !== '') return text;
  throw noStatement(source === null ? undefined : `${source === '-' ? 'stdin' : source} is empty.`);
}

export function noStatement(what: string = 'No SQL statement was given.'): MillraceError {
  return wrongUse(what, "Use for example millrace sql 'select 42', or give a file with --file.");
}

/** Several of one name are one table of several paths. */
function tablesOf(texts: readonly string[]): Readonly<Record<string, unknown>> {
  const tables = new Map<string, unknown>();
  for (const text of texts) {
    const [name, value] = pair('--table', text, 'sales=data/sales-*.parquet');
    const known = tables.get(name);
    if (value.startsWith('{') || Array.isArray(json(value))) {
      if (known !== undefined) throw wrongUse(`Table ${name} was given twice.`, 'Give it once.');
      tables.set(name, spec(name, value));
      continue;
    }
    const path = wholePaths(value);
    if (known !== undefined && !isPaths(known)) {
      throw wrongUse(`Table ${name} was given twice.`, 'Give it once.');
    }
    const paths = known === undefined ? [] : [known].flat();
    tables.set(name, paths.length === 0 ? path : [...paths, path]);
  }
  return Object.fromEntries(tables);
}

function isPaths(value: unknown): boolean {
  return typeof value === 'string' || Array.isArray(value);
}

function isUrl(text: string): boolean {
  return /^[a-z][a-z0-9+.-]+:\/\//i.test(text);
}

/** A list of paths, or an object that says more than paths. */
function spec(name: string, text: string): unknown {
  const value = json(text) as { readonly paths?: unknown } | readonly unknown[] | undefined;
  if (value === undefined)
    throw wrongUse(`The definition of table ${name} is not valid JSON: ${text}`, 'Fix the JSON.');
  if (!('paths' in value)) return wholePaths(value);
  return { ...value, paths: wholePaths(value.paths) };
}

/** A server has another working directory. What is not a path is refused by it. */
function wholePaths(paths: unknown): unknown {
  if (Array.isArray(paths)) return paths.map(wholePaths);
  return typeof paths !== 'string' || isUrl(paths) ? paths : resolve(paths);
}

/** `1=...`, `2=...` are places, anything else are names. */
function paramsOf(texts: readonly string[]): NonNullable<QueryRequest['params']> | null {
  if (texts.length === 0) return null;
  const pairs = texts.map((text) => pair('--param', text, 'since=2026-11-15'));
  const values = new Map(pairs.map(([name, text]) => [name.replace(/^\$/, ''), scalar(text)]));
  if (values.size < pairs.length) throw wrongUse('A --param was given twice.', 'Give it once.');
  const names = [...values.keys()];
  if (!names.every((name) => /^[1-9]\d*$/.test(name))) return Object.fromEntries(values);
  return names.map((_, at) => {
    const value = values.get(`${at + 1}`);
    if (value !== undefined) return value;
    throw wrongUse(
      `Parameter --param ${at + 1}=... is missing.`,
      'Positional parameters start at 1 and have no gaps.',
    );
  });
}

/** Numbers, true, false, null and text in quotes are what they are in JSON; all else is text. */
function scalar(text: string): unknown {
  const value = json(text);
  return value === undefined || typeof value === 'object' ? (value === null ? null : text) : value;
}

/** Which names there are is the server's to say. */
function settingOf(text: string): readonly [string, number] {
  const [name, value] = pair('--set', text, 'shufflePartitions=4');
  const number = name.endsWith('Bytes')
    ? parseBytes(value)
    : name.endsWith('Ms')
      ? parseMs(value)
      : Number(value);
  if (number !== undefined && Number.isFinite(number)) return [name, number];
  throw wrongUse(
    `'${value}' is not a valid number for --set ${name}.`,
    'Use for example shufflePartitions=4, memoryBytes=1GiB or timeoutMs=30s.',
  );
}

function pair(flag: string, text: string, example: string): readonly [string, string] {
  const at = text.indexOf('=');
  if (at > 0 && at < text.length - (flag === '--param' ? 0 : 1)) {
    return [text.slice(0, at).trim(), text.slice(at + 1)];
  }
  throw new MillraceError({
    code: 'bad_input',
    what: `'${text}' is not a valid NAME=VALUE for ${flag}.`,
    todo: `Write ${flag} ${example}.`,
  });
}

function json(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
