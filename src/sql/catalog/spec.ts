/** Reads table definitions, checked field by field. */
import { MillraceError, didYouMean, isObject } from '../../scheduler/core/index.ts';
import type { PinnedTable } from '../plan/index.ts';
import { isTypeText } from './type-text.ts';

export type TableFormat = PinnedTable['format'];

/** A table definition with all defaults filled in. */
export interface TableDefinition {
  readonly name: string;
  /** JSON pointer to the table; each path has its own. */
  readonly at: string;
  readonly paths: readonly { readonly text: string; readonly at: string }[];
  readonly format: TableFormat | null;
  readonly schema: Readonly<Record<string, string>>;
  readonly hive: boolean | Readonly<Record<string, string>> | null;
  readonly unionByName: boolean;
}

const FIELDS = ['paths', 'format', 'schema', 'hive', 'unionByName'] as const;
const FORMATS: readonly TableFormat[] = ['parquet', 'csv', 'json'];
const TABLES_MAX = 1_000;
const PATHS_MAX = 10_000;
const PATH_CHARS_MAX = 4_096;
const NAME_CHARS_MAX = 200;

/** `value` maps names to tables, or is a list of tables with a `name`. */
export function readTables(value: unknown, at: string): readonly TableDefinition[] {
  const tables = Array.isArray(value) ? fromList(value, at) : fromObject(value, at);
  if (tables.length > TABLES_MAX) {
    throw bad(at, `${tables.length} tables are more than the limit of ${TABLES_MAX}.`);
  }
  const seen = new Map<string, string>();
  for (const table of tables) {
    const key = tableKey(table.name);
    const other = seen.get(key);
    if (other !== undefined) {
      throw bad(table.at, `The names '${other}' and '${table.name}' mean the same table in SQL.`);
    }
    seen.set(key, table.name);
  }
  return tables;
}

/** SQL names are case-insensitive. */
export function tableKey(name: string): string {
  return name.toLowerCase();
}

function fromObject(value: unknown, at: string): readonly TableDefinition[] {
  const tables = objectIn(
    value,
    at,
    'Tables must be an object that maps names to a path, a glob or a list.',
  );
  return Object.entries(tables).map(([name, spec]) =>
    readTable(name, spec, `${at}/${pointerToken(name)}`),
  );
}

function fromList(list: readonly unknown[], at: string): readonly TableDefinition[] {
  return list.map((item, index) => {
    const place = `${at}/${index}`;
    const { name, ...spec } = objectIn(
      item,
      place,
      'A table in a list must be an object with a name.',
    );
    if (typeof name !== 'string') throw bad(`${place}/name`, 'A table in a list needs a name.');
    return readTable(name, spec, place);
  });
}

function readTable(name: string, value: unknown, at: string): TableDefinition {
  checkName(name, at);
  const bare = { name, at, format: null, schema: {}, hive: null, unionByName: false };
  if (typeof value === 'string' || Array.isArray(value)) {
    return { ...bare, paths: readPaths(value, at) };
  }
  const spec = objectIn(value, at, 'A table must be a path, a glob, a list of them, or an object.');
  for (const field of Object.keys(spec)) {
    if (FIELDS.some((known) => known === field)) continue;
    const place = `${at}/${pointerToken(field)}`;
    const hint = didYouMean(field, FIELDS);
    throw bad(place, `There is no such field.${hint}`, `Known fields are ${FIELDS.join(', ')}.`);
  }
  if (spec['paths'] === undefined) {
    throw bad(`${at}/paths`, 'It is missing.', 'Name a path, a glob or a list of them.');
  }
  return {
    ...bare,
    paths: readPaths(spec['paths'], `${at}/paths`),
    format: readFormat(spec['format'], `${at}/format`),
    schema: spec['schema'] === undefined ? {} : readTypes(spec['schema'], `${at}/schema`),
    hive: readHive(spec['hive'], `${at}/hive`),
    unionByName: readSwitch(spec['unionByName'], `${at}/unionByName`) ?? false,
  };
}

