/**
 * Writes a constant as SQL. DuckDB's plan has the stored form (days, microseconds, unscaled decimals); the SQL has
 * exactly the same value and type in any context.
 */
import { quotedName, quotedText } from './quote.ts';
import type { PlanNode } from './plan-node.ts';
import { castTo, isNameless, nullOf, type SqlType } from './type.ts';
import { dateText, intervalText, timestampText, timeText, timeTzText } from './temporal.ts';
import { Undistributable } from './undistributable.ts';

/** `node` is `{type, is_null, value}`. `type` is the type it states, or a more exact one known to the caller. */
export function readLiteral(node: PlanNode, type: SqlType): string {
  if (node.at('is_null').bool()) return nullOf(type);
  return valueText(node.at('value'), type);
}

const CONTROL = /(\p{Cc})/u;

/**
 * Quoted text. A NUL character would end the SQL and a line break would be lost in its layout, so such characters are
 * inserted by code point.
 */
export function stringText(value: string): string {
  const pieces = value
    .split(CONTROL)
    .map((piece, i) => (i % 2 === 1 ? `chr(${piece.charCodeAt(0)})` : quotedText(piece)));
  return pieces.length === 1 ? (pieces[0] ?? "''") : `(${pieces.join(' || ')})`;
}

function valueText(value: PlanNode, type: SqlType): string {
  switch (type.id) {
    case 'BOOLEAN':
      return value.bool() ? 'true' : 'false';
    case 'INTEGER':
      return integerText(value.integer(), type);
    case 'TINYINT':
    case 'SMALLINT':
    case 'BIGINT':
    case 'UTINYINT':
    case 'USMALLINT':
    case 'UINTEGER':
      return castTo(String(value.integer()), type);
    case 'UBIGINT':
      return castTo(`'${value.integer()}'`, type);
    case 'HUGEINT':
    case 'UHUGEINT':
      return castTo(`'${wideInteger(value)}'`, type);
    case 'DECIMAL':
      return castTo(`'${decimalText(value, type)}'`, type);
    case 'FLOAT':
    case 'DOUBLE':
      return castTo(`'${value.number()}'`, type);
    case 'VARCHAR':
      return stringText(value.text());
    case 'JSON':
    // DuckDB has already written the bytes as `\xFF`.
    case 'BLOB':
      return castTo(stringText(value.text()), type);
    case 'UUID':
      return castTo(`'${uuidText(value)}'`, type);
    case 'ENUM':
      return enumText(value, type);
    default:
      return temporalText(value, type) ?? nestedText(value, type);
  }
}

function temporalText(value: PlanNode, type: SqlType): string | null {
  switch (type.id) {
    case 'DATE':
      return dateText(value.integer());
    case 'TIME':
      return castTo(`'${timeText(value.integer(), 6)}'`, type);
    case 'TIME_NS':
      return castTo(`'${timeText(value.integer(), 9)}'`, type);
    case 'TIME WITH TIME ZONE':
      return castTo(`'${timeTzText(value.integer())}'`, type);
    case 'TIMESTAMP':
    case 'TIMESTAMP_S':
    case 'TIMESTAMP_MS':
    case 'TIMESTAMP_NS':
    case 'TIMESTAMP WITH TIME ZONE':
      return timestampText(value.integer(), type);
    case 'INTERVAL':
      return intervalText(
        value.at('months').integer(),
        value.at('days').integer(),
        value.at('micros').integer(),
      );
    default:
      return null;
  }
}

function nestedText(value: PlanNode, type: SqlType): string {
  switch (type.id) {
    case 'LIST': {
      const items = itemTexts(value, type);
      if (items.length === 0) return castTo('[]', type);
      return vectorText(items, type) ?? `[${items.join(', ')}]`;
    }
    case 'ARRAY': {
      const items = itemTexts(value, type);
      return vectorText(items, type) ?? `array_value(${items.join(', ')})`;
    }
    case 'MAP':
      return mapText(value, type);
    case 'STRUCT': {
      const texts = fieldTexts(value, type);
      if (isNameless({ ...type, children: [] })) return `row(${texts.join(', ')})`;
      const fields = texts.map((text, i) => `${quotedName(type.names?.[i] ?? '')} := ${text}`);
      return `struct_pack(${fields.join(', ')})`;
    }
    case 'UNION':
      return unionText(value, type);
    default:
      throw new Undistributable(`it has a constant of type ${type.sql}`);
  }
}

