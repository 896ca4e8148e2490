/** Operators and functions of users for SQL queries: their definition. */
import { NAME_TODO, OPERATOR_NAME, isObject } from '../../scheduler/core/index.ts';
import type { OperatorDistribution, ParameterType } from '../../scheduler/core/index.ts';
import type {
  FunctionDefinition,
  OperatorBatch,
  OperatorContext,
  OperatorDefinition,
  OperatorOutput,
  ParameterSpec,
} from '../executors/index.ts';
import { refuse, refuseUnknownFields, shown } from './fault.ts';
import { checkedName } from './task.ts';

/** What `defineOperator` takes. */
export interface OperatorParts<Specs extends ParameterSpecs = ParameterSpecs> {
  /** What SQL calls it: lower-case letters, digits and `_`. One name means one operator in a cluster. */
  readonly name: string;
  /** Columns that the input must have, with their SQL types; others are passed on as they are. Any if not given. */
  readonly input?: Readonly<Record<string, string>>;
  /** The columns it returns, with their SQL types: `{ score: 'DOUBLE' }`. */
  readonly output: Readonly<Record<string, string>>;
  /**
   * How rows must be spread over the workers for the operator to be correct: `any` way, which is the default, all
   * rows in a `single` place, or rows that are equal in some columns in the same place, `{ hash: ['user'] }`.
   */
  readonly distribution?: OperatorDistribution;
  /** The parameters of a call: `{ text: 'column', limit: { type: 'number', default: 10 } }`. Any if not given. */
  readonly params?: Specs;
  /** Whether a second run over the same rows returns the same rows; true if not given. */
  readonly deterministic?: boolean;
  /** Batches in, batches out. It may run again from its start after a failure. */
  readonly run: (
    batches: AsyncIterable<OperatorBatch>,
    context: OperatorContext<ParametersOf<Specs>>,
  ) => AsyncIterable<OperatorOutput>;
}

export type ParameterSpecs = Readonly<Record<string, ParameterSpec>>;

interface TypeOf {
  readonly string: string;
  readonly number: number;
  readonly boolean: boolean;
  readonly json: unknown;
  /** The name of a column of the input, as the input has it. */
  readonly column: string;
}

/** The values that the operator sees. */
export type ParametersOf<Specs extends ParameterSpecs> = {
  readonly [Name in keyof Specs]: Specs[Name] extends ParameterType
    ? TypeOf[Specs[Name]]
    : Specs[Name] extends { readonly type: infer Type extends ParameterType }
      ? TypeOf[Type]
      : unknown;
};

/** What `defineFunction` takes. */
export interface FunctionParts {
  /** What SQL calls it. */
  readonly name: string;
  /** Its arguments in order, with their SQL types: `{ lat: 'DOUBLE', lon: 'DOUBLE' }`. */
  readonly input: Readonly<Record<string, string>>;
  /** The SQL type of its value. */
  readonly output: string;
  /** Whether equal arguments always give the same value; true if not given. */
  readonly deterministic?: boolean;
  /**
   * Takes a batch of rows, by argument, and returns one value for each row. DuckDB calls it in the middle of a query, so
   * it cannot wait for anything. Rows that have a NULL among their arguments are NULL without a call.
   */
  readonly run: (batch: OperatorBatch) => ArrayLike<unknown>;
}

const FIELDS = ['name', 'input', 'output', 'distribution', 'params', 'deterministic', 'run'];
const FUNCTION_FIELDS = ['name', 'input', 'output', 'deterministic', 'run'];
const PARAMETER_TYPES = ['string', 'number', 'boolean', 'json', 'column'];

/**
 * Defines an operator of your own for SQL queries: batches of rows in, batches of rows out. A query calls it as a
 * table: `SELECT * FROM name((SELECT ...), parameter => value)`.
 */
