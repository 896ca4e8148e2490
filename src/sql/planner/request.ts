/** Reads a query request, checked field by field. The catalog checks the tables. */
import {
  MillraceError,
  PRIORITIES,
  checkDepth,
  checkStorable,
  didYouMean,
  isObject,
} from '../../scheduler/core/index.ts';
import type { JobDocument, Priority } from '../../scheduler/core/index.ts';
import { readSettings } from './settings.ts';
import type { QuerySettings } from './settings.ts';

export interface QueryRequest {
  /** Null if a plan is submitted. */
  readonly sql: string | null;
  /** A physical plan, unchecked. */
  readonly plan: unknown;
  readonly params: readonly unknown[] | Readonly<Record<string, unknown>>;
  /** Unchecked. */
  readonly tables: unknown;
  readonly settings: QuerySettings;
  readonly timeZone: string;
  readonly about: JobFields;
}

/** The job's name and when it runs. */
export interface JobFields {
  /** Null for the beginning of the SQL text. */
  readonly name: string | null;
  readonly priority: Priority;
  readonly idempotencyKey: JobDocument['idempotencyKey'];
}

const FIELDS = [
  'sql',
  'plan',
  'params',
  'tables',
  'settings',
  'name',
  'priority',
  'idempotencyKey',
  'timeZone',
] as const;

const SQL_CHARS_MAX = 1_000_000;
const PARAMS_MAX = 10_000;
/** Nesting of lists and objects. DuckDB has a limit of its own, and a plan needs much less. */
const DEPTH_MAX = 200;
const NAME_CHARS_MAX = 200;
const KEY_CHARS_MAX = 500;
const PRIORITY_DEFAULT: Priority = 2;

type Fields = Readonly<Record<string, unknown>>;

/** Throws `bad_input` with the path of the field. */
export function readRequest(value: unknown): QueryRequest {
  if (!isObject(value)) {
    throw bad('', 'A query must be an object.', 'Send {"sql": "select ..."}.');
  }
  const given = value;
  for (const field of Object.keys(given)) {
    if (FIELDS.some((known) => known === field)) continue;
    const what = `There is no such field.${didYouMean(field, FIELDS)}`;
    throw bad(`/${field.slice(0, 80)}`, what, `Known fields are ${FIELDS.join(', ')}.`);
  }
  // All of it is stored somewhere: in the name of the job, in fragments, in the plan.
  checkDepth(given, DEPTH_MAX);
  checkStorable(given);
  const { plan } = given;
  const sql = readSql(given);
  return {
    sql,
    plan,
    params: readParams(given['params']),
    tables: given['tables'] ?? undefined,
    settings: readSettings(given['settings']),
    timeZone: readTimeZone(given['timeZone']),
    about: {
      name: readText(given['name'], '/name', NAME_CHARS_MAX),
      priority: readPriority(given['priority']),
      idempotencyKey: readText(given['idempotencyKey'], '/idempotencyKey', KEY_CHARS_MAX),
    },
  };
}

function readSql({ sql, plan }: Fields): string | null {
  if (plan !== undefined) {
    if (sql === undefined) return null;
    throw bad('/sql', 'A query has `sql` or `plan`, not both.', 'Send one of the two.');
  }
  if (sql === undefined) throw bad('/sql', 'It is missing.', 'Send {"sql": "select ..."}.');
  if (typeof sql !== 'string') throw bad('/sql', 'It must be text.');
  if (sql.trim() === '') throw bad('/sql', 'The statement is empty.');
  if (sql.length > SQL_CHARS_MAX) {
    const what = `The statement has ${sql.length} characters, and ${SQL_CHARS_MAX} is the limit.`;
    throw new MillraceError({ code: 'too_large', path: '/sql', what });
  }
  return sql;
}

function readParams(value: unknown): QueryRequest['params'] {
  if (value === undefined || value === null) return [];
  if (typeof value !== 'object') {
    throw bad('/params', 'It must be a list, or an object by name.');
  }
  const count = Object.keys(value).length;
  if (count > PARAMS_MAX) {
    throw bad('/params', `${count} parameters are more than the limit of ${PARAMS_MAX}.`);
  }
  return value as QueryRequest['params'];
}

function readTimeZone(value: unknown): string {
  const zone = readText(value, '/timeZone', NAME_CHARS_MAX);
  if (zone === null) return 'UTC';
  try {
    // Throws for an unknown time zone.
    return Intl.DateTimeFormat('en', { timeZone: zone }).resolvedOptions().timeZone;
  } catch {
    throw bad(
      '/timeZone',
      `'${zone}' is not a valid time zone.`,
      'Use a name such as Europe/Berlin.',
    );
  }
}

function readText(value: unknown, path: string, charsMax: number): string | null {
  if (value === undefined || value === null) return null;
  if (typeof value !== 'string') throw bad(path, 'It must be text.');
  if (value === '') throw bad(path, 'It is empty.');
  if (value.length > charsMax) throw bad(path, `It has more than ${charsMax} characters.`);
  return value;
}

function readPriority(value: unknown): Priority {
  if (value === undefined || value === null) return PRIORITY_DEFAULT;
  const priority = PRIORITIES.find((known) => known === value);
  if (priority !== undefined) return priority;
  throw bad('/priority', `It must be one of ${PRIORITIES.join(', ')}; 0 is urgent.`);
}

export function bad(path: string, what: string, todo?: string): MillraceError {
  return new MillraceError({ code: 'bad_input', path, what, todo });
}