const FLOATING = /^CAST\('([^']+)' AS (?:FLOAT|DOUBLE)\)$/;

/** One constant for a list of floating-point numbers without NULL: an embedding has thousands of them. */
function vectorText(items: readonly string[], type: SqlType): string | null {
  const numbers = items.flatMap((item) => FLOATING.exec(item)?.[1] ?? []);
  return numbers.length < items.length ? null : castTo(`'[${numbers.join(', ')}]'`, type);
}

/** Without a cast a literal is an INTEGER, and for the smallest value the minus sign would be applied too late. */
function integerText(value: bigint, type: SqlType): string {
  return value >= -2147483647n ? String(value) : castTo(`'${value}'`, type);
}

function wideInteger(value: PlanNode): bigint {
  return (value.at('upper').integer() << 64n) + value.at('lower').integer();
}

function decimalText(value: PlanNode, type: SqlType): string {
  const scale = type.scale ?? 0;
  const unscaled = (type.width ?? 0) > 18 ? wideInteger(value) : value.integer();
  const digits = String(unscaled < 0n ? -unscaled : unscaled).padStart(scale + 1, '0');
  const whole = digits.slice(0, digits.length - scale);
  const sign = unscaled < 0n ? '-' : '';
  return scale === 0 ? `${sign}${whole}` : `${sign}${whole}.${digits.slice(whole.length)}`;
}

/** DuckDB stores a UUID as a signed number with its first bit flipped, so that it sorts as text does. */
function uuidText(value: PlanNode): string {
  const bits = BigInt.asUintN(128, wideInteger(value)) ^ (1n << 127n);
  const hex = bits.toString(16).padStart(32, '0');
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

function enumText(value: PlanNode, type: SqlType): string {
  const name = type.names?.[value.index()];
  if (name === undefined) throw value.odd('value of the ENUM');
  return castTo(stringText(name), type);
}

function itemTexts(value: PlanNode, type: SqlType): string[] {
  const element = type.children?.[0];
  if (element === undefined) throw value.odd('element type');
  return childrenOf(value).map((item) => readLiteral(item, element));
}

function fieldTexts(value: PlanNode, type: SqlType): string[] {
  return childrenOf(value).map((item, i) => {
    const field = type.children?.[i];
    if (field === undefined) throw value.odd('field type');
    return readLiteral(item, field);
  });
}

function mapText(value: PlanNode, type: SqlType): string {
  const [key, item] = type.children ?? [];
  if (key === undefined || item === undefined) throw value.odd('key and value');
  const entries = childrenOf(value).map((entry) => childrenOf(entry.at('value')));
  if (entries.length === 0) return castTo('MAP {}', type);
  const texts = (place: number, of: SqlType): string =>
    entries
      .map((entry) => entry[place])
      .map((part) => {
        if (part === undefined) throw value.odd('key and value');
        return readLiteral(part, of);
      })
      .join(', ');
  return `map([${texts(0, key)}], [${texts(1, item)}])`;
}

function unionText(value: PlanNode, type: SqlType): string {
  const [tag, ...members] = childrenOf(value);
  if (tag === undefined) throw value.odd('tag');
  const place = tag.at('value').index();
  const member = members[place];
  const of = type.children?.[place];
  if (member === undefined || of === undefined) throw value.odd('member');
  const name = quotedName(type.names?.[place] ?? '');
  return castTo(`union_value(${name} := ${readLiteral(member, of)})`, type);
}

function childrenOf(value: PlanNode): PlanNode[] {
  return value.at('children').list();
}
