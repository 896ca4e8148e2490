/** Custom scalar functions in an instance of DuckDB. */
import {
  type DuckDBConnection,
  type DuckDBInstance,
  DuckDBScalarFunction,
  type DuckDBType,
} from '@duckdb/node-api';
import { failureOf } from '../../../tasks/executors/index.ts';
import type { ColumnValues, OperatorBatch } from '../../../tasks/executors/index.ts';
import type { FunctionSignature } from '../engine.ts';
import type { CustomColumn } from '../messages.ts';
import { formOf, registeredFunction } from '../sql/custom-script.ts';
import { BadOutput, batchOf, checked } from './batches.ts';
import type { CustomCode } from './custom-code.ts';

type Main = NonNullable<Parameters<typeof DuckDBScalarFunction.create>[0]>['mainFunction'];

/**
 * For planning: DuckDB can bind the functions, and a call of one fails. DuckDB then leaves it in the plan, also where its
 * arguments are constants.
 */
export function registerStubs(
  instance: DuckDBInstance,
  functions: readonly FunctionSignature[],
): Promise<void> {
  return registerFunctions(instance, functions, () => (info) => {
    info.setError('A custom function runs on workers only.');
  });
}

/** On a worker: a call of a function calls the code of its author. */
export function registerCode(instance: DuckDBInstance, code: CustomCode): Promise<void> {
  return registerFunctions(instance, code.settings.functions, (signature) => {
    const { name, output } = signature;
    const columns = signature.input.map((type, at) => ({
      name: `${at}`,
      type,
      form: formOf(type),
    }));
    const value: CustomColumn = { name, type: output, form: formOf(output) };
    return (info, input, result) => {
      try {
        const values = called(code, signature, batchOf(input, columns));
        for (let row = 0; row < input.rowCount; row += 1) {
          const each = values[row];
          const isNull = each === null || each === undefined;
          result.setItem(row, isNull ? null : checked(each, value, row));
        }
        result.flush();
      } catch (error) {
        info.setError(`The function '${name}' has failed: ${failureOf(error).message}`);
      }
    };
  });
}

/** Rows with a NULL among their arguments are NULL; the function is called with the others. */
function called(
  code: CustomCode,
  { name, parameters }: FunctionSignature,
  batch: OperatorBatch,
): ColumnValues {
  const lists = Object.values(batch.columns);
  const rows: number[] = [];
  for (let row = 0; row < batch.rowCount; row += 1)
    if (lists.every((list) => list[row] !== null)) rows.push(row);
  if (rows.length === 0) return [];
  const isAll = rows.length === batch.rowCount;
  const columns = Object.fromEntries(
    lists.map((list, at) => [
      parameters[at] ?? String(at),
      isAll ? list : rows.map((row) => list[row]),
    ]),
  );
  const values: unknown = code.call(name, { rowCount: rows.length, columns });
  if (!isValues(values) || values.length !== rows.length)
    throw new BadOutput(`it must return a list of ${rows.length} values`);
  if (isAll) return values;
  const all: unknown[] = Array.from({ length: batch.rowCount }, () => null);
  for (const [at, row] of rows.entries()) all[row] = values[at];
  return all;
}

function isValues(value: unknown): value is ColumnValues {
  return Array.isArray(value) || (ArrayBuffer.isView(value) && !(value instanceof DataView));
}

async function registerFunctions(
  instance: DuckDBInstance,
  functions: readonly FunctionSignature[],
  mainOf: (signature: FunctionSignature) => Main,
): Promise<void> {
  if (functions.length === 0) return;
  const connection = await instance.connect();
  try {
    for (const signature of functions) {
      const { name, input, output, macro } = registeredFunction(signature);
      const types = await typesOf(connection, [...input, output]);
      const returnType = types.pop() as DuckDBType;
      connection.registerScalarFunction(
        DuckDBScalarFunction.create({
          name,
          mainFunction: mainOf(signature),
          returnType,
          parameterTypes: types,
          ...(signature.isDeterministic ? {} : { volatile: true }),
        }),
      );
      if (macro !== null) await connection.run(macro);
    }
  } finally {
    connection.closeSync();
  }
}

/** Types as DuckDB's API has them, from their SQL. */
export async function typesOf(
  connection: DuckDBConnection,
  types: readonly string[],
): Promise<DuckDBType[]> {
  const list = types.map((type, at) => `CAST(NULL AS ${type}) AS c${at}`);
  const result = await connection.run(`SELECT ${list.join(', ')}`);
  return [...result.columnTypes()];
}
