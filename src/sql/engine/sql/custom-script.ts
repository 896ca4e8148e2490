/**
 * How rows pass between DuckDB and custom operators. Types that JavaScript has are passed as they are; lists, structs
 * and maps as JSON; all others as text, as DuckDB casts it.
 */
import type { OperatorDeclaration } from '../../../scheduler/core/index.ts';
import { parseType, type CustomCall, type Fragment, quotedName } from '../../plan/index.ts';
import type { FunctionSignature } from '../engine.ts';
import type { CustomColumn, CustomForm } from '../messages.ts';

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

/** How DuckDB knows a custom function. */
export interface RegisteredFunction {
  /** What runs the code of its author. */
  readonly name: string;
  readonly input: readonly string[];
  readonly output: string;
  /** For types that JavaScript lacks: a macro with the name and the types of the function, which calls it. */
  readonly macro: string | null;
}

/** Its parameters are typed, so DuckDB binds a call as it would bind one of the function itself. */
export function registeredFunction({
  name,
  input,
  parameters,
  output,
}: FunctionSignature): RegisteredFunction {
  if ([...input, output].every((type) => formOf(type) === 'plain'))
    return { name, input, output, macro: null };
  const own = parameters.map((_, at) => `p${at}`);
  const list = own.map((parameter, at) => `${parameter} ${input[at]}`);
  const args = own.map((parameter, at) => passed(parameter, formOf(input[at] ?? 'VARCHAR')));
  const call = returned(`${rawName(name)}(${args.join(', ')})`, output, formOf(output));
  const stored = (type: string): string => (formOf(type) === 'plain' ? type : 'VARCHAR');
  return {
    name: rawName(name),
    input: input.map(stored),
    output: stored(output),
    macro: `CREATE MACRO ${quotedName(name)}(${list.join(', ')}) AS ${call}`,
  };
}

/** Plans have this name instead of that of the macro. */
export function rawName(name: string): string {
  return `${RESERVED_PREFIX}call_${name}`;
}

/** Names of operators and functions cannot begin like this. */
export const RESERVED_PREFIX = 'millrace_';

function passed(column: string, form: CustomForm): string {
  if (form === 'plain') return column;
  return form === 'json' ? `CAST(to_json(${column}) AS VARCHAR)` : `CAST(${column} AS VARCHAR)`;
}

function returned(value: string, type: string, form: CustomForm): string {
  if (form === 'plain') return value;
  return form === 'json' ? `CAST(CAST(${value} AS JSON) AS ${type})` : `CAST(${value} AS ${type})`;
}

/** The query that a custom operator reads, with its columns in the form in which they are passed. */
export function passedQuery(input: string, columns: readonly CustomColumn[]): string {
  const list = columns.map(({ form }, at) => passed(`c${at}`, form));
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
  const list = columns.map(({ type, form }, at) => `${returned(`c${at}`, type, form)} AS c${at}`);
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
