/**
 * How rows pass between DuckDB and custom operators. Types that JavaScript has are passed as they are; lists, structs
 * and maps as JSON; all others as text, as DuckDB casts it.
 */
import type { OperatorDeclaration } from '../../../scheduler/core/index.ts';
import { parseType, type CustomCall, type Fragment } from '../../plan/index.ts';
import type { CustomColumn, CustomForm } from '../messages.ts';
import { quotedName } from './text.ts';

const PLAIN: ReadonlySet<string> = new Set([
  ...['BOOLEAN', 'TINYINT', 'SMALLINT', 'INTEGER', 'BIGINT', 'UTINYINT', 'USMALLINT', 'UINTEGER'],
  ...['UBIGINT', 'FLOAT', 'DOUBLE', 'VARCHAR', 'BLOB'],
]);
const NESTED: ReadonlySet<string> = new Set(['LIST', 'ARRAY', 'STRUCT', 'MAP', 'UNION', 'JSON']);

export function formOf(type: string): CustomForm {
  const { id } = parseType(type);
  if (PLAIN.has(id)) return 'plain';
  return NESTED.has(id) ? 'json' : 'text';
}

/** The query that a custom operator reads, with its columns in the form in which they are passed. */
export function passedQuery(input: string, columns: readonly CustomColumn[]): string {
  const list = columns.map(({ form }, at) => {
    if (form === 'plain') return `c${at}`;
    return form === 'json' ? `CAST(to_json(c${at}) AS VARCHAR)` : `CAST(c${at} AS VARCHAR)`;
  });
  const names = columns.map((_, at) => `c${at}`).join(', ');
  return `SELECT ${list.join(', ')} FROM (\n${input}\n) AS i(${names})`;
}

/** The table that holds what a custom operator has returned. One for each engine: it runs one call at a time. */
const TABLE = 'millrace_custom_rows';

export interface CustomTable {
  readonly name: string;
  readonly create: string;
  readonly drop: string;
  /** Its rows with the declared types. */
  readonly select: string;
}

export function customTable(columns: readonly CustomColumn[]): CustomTable {
  const stored = columns.map(
    ({ type, form }, at) => `c${at} ${form === 'plain' ? type : 'VARCHAR'}`,
  );
  const list = columns.map(({ type, form }, at) => {
    if (form === 'plain') return `c${at}`;
    return form === 'json'
      ? `CAST(CAST(c${at} AS JSON) AS ${type}) AS c${at}`
      : `CAST(c${at} AS ${type}) AS c${at}`;
  });
  return {
    name: TABLE,
    create: `CREATE OR REPLACE TABLE ${TABLE} (${stored.join(', ')})`,
    drop: `DROP TABLE IF EXISTS ${TABLE}`,
    select: `SELECT ${list.join(', ')} FROM memory.main.${TABLE}`,
  };
}

export function outputColumns({ output }: OperatorDeclaration): readonly CustomColumn[] {
  return output.map(({ name, type }) => {
    const own = parseType(type).sql;
    return { name, type: own, form: formOf(own) };
  });
}

/** The query behind the input of a call. The columns of a bare relation get the names that the operator declares. */
export function inputQuery(
  { input }: CustomCall,
  fragment: Fragment,
  declaration: OperatorDeclaration,
): string {
  const relation = [...fragment.scans, ...fragment.inputs].find((each) => each.relation === input);
  if (relation === undefined) return input;
  const declared = declaration.input ?? [];
  const list = relation.columns.map((_, at) => {
    const own = declared[at];
    if (own === undefined) return `c${at}`;
    return `CAST(c${at} AS ${parseType(own.type).sql}) AS ${quotedName(own.name)}`;
  });
  return `SELECT ${list.join(', ')} FROM ${quotedName(input)}`;
}