export function defineOperator<const Specs extends ParameterSpecs = ParameterSpecs>(
  parts: OperatorParts<Specs>,
): OperatorDefinition {
  const about = checkedSqlName('Operator', parts);
  refuseUnknownFields(about, parts, FIELDS);
  const { name, input, output, distribution = 'any', params, deterministic = true, run } = parts;
  if (input !== undefined) checkColumns(about, 'input', input);
  checkColumns(about, 'output', output);
  checkDistribution(about, distribution);
  checkParameters(about, params);
  checkDeterminism(about, deterministic);
  if (typeof run !== 'function') refuse(about, `'run' must be a function, not ${shown(run)}.`);
  return Object.freeze({
    kind: 'millrace.operator',
    name,
    input: input === undefined ? null : Object.freeze({ ...input }),
    output: Object.freeze({ ...output }),
    distribution,
    params: params === undefined ? null : Object.freeze({ ...params }),
    deterministic,
    run: run as OperatorDefinition['run'],
  });
}

/** Defines a scalar function of your own for SQL queries: `SELECT name(a, b) FROM ...`. */
export function defineFunction(parts: FunctionParts): FunctionDefinition {
  const about = checkedSqlName('Function', parts);
  refuseUnknownFields(about, parts, FUNCTION_FIELDS);
  const { name, input, output, deterministic = true, run } = parts;
  checkColumns(about, 'input', input);
  if (typeof output !== 'string' || output.trim() === '')
    refuse(about, `'output' must be an SQL type, not ${shown(output)}.`, "Such as 'DOUBLE'.");
  checkDeterminism(about, deterministic);
  if (typeof run !== 'function') refuse(about, `'run' must be a function, not ${shown(run)}.`);
  return Object.freeze({
    kind: 'millrace.function',
    name,
    input: Object.freeze({ ...input }),
    output,
    deterministic,
    run,
  });
}

function checkedSqlName(kind: string, parts: { readonly name: string }): string {
  const about = checkedName(kind, parts);
  if (!OPERATOR_NAME.test(parts.name))
    refuse(kind, `${shown(parts.name)} is not a valid name.`, NAME_TODO);
  return about;
}

const COLUMNS = "Name each column and its SQL type: { score: 'DOUBLE' }.";

function checkColumns(about: string, field: string, value: unknown): void {
  if (!isObject(value)) {
    refuse(about, `'${field}' must be an object, not ${shown(value)}.`, COLUMNS);
  }
  const columns = Object.entries(value);
  if (columns.length === 0) refuse(about, `'${field}' has no column.`, COLUMNS);
  const names = new Set<string>();
  for (const [column, type] of columns) {
    if (column === '' || typeof type !== 'string' || type.trim() === '')
      refuse(about, `the type of column '${column}' is ${shown(type)}.`, COLUMNS);
    const name = column.toLowerCase();
    if (names.has(name))
      refuse(about, `'${field}' has two columns '${name}': case does not count in SQL.`);
    names.add(name);
  }
}

function checkDistribution(about: string, distribution: unknown): void {
  if (distribution === 'any' || distribution === 'single') return;
  const isRecord = typeof distribution === 'object' && distribution !== null;
  const columns: unknown = isRecord && 'hash' in distribution ? distribution.hash : undefined;
  const isList = Array.isArray(columns) && columns.length > 0;
  if (isList && columns.every((each) => typeof each === 'string' && each !== '')) return;
  refuse(
    about,
    `'distribution' cannot be ${shown(distribution)}.`,
    "It is 'any', 'single' or { hash: ['column', ...] }.",
  );
}

function checkParameters(about: string, params: unknown): void {
  if (params === undefined) return;
  if (!isObject(params)) refuse(about, `'params' must be an object, not ${shown(params)}.`);
  for (const [name, spec] of Object.entries(params)) {
    const isRecord = typeof spec === 'object' && spec !== null && 'type' in spec;
    const type: unknown = isRecord ? spec.type : spec;
    if (typeof type === 'string' && PARAMETER_TYPES.includes(type)) continue;
    refuse(
      about,
      `the parameter '${name}' has the type ${shown(type)}.`,
      `The types are ${PARAMETER_TYPES.join(', ')}.`,
    );
  }
}

function checkDeterminism(about: string, value: unknown): void {
  if (typeof value !== 'boolean')
    refuse(about, `'deterministic' must be true or false, not ${shown(value)}.`);
}
