import { quotedName, quotedText } from './quote.ts';
import { Undistributable } from './undistributable.ts';

/** A logical type of DuckDB: its SQL text, and what the planner needs to know about it. */
export interface SqlType {
  /** As written in a cast: `DECIMAL(12,2)`, `STRUCT("a" INTEGER)`, `ENUM('x')`. */
  readonly sql: string;
  /** DuckDB's id: `INTEGER`, `DECIMAL`, `VARCHAR`, `LIST`, `TIMESTAMP WITH TIME ZONE`, ... */
  readonly id: string;
  readonly width?: number;
  readonly scale?: number;
  /** The element of a LIST or ARRAY, the key and value of a MAP, the fields of a STRUCT or UNION. */
  readonly children?: readonly SqlType[];
  /** The fields of a STRUCT (empty for an unnamed row), the members of a UNION, the values of an ENUM. */
  readonly names?: readonly string[];
  /** Of an ARRAY. */
  readonly size?: number;
  /** Text is compared by it rather than by bytes. Bound expressions say so in function calls too, so no cast has to. */
  readonly collation?: string;
}

/** A type that is defined by its id alone. */
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

/** @param system the coordinate system as a literal; null for none. */
export function geometryType(system: string | null): SqlType {
  return { sql: system === null ? 'GEOMETRY' : `GEOMETRY(${system})`, id: 'GEOMETRY' };
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
  const values = names.map(quotedText).join(', ');
  return { sql: `ENUM(${values})`, id: 'ENUM', names };
}

/** An unnamed row (`ROW(1, 2)`) has a type that SQL cannot name, and so has any type that contains one. */
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
  // No cast can name the type, but the branch of a CASE that is never taken has it.
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
      const fields = parts.map((part, i) => `${quotedName(type.names?.[i] ?? '')} := ${part}`);
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
    .map((child, i) => (names[i] ? `${quotedName(names[i])} ${child.sql}` : child.sql))
    .join(', ');
}
