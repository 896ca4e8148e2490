/** Operators of users for SQL queries: their definition. */
import { refuse, refuseUnknownFields, shown } from './fault.ts';
import { checkedName } from './task.ts';

/** Rows, by column: every list has `rowCount` values. */
export interface OperatorBatch {
  readonly rowCount: number;
  readonly columns: Readonly<Record<string, readonly unknown[]>>;
}

export interface OperatorContext {
  /** Aborts when the work is not wanted any more. */
  readonly signal: AbortSignal;
  /** What the query says to the operator, as JSON. */
  readonly options: unknown;
}

/**
 * How the rows must be spread over the workers for the operator to be right: `any` way, all rows in a
 * `single` place, or rows that are equal in some columns in the same place.
 */
export type OperatorDistribution = 'any' | 'single' | { readonly hash: readonly string[] };

/** What `defineOperator` takes. */
export interface OperatorParts {
  /** Unique among all operators and tasks of a cluster: workers offer it under this name. */
  readonly name: string;
  /** The columns it answers, with their SQL types: `{ score: 'DOUBLE' }`. */
  readonly output: Readonly<Record<string, string>>;
  /** `any` unless given. */
  readonly distribution?: OperatorDistribution;
  /** Batches in, batches out. It may be run again from its start after a failure. */
  readonly run: (
    batches: AsyncIterable<OperatorBatch>,
    context: OperatorContext,
  ) => AsyncIterable<OperatorBatch>;
}

/** An operator that `defineOperator` made. */
export interface OperatorDefinition extends Required<OperatorParts> {
  readonly kind: 'millrace.operator';
}

const FIELDS = ['name', 'output', 'distribution', 'run'];

/**
 * Defines an operator of your own for SQL queries: batches of rows in, batches of rows out.
 *
 * There is no engine yet that runs it: today a worker only offers its name.
 */
export function defineOperator(parts: OperatorParts): OperatorDefinition {
  const about = checkedName('Operator', parts);
  refuseUnknownFields(about, parts, FIELDS);
  const { name, distribution = 'any', run } = parts;
  const output: unknown = parts.output;
  if (typeof output !== 'object' || output === null || Array.isArray(output)) {
    refuse(about, `'output' must be an object, not ${shown(output)}.`, COLUMNS);
  }
  const columns = Object.entries(output as Readonly<Record<string, unknown>>);
  if (columns.length === 0) refuse(about, "'output' has no column.", COLUMNS);
  for (const [column, type] of columns) {
    if (column !== '' && typeof type === 'string' && type.trim() !== '') continue;
    refuse(about, `the type of column '${column}' is ${shown(type)}.`, COLUMNS);
  }
  checkDistribution(about, distribution);
  if (typeof run !== 'function') refuse(about, `'run' must be a function, not ${shown(run)}.`);
  return Object.freeze({
    kind: 'millrace.operator',
    name,
    output: Object.freeze({ ...parts.output }),
    distribution,
    run,
  });
}

const COLUMNS = "Name each column and its SQL type: { score: 'DOUBLE' }.";

function checkDistribution(about: string, distribution: unknown): void {
  if (distribution === 'any' || distribution === 'single') return;
  const isObject = typeof distribution === 'object' && distribution !== null;
  const columns: unknown = isObject && 'hash' in distribution ? distribution.hash : undefined;
  const isList = Array.isArray(columns) && columns.length > 0;
  if (isList && columns.every((each) => typeof each === 'string' && each !== '')) return;
  refuse(
    about,
    `'distribution' cannot be ${shown(distribution)}.`,
    "It is 'any', 'single' or { hash: ['column', ...] }.",
  );
}
