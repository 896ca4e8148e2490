/** Reads types from the JSON of a plan. */
import type { PlanNode } from './plan-node.ts';
import {
  arrayType,
  decimalType,
  enumType,
  listType,
  mapType,
  plainType,
  structType,
  unionType,
  type SqlType,
} from './type.ts';
import { Undistributable } from './undistributable.ts';

/** Types that are defined by their id alone, with the name to use in a cast. */
export const PLAIN_TYPES: ReadonlySet<string> = new Set([
  'BOOLEAN',
  'TINYINT',
  'SMALLINT',
  'INTEGER',
  'BIGINT',
  'HUGEINT',
  'UTINYINT',
  'USMALLINT',
  'UINTEGER',
  'UBIGINT',
  'UHUGEINT',
  'FLOAT',
  'DOUBLE',
  'VARCHAR',
  'BLOB',
  'BIT',
  'BIGNUM',
  'UUID',
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
]);

export function readType(node: PlanNode): SqlType {
  const id = node.at('id').text();
  const info = node.at('type_info');
  const alias = info.isThere ? info.at('alias').text() : '';
  if (alias === 'JSON' && id === 'VARCHAR') return { sql: 'JSON', id: 'JSON' };
  if (alias !== '') throw unknown(alias);
  if (info.isThere && info.at('extension_info').isThere) throw unknown(id);
  switch (id) {
    case 'DECIMAL':
      return decimalType(info.at('width').index(), info.at('scale').index());
    case 'LIST':
      return listType(readType(info.at('child_type')));
    case 'ARRAY':
      return arrayType(readType(info.at('child_type')), info.at('size').index());
    case 'MAP': {
      const entry = readType(info.at('child_type'));
      const [key, value] = entry.children ?? [];
      if (key === undefined || value === undefined) throw unknown(id);
      return mapType(key, value);
    }
    case 'STRUCT': {
      const fields = readFields(info);
      return structType(fields.names, fields.types);
    }
    case 'UNION': {
      // The first field is the tag, which is not part of the type's text.
      const fields = readFields(info);
      return unionType(fields.names.slice(1), fields.types.slice(1));
    }
    case 'ENUM':
      return enumType(
        info
          .at('values')
          .list()
          .map((value) => value.text()),
      );
    default:
      return readPlain(id, info);
  }
}

function readPlain(id: string, info: PlanNode): SqlType {
  // The type of an untyped NULL.
  if (id === 'NULL') return plainType(id);
  if (!PLAIN_TYPES.has(id)) throw unknown(id);
  if (!info.isThere) return plainType(id);
  if (id !== 'VARCHAR') throw unknown(id);
  const collation = info.at('collation').text();
  return collation === '' ? plainType(id) : { ...plainType(id), collation };
}

function readFields(info: PlanNode): { names: string[]; types: SqlType[] } {
  const fields = info.at('child_types').list();
  return {
    names: fields.map((field) => field.at('first').text()),
    types: fields.map((field) => readType(field.at('second'))),
  };
}

function unknown(id: string): Undistributable {
  return new Undistributable(`it uses the type ${id}`);
}
