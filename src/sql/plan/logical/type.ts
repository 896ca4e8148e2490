import { Undistributable } from './undistributable.ts';

/** A logical type of DuckDB: its name for SQL text, and what the planner has to know of it. */
export interface SqlType {
  /** As a cast can be written: `DECIMAL(12,2)`, `STRUCT("a" INTEGER)`, `ENUM('x')`. */
  readonly sql: string;
  /** DuckDB's id: `INTEGER`, `DECIMAL`, `VARCHAR`, `LIST`, `TIMESTAMP WITH TIME ZONE`, ... */
  readonly id: string;
  readonly width?: number;
  readonly scale?: number;
  /** Of a LIST or ARRAY the element, of a MAP key and value, of a STRUCT or UNION the fields. */
  readonly children?: readonly SqlType[];
  /** The fields of a STRUCT (empty for those of a row without names), the members of a UNION, the values of an
   * ENUM. */
  readonly names?: readonly string[];
  /** Of an ARRAY. */
  readonly size?: number;
  /** Text compares by it, not by bytes. What DuckDB binds says so in functions too, so no cast has to. */
  readonly collation?: string;
}

/** A type that needs no more than its id. */
export function plainType(id: string): SqlType {
  return { sql: id === 'NULL' ? '"NULL"' : id, id };
}

export const BOOLEAN: SqlType = plainType('BOOLEAN');
export const INTEGER: SqlType = plainType('INTEGER');
export const BIGINT: SqlType = plainType('BIGINT');
export const HUGEINT: SqlType = plainType('HUGEINT');
export const DOUBLE: SqlType = plainType('DOUBLE');
export const VARCHAR: SqlType = plainType('VARCHAR');

export function decimalType(width: number, scale: number): SqlType {
  return { sql: `DECIMAL(${width},${scale})`, id: 'DECIMAL', width, scale };
}

export function listType(element: SqlType): SqlType {
  return { sql: `${element.sql}[]`, id: 'LIST', children: [element] };
}

export function arrayType(element: SqlType, size: number): SqlType {
  return { sql: `${element.sql}[${size}]`, id: 'ARRAY', children: [element], size };
}

export function mapType(key: SqlType, value: SqlType): SqlType {
  return { sql: `MAP(${key.sql}, ${value.sql})`, id: 'MAP', children: [key, value] };
}

export function structType(names: readonly string[], children: readonly SqlType[]): SqlType {
  return { sql: `STRUCT(${fields(names, children)})`, id: 'STRUCT', children, names };
}

export function unionType(names: readonly string[], children: readonly SqlType[]): SqlType {
  return { sql: `UNION(${fields(names, children)})`, id: 'UNION', children, names };
}

export function enumType(names: readonly string[]): SqlType {
  const values = names.map((name) => `'${name.replaceAll("'", "''")}'`).join(', ');
  return { sql: `ENUM(${values})`, id: 'ENUM', names };
}

/** A row without names (`ROW(1, 2)`) has a type that no SQL text can name; so has whatever holds one. */
export function isNameless(type: SqlType): boolean {
  if (type.id === 'STRUCT' && type.names?.some((name) => name === '')) return true;
  return type.children?.some(isNameless) ?? false;
}

export function castTo(sql: string, type: SqlType): string {
  if (isNameless(type)) throw new Undistributable('it uses a row without field names');
  return `CAST(${sql} AS ${type.sql})`;
}

/** NULL of exactly this type. */
export function nullOf(type: SqlType): string {
  if (!isNameless(type)) return castTo('NULL', type);
  // No cast can name the type, but a value that is never made has it.
  return `CASE WHEN false THEN ${sampleOf(type)} END`;
}

function sampleOf(type: SqlType): string {
  const parts = (type.children ?? []).map(nullOf);
  switch (type.id) {
    case 'LIST':
      return `[${parts.join(', ')}]`;
    case 'ARRAY':
      return `array_value(${Array.from({ length: type.size ?? 0 }, () => parts[0] ?? '').join(', ')})`;
    case 'MAP':
      return `map([${parts[0] ?? ''}], [${parts[1] ?? ''}])`;
    case 'STRUCT': {
      if (type.names?.includes('')) return `row(${parts.join(', ')})`;
      const fields = parts.map((part, i) => `${quoted(type.names?.[i] ?? '')} := ${part}`);
      return `struct_pack(${fields.join(', ')})`;
    }
    default:
      throw new Undistributable('it uses a row without field names');
  }
}

export function sameType(left: SqlType, right: SqlType): boolean {
  return left.sql === right.sql;
}

function fields(names: readonly string[], children: readonly SqlType[]): string {
  return children
    .map((child, i) => (names[i] ? `${quoted(names[i])} ${child.sql}` : child.sql))
    .join(', ');
}

/** An identifier, always in quotes: no keyword and no letter case can change it. */
export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
