/** Maps DuckDB's errors to error codes of Millrace. */
import type { Fault, Position } from '../messages.ts';

/** What was being done: the same error means one thing to the author of a query and another to its operator. */
export type Doing = 'describe' | 'plan' | 'run';

interface DuckdbError {
  readonly type: string;
  readonly message: string;
  readonly subtype: string | null;
  readonly entry: string | null;
  readonly position: Position | null;
}

export function faultOf(error: unknown, doing: Doing): Fault {
  return faultOfDuckdb(readError(error), doing);
}

/** From the result of a failed `json_serialize_sql` or `json_serialize_plan`. */
export function faultOfAnswer(answer: Readonly<Record<string, unknown>>, doing: Doing): Fault {
  return faultOfDuckdb(
    fromFields(answer, String(answer['error_type']), String(answer['error_message'])),
    doing,
  );
}

function faultOfDuckdb(error: DuckdbError, doing: Doing): Fault {
  const fault = ofLimits(error) ?? ofFiles(error, doing) ?? ofStatement(error, doing);
  return error.position === null ? fault : { ...fault, position: error.position };
}

function ofLimits({ type, message }: DuckdbError): Fault | null {
  const what = firstLine(message);
  switch (type) {
    case 'interrupt':
      return { code: 'interrupted', what };
    case 'out of memory':
      if (/max_temp_directory_size|temp(orary)? director/i.test(message))
        return {
          code: 'disk_full',
          what: 'The query has used all of its spill space.',
          why: what,
          todo: 'Give it more memory, or give the worker more spill space.',
        };
      return {
        code: 'out_of_memory',
        what: 'The query needs more memory than it was given.',
        why: what,
        todo: 'Raise memoryBytes or shufflePartitions.',
      };
    case 'fatal':
    case 'internal':
      return {
        code: 'engine_crashed',
        what: 'DuckDB failed with an internal error.',
        why: what,
        isBroken: true,
      };
    default:
      if (/No space left on device|Disk quota exceeded/.test(message))
        return { code: 'disk_full', what: 'There is no space left on the disk.', why: what };
      return null;
  }
}

const NOT_PARQUET =
  /too small to be a Parquet file|Footer length error|No magic bytes found|not a Parquet file/i;

function ofFiles({ type, message }: DuckdbError, doing: Doing): Fault | null {
  const what = firstLine(message);
  if (type === 'permission')
    return {
      code: 'path_refused',
      what: fileIn(message) ?? what,
      todo: 'Name the file as a table, in `tables` or in the catalog. A query can open nothing else.',
    };
  if (type === 'io' && /Permission denied/.test(message)) return { code: 'path_refused', what };
  const isMissing = type === 'io' && /No files found|No such file|Cannot open file/.test(message);
  if (!isMissing && !NOT_PARQUET.test(message)) return null;
  if (doing === 'run')
    return { code: 'table_changed', what, why: 'It existed when the query was planned.' };
  return { code: isMissing ? 'table_missing' : 'schema_mismatch', what };
}

function ofStatement({ type, message, subtype, entry }: DuckdbError, doing: Doing): Fault {
  if (doing === 'run') return { code: 'query_failed', what: message };
  if (doing === 'describe') return { code: 'schema_mismatch', what: message };
  if (type === 'catalog' && subtype === 'MISSING_ENTRY' && entry === 'Table')
    return {
      code: 'table_missing',
      what: withSuggestion(message),
      todo: 'Name it in `tables`, or add it to the catalog.',
    };
  return { code: 'bad_query', what: message };
}

/** `{"exception_type": ...}`, possibly with text before it, or `Binder Error: ...`. */
function readError(error: unknown): DuckdbError {
  const text = error instanceof Error ? error.message : String(error);
  const from = text.indexOf('{"exception_type"');
  if (from >= 0) {
    try {
      const fields = JSON.parse(text.slice(from)) as Record<string, unknown>;
      return fromFields(
        fields,
        String(fields['exception_type']),
        String(fields['exception_message']),
      );
    } catch {
      // Not JSON after all: read as text below.
    }
  }
  const [, type, message] = /^([A-Za-z ]+) Error: ([^]*)$/.exec(text) ?? [];
  return fromFields({}, type ?? 'unknown', message ?? text);
}

function fromFields(
  fields: Readonly<Record<string, unknown>>,
  type: string,
  message: string,
): DuckdbError {
  const textOf = (name: string): string | null => {
    const value = fields[name];
    return typeof value === 'string' ? value : null;
  };
  const position = textOf('position');
  const subtype = textOf('error_subtype');
  return {
    type: type.toLowerCase(),
    message: message.trim(),
    subtype,
    entry: textOf('type'),
    position:
      position === null || !/^\d{1,15}$/.test(position)
        ? null
        : { at: Number(position), unit: subtype === 'SYNTAX_ERROR' ? 'character' : 'byte' },
  };
}

function fileIn(message: string): string | null {
  const [, file] = /^Cannot access (?:file|directory) "([^]*)" - /.exec(message) ?? [];
  return file === undefined ? null : `The query may not open ${file} directly.`;
}

/** DuckDB's suggestions of its own tables help nobody. */
function withSuggestion(message: string): string {
  const own = /Did you mean "(?:pg_|duckdb_|sqlite_|pragma_|information_schema)/;
  return own.test(message) ? firstLine(message) : message.split('\n').join(' ');
}

function firstLine(message: string): string {
  return message.split('\n', 1)[0] ?? message;
}
