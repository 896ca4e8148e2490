/** Parses types as DuckDB writes them, and as people do. */
import {
  arrayType,
  decimalType,
  enumType,
  geometryType,
  listType,
  mapType,
  plainType,
  structType,
  unionType,
  type SqlType,
} from '../logical/type.ts';
import { PLAIN_TYPES } from '../logical/read-type.ts';
import { Undistributable } from '../logical/undistributable.ts';

const ALIASES: Readonly<Record<string, string>> = {
  TIMESTAMPTZ: 'TIMESTAMP WITH TIME ZONE',
  TIMETZ: 'TIME WITH TIME ZONE',
  ...{ INT1: 'TINYINT', INT2: 'SMALLINT', SHORT: 'SMALLINT', INT: 'INTEGER', INT4: 'INTEGER' },
  ...{ INT8: 'BIGINT', LONG: 'BIGINT', BOOL: 'BOOLEAN', BYTEA: 'BLOB', DATETIME: 'TIMESTAMP' },
  ...{ REAL: 'FLOAT', FLOAT4: 'FLOAT', FLOAT8: 'DOUBLE', TEXT: 'VARCHAR', STRING: 'VARCHAR' },
};

/** Refuses unknown types with `Undistributable`. */
export function parseType(sql: string): SqlType {
  const parser = new TypeParser(sql);
  const type = parser.type();
  parser.expectEnd();
  return type;
}

class TypeParser {
  readonly #sql: string;
  #at = 0;

  constructor(sql: string) {
    this.#sql = sql;
  }

  type(): SqlType {
    let type = this.#base();
    for (;;) {
      const size = this.#match(/\[\s*(\d*)\s*\]/y);
      if (size === null) return type;
      type = size[1] === '' ? listType(type) : arrayType(type, Number(size[1]));
    }
  }

  expectEnd(): void {
    this.#match(/\s*/y);
    if (this.#at < this.#sql.length) throw this.#unknown();
  }

  #base(): SqlType {
    // An untyped NULL.
    if (this.#match(/"NULL"/y) !== null) return plainType('NULL');
    const words = this.#match(/[A-Za-z_][A-Za-z0-9_]*(?: WITH TIME ZONE)?/iy);
    const written = words?.[0].toUpperCase() ?? '';
    const name = ALIASES[written] ?? written;
    switch (name) {
      case 'DECIMAL':
      case 'NUMERIC': {
        const found = this.#match(/\(\s*(\d+)\s*,\s*(\d+)\s*\)/y);
        // DuckDB's default for a bare DECIMAL.
        return found === null
          ? decimalType(18, 3)
          : decimalType(Number(found[1]), Number(found[2]));
      }
      case 'MAP': {
        this.#expect('(');
        const key = this.type();
        this.#expect(',');
        const value = this.type();
        this.#expect(')');
        return mapType(key, value);
      }
      case 'STRUCT': {
        const { names, types } = this.#fields();
        return structType(names, types);
      }
      case 'UNION': {
        const { names, types } = this.#fields();
        return unionType(names, types);
      }
      case 'ENUM':
        return enumType(this.#values());
      // No plan with these two is read, but they may be in the result of a query that runs as a single fragment.
      case 'GEOMETRY':
        return geometryType(this.#match(/\(\s*('(?:[^']|'')*')\s*\)/y)?.[1] ?? null);
      case 'VARIANT':
      case 'JSON':
        return plainType(name);
      default:
        if (!PLAIN_TYPES.has(name)) throw this.#unknown();
        return plainType(name);
    }
  }

  /** `"a" INTEGER, b VARCHAR`, or types alone for an unnamed row. */
  #fields(): { names: string[]; types: SqlType[] } {
    const names: string[] = [];
    const types: SqlType[] = [];
    this.#expect('(');
    do {
      names.push(this.#fieldName());
      types.push(this.type());
    } while (this.#takes(','));
    this.#expect(')');
    return { names, types };
  }

  /** A field has no name if there is only a type. */
  #fieldName(): string {
    const start = this.#at;
    const found = this.#match(/"((?:[^"]|"")*)"|([A-Za-z_][A-Za-z0-9_]*)/y);
    const next = this.#peek();
    const isName = found !== null && next !== undefined && !/[,()[]/.test(next);
    const isWords = found?.[2] !== undefined && this.#isAt(/\s*WITH TIME ZONE/iy);
    if (isName && !isWords) return found[2] ?? (found[1] ?? '').replaceAll('""', '"');
    this.#at = start;
    return '';
  }

  #values(): string[] {
    const values: string[] = [];
    this.#expect('(');
    do {
      const found = this.#match(/'((?:[^']|'')*)'/y);
      if (found?.[1] === undefined) throw this.#unknown();
      values.push(found[1].replaceAll("''", "'"));
    } while (this.#takes(','));
    this.#expect(')');
    return values;
  }

  #peek(): string | undefined {
    this.#skip();
    return this.#sql[this.#at];
  }

  #isAt(pattern: RegExp): boolean {
    pattern.lastIndex = this.#at;
    return pattern.test(this.#sql);
  }

  #takes(sign: string): boolean {
    if (this.#peek() !== sign) return false;
    this.#at++;
    return true;
  }

  #expect(sign: string): void {
    if (!this.#takes(sign)) throw this.#unknown();
  }

  #skip(): void {
    while (/\s/.test(this.#sql[this.#at] ?? '')) this.#at++;
  }

  #match(pattern: RegExp): RegExpExecArray | null {
    this.#skip();
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#sql);
    if (found !== null) this.#at = pattern.lastIndex;
    return found;
  }

  #unknown(): Undistributable {
    return new Undistributable(`it uses the type ${this.#sql}`);
  }
}