function checkName(name: string, at: string): void {
  if (name === '') throw bad(at, 'The name of a table is empty.');
  if (name.length > NAME_CHARS_MAX) {
    throw bad(at, `The name of a table has more than ${NAME_CHARS_MAX} characters.`);
  }
  // eslint-disable-next-line no-control-regex -- Control characters are what is looked for.
  if (/[\u0000-\u001f\u007f]/.test(name)) {
    throw bad(at, 'The name of a table has a control character.');
  }
}

function readPaths(value: unknown, at: string): TableDefinition['paths'] {
  if (typeof value === 'string') return [{ text: readPath(value, at), at }];
  if (!Array.isArray(value)) throw bad(at, 'It must be a path, a glob or a list of them.');
  if (value.length === 0) throw bad(at, 'The list has no path.');
  if (value.length > PATHS_MAX) {
    throw bad(at, `${value.length} paths are more than the limit of ${PATHS_MAX}.`, 'Use a glob.');
  }
  return value.map((path: unknown, index) => {
    const place = `${at}/${index}`;
    if (typeof path !== 'string') throw bad(place, 'It must be a path.');
    return { text: readPath(path, place), at: place };
  });
}

function readPath(path: string, at: string): string {
  if (path.trim() === '') throw bad(at, 'The path is empty.');
  if (path.length > PATH_CHARS_MAX) {
    throw bad(at, `A path must have at most ${PATH_CHARS_MAX} characters.`);
  }
  if (path.includes('\0')) throw bad(at, 'A path must not contain a NUL character.');
  const scheme = /^([A-Za-z][A-Za-z0-9+.-]+):\/\//.exec(path)?.[1];
  if (scheme !== undefined && scheme.toLowerCase() !== 'file') {
    throw bad(
      at,
      `${scheme}:// is not supported: files are read from disks that the workers can see.`,
      'Copy or mount them, and name the path.',
    );
  }
  return path;
}

function readFormat(value: unknown, at: string): TableFormat | null {
  if (value === undefined) return null;
  const format = FORMATS.find((known) => known === value);
  if (format !== undefined) return format;
  const hint = typeof value === 'string' ? didYouMean(value, FORMATS) : '';
  throw bad(at, `It must be one of ${FORMATS.join(', ')}.${hint}`);
}

function readHive(value: unknown, at: string): TableDefinition['hive'] {
  if (value === undefined) return null;
  if (typeof value === 'boolean') return value;
  if (!isObject(value)) {
    throw bad(at, 'It must be true, false, or the types of the keys by name.');
  }
  return readTypes(value, at);
}

function readTypes(value: unknown, at: string): Readonly<Record<string, string>> {
  const types = objectIn(value, at, 'It must map columns to types.');
  for (const [column, type] of Object.entries(types)) {
    const place = `${at}/${pointerToken(column)}`;
    if (column === '') throw bad(place, 'The name of a column is empty.');
    if (typeof type !== 'string' || !isTypeText(type)) {
      throw bad(place, 'It must be a DuckDB type, such as BIGINT or DECIMAL(12, 2).');
    }
  }
  return types as Readonly<Record<string, string>>;
}

function readSwitch(value: unknown, at: string): boolean | undefined {
  if (value === undefined || typeof value === 'boolean') return value;
  throw bad(at, 'It must be true or false.');
}

function objectIn(value: unknown, at: string, what: string): Readonly<Record<string, unknown>> {
  if (isObject(value)) {
    return value;
  }
  throw bad(at, what);
}

export function pointerToken(key: string): string {
  return key.slice(0, 80).replaceAll('~', '~0').replaceAll('/', '~1');
}

function bad(path: string, what: string, todo?: string): MillraceError {
  return new MillraceError({ code: 'bad_input', path, what, todo });
}
