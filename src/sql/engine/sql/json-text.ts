/**
 * Writes a value as JSON text in DuckDB, by the type of its column: the same type always has the same form, whatever
 * the value. Numbers that JavaScript cannot hold are strings.
 */
import { quotedText } from '../../plan/index.ts';
import type { SqlType } from '../../plan/index.ts';

export const NUMBERS: ReadonlySet<string> = new Set([
  'BOOLEAN',
  'TINYINT',
  'SMALLINT',
  'INTEGER',
  'UTINYINT',
  'USMALLINT',
  'UINTEGER',
]);

/** Types whose text needs no escaping in JSON. */
export const PLAIN_STRINGS: ReadonlySet<string> = new Set([
  'BIGINT',
  'UBIGINT',
  'HUGEINT',
  'UHUGEINT',
  'BIGNUM',
  'DECIMAL',
  'DATE',
  'TIME',
  'TIME_NS',
  'TIME WITH TIME ZONE',
  'TIMESTAMP',
  'TIMESTAMP_S',
  'TIMESTAMP_MS',
  'TIMESTAMP_NS',
  'TIMESTAMP WITH TIME ZONE',
  'INTERVAL',
  'UUID',
  'BIT',
]);

/** Never NULL. `depth` keeps the names of nested lambdas apart. */
export function jsonText(type: SqlType, value: string, depth = 0): string {
  const { id, children = [], names = [] } = type;
  if (NUMBERS.has(id)) return `coalesce(CAST(${value} AS VARCHAR), 'null')`;
  if (PLAIN_STRINGS.has(id)) return `coalesce('"' || CAST(${value} AS VARCHAR) || '"', 'null')`;
  const [first, second] = children;
  switch (id) {
    case 'FLOAT':
    case 'DOUBLE':
      return `CASE WHEN ${value} IS NULL THEN 'null' WHEN isfinite(${value}) THEN CAST(${value} AS VARCHAR)
        WHEN isnan(${value}) THEN '"NaN"' WHEN ${value} > 0 THEN '"Infinity"' ELSE '"-Infinity"' END`;
    case 'BLOB':
      return `coalesce('"' || to_base64(${value}) || '"', 'null')`;
    case 'NULL':
      return `'null'`;
    case 'LIST':
      return first === undefined ? textOf(value) : listText(first, value, depth);
    case 'ARRAY':
      return first === undefined
        ? textOf(value)
        : listText(first, `CAST(${value} AS ${first.sql}[])`, depth);
    case 'MAP':
      return first === undefined || second === undefined
        ? textOf(value)
        : mapText(first, second, value, depth);
    case 'STRUCT':
      return structText(children, names, value, depth);
    case 'UNION':
      return unionText(children, names, value, depth);
    default:
      return textOf(value);
  }
}

function textOf(value: string): string {
  return `coalesce(CAST(to_json(CAST(${value} AS VARCHAR)) AS VARCHAR), 'null')`;
}

function joined(list: string, item: string, text: string): string {
  const texts = `list_transform(${list}, lambda ${item}: ${text})`;
  return `'[' || coalesce(array_to_string(${texts}, ','), '') || ']'`;
}

function listText(element: SqlType, value: string, depth: number): string {
  const item = `e${depth}`;
  return orNull(value, joined(value, item, jsonText(element, item, depth + 1)));
}

function mapText(key: SqlType, element: SqlType, value: string, depth: number): string {
  const item = `e${depth}`;
  const text = `concat('{"key":', ${jsonText(key, `${item}.key`, depth + 1)},
    ',"value":', ${jsonText(element, `${item}.value`, depth + 1)}, '}')`;
  return orNull(value, joined(`map_entries(${value})`, item, text));
}

/** An unnamed row is a list. */
function structText(
  children: readonly SqlType[],
  names: readonly string[],
  value: string,
  depth: number,
): string {
  const isNamed = names.every((name) => name !== '') && names.length === children.length;
  const fields = children.map((child, at) => {
    const comma = at === 0 ? '' : ',';
    const name = names[at] ?? '';
    const field = isNamed
      ? `struct_extract(${value}, ${quotedText(name)})`
      : `struct_extract(${value}, ${at + 1})`;
    const before = isNamed ? `${comma}${JSON.stringify(name)}:` : comma;
    return `${quotedText(before)}, ${jsonText(child, field, depth)}`;
  });
  const [open, close] = isNamed ? ['{', '}'] : ['[', ']'];
  return orNull(value, `concat('${open}', ${fields.join(', ')}, '${close}')`);
}

function unionText(
  children: readonly SqlType[],
  names: readonly string[],
  value: string,
  depth: number,
): string {
  const cases = children.map((child, at) => {
    const name = names[at] ?? '';
    const before = quotedText(`{"tag":${JSON.stringify(name)},"value":`);
    const member = jsonText(child, `union_extract(${value}, ${quotedText(name)})`, depth);
    return `WHEN ${quotedText(name)} THEN concat(${before}, ${member}, '}')`;
  });
  return orNull(value, `CASE CAST(union_tag(${value}) AS VARCHAR) ${cases.join(' ')} END`);
}

function orNull(value: string, text: string): string {
  return `CASE WHEN ${value} IS NULL THEN 'null' ELSE ${text} END`;
}
