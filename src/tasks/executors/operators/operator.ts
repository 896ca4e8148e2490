/** Operators and functions of users for SQL queries: the port between a worker and what it runs. */
import type {
  OperatorColumn,
  OperatorDeclaration,
  OperatorDistribution,
  OperatorParameter,
  ParameterType,
} from '../../../scheduler/core/index.ts';

/**
 * The values of one column. Numbers without NULL come as a typed array, everything else as a list with null for NULL.
 * A BIGINT is a bigint; types that JavaScript lacks, such as DECIMAL and TIMESTAMP, are text as DuckDB writes it; lists
 * and structs are JSON.
 */
export type ColumnValues = ArrayLike<unknown>;

/** Rows, by column: every list has `rowCount` values. */
export interface OperatorBatch {
  readonly rowCount: number;
  readonly columns: Readonly<Record<string, ColumnValues>>;
}

/** What an operator yields. `rowCount` may be left out. */
export interface OperatorOutput {
  readonly rowCount?: number;
  readonly columns: Readonly<Record<string, ColumnValues>>;
}

export interface OperatorContext<Params = Readonly<Record<string, unknown>>> {
  /** Aborts when the work is not wanted any more. */
  readonly signal: AbortSignal;
  /** What the query says to the operator: `name => value`. */
  readonly params: Params;
  /** The memory limit of the process that it runs in, in bytes. */
  readonly memoryBytes: number;
  /** From 0 to 1. */
  readonly progress: (fraction: number, note?: string) => void;
}

export interface OperatorDefinition {
  readonly kind: 'millrace.operator';
  readonly name: string;
  /** Columns that the input must have; null for any. */
  readonly input: Readonly<Record<string, string>> | null;
  readonly output: Readonly<Record<string, string>>;
  readonly distribution: OperatorDistribution;
  readonly params: Readonly<Record<string, ParameterSpec>> | null;
  readonly deterministic: boolean;
  run(
    batches: AsyncIterable<OperatorBatch>,
    context: OperatorContext,
  ): AsyncIterable<OperatorOutput>;
}

/** The type of a parameter, or an object with its type and its default. */
export type ParameterSpec =
  | ParameterType
  | { readonly type: ParameterType; readonly default?: unknown };

export interface FunctionDefinition {
  readonly kind: 'millrace.function';
  readonly name: string;
  /** Its arguments in order, with their SQL types. */
  readonly input: Readonly<Record<string, string>>;
  /** The SQL type of what it returns. */
  readonly output: string;
  readonly deterministic: boolean;
  /** Takes a batch of arguments and returns one value for each row. */
  run(batch: OperatorBatch): ColumnValues;
}

export type CustomDefinition = OperatorDefinition | FunctionDefinition;

/** What the cluster must know of it. */
export function declarationOf(definition: CustomDefinition): OperatorDeclaration {
  const { name, deterministic: isDeterministic } = definition;
  if (definition.kind === 'millrace.function') {
    const input = columnsOf(definition.input);
    const output = [{ name, type: definition.output }];
    const rest = { distribution: 'any', parameters: null, isDeterministic } as const;
    return { name, kind: 'function', input, output, ...rest };
  }
  const { input, output, distribution, params } = definition;
  return {
    name,
    kind: 'operator',
    input: input === null ? null : columnsOf(input),
    output: columnsOf(output),
    distribution,
    parameters: params === null ? null : parametersOf(params),
    isDeterministic,
  };
}

function columnsOf(columns: Readonly<Record<string, string>>): readonly OperatorColumn[] {
  return Object.entries(columns).map(([name, type]) => ({ name, type }));
}

function parametersOf(
  specs: Readonly<Record<string, ParameterSpec>>,
): readonly OperatorParameter[] {
  return Object.entries(specs).map(([name, spec]) => {
    if (typeof spec === 'string') return { name, type: spec, isRequired: true };
    return { name, type: spec.type, isRequired: !Object.hasOwn(spec, 'default') };
  });
}

/** The parameters of a call with the defaults of those that it leaves out. */
export function withDefaults(
  { params: specs }: OperatorDefinition,
  given: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const defaults = Object.entries(specs ?? {}).flatMap(([name, spec]) =>
    typeof spec === 'object' && Object.hasOwn(spec, 'default') ? [[name, spec.default]] : [],
  );
  return { ...(Object.fromEntries(defaults) as Record<string, unknown>), ...given };
}
