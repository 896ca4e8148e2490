/** Runs a custom operator: rows of a query in, rows of a table out. */
import type { DuckDBDataChunk } from '@duckdb/node-api';
import { failureOf } from '../../../tasks/executors/index.ts';
import { parseType } from '../../plan/index.ts';
import type { CustomColumn, CustomRun, Fault } from '../messages.ts';
import { formOf, passedQuery } from '../sql/custom-script.ts';
import { BadOutput, batchOf, chunksOf } from './batches.ts';
import type { CustomCode, RunningOperator } from './custom-code.ts';
import { type Connection, Failed, type Work } from './work.ts';

export interface OperatorTools {
  readonly code: CustomCode;
  /** Tells the parent how far it is, so that it knows what ran when this process dies. */
  readonly tell: (progress: OperatorProgress) => void;
}

export interface OperatorProgress {
  readonly batch: number;
  readonly fraction: number | null;
  readonly note: string | null;
}

/** `reading` and `writing` are two connections of the same instance. */
export async function runOperator(
  work: Work,
  { reading, writing }: { readonly reading: Connection; readonly writing: Connection },
  call: CustomRun,
  { code, tell }: OperatorTools,
): Promise<void> {
  let batch = 0;
  const abort = new AbortController();
  work.onAbort(() => abort.abort(new Error('The query does not want it any more.')));
  const columns = await inputColumns(reading, call.input);
  await writing.run(call.table.create);
  const types = await writing.typesOf(call.output.map(storedType));
  const appender = await writing.appender(call.table.name);
  const refuse = (what: string, isFatal: boolean): Failed =>
    new Failed(operatorFault(call.name, batch, what, isFatal));
  const operator = begun(
    () =>
      code.begin({
        ...{ name: call.name, params: call.params, memoryBytes: call.memoryBytes },
        signal: abort.signal,
        progress: (fraction, note) => tell({ batch, fraction, note: note ?? null }),
      }),
    refuse,
  );
  let rows = 0;
  const chunks = reading.chunks(passedQuery(call.input, columns));
  try {
    for (let given: ReturnType<typeof batchOf> | null | undefined; ;) {
      work.checkAborted();
      const answer = await operator.step(given);
      given = undefined;
      switch (answer.kind) {
        case 'needs': {
          rows = 0;
          const next = await chunks.next();
          batch += 1;
          tell({ batch, fraction: null, note: null });
          given = next.done === true ? null : batchOf(next.value, columns);
          break;
        }
        case 'output':
          for (const chunk of written(answer.batch, call.output, types, refuse)) {
            rows += chunk.rowCount;
            await writing.guard(async () => appender.appendDataChunk(chunk));
          }
          if (rows > call.rowsMax) throw refuse(endless(call.rowsMax), true);
          // A generator that never asks for input must not keep this process from hearing an abort.
          await new Promise(setImmediate);
          break;
        case 'done':
          await writing.guard(async () => appender.closeSync());
          return;
        case 'failed':
          throw refuse(answer.message, answer.isFatal);
        case 'begun':
        case 'values':
          throw refuse('the program gave an unexpected answer', true);
      }
    }
  } finally {
    operator.end();
    await chunks.return(undefined).catch(() => {});
  }
}

/** A generator without end would fill the disk. */
function endless(rowsMax: number): string {
  return `it has returned more than ${rowsMax} rows without asking for more input`;
}

function begun(
  begin: () => RunningOperator,
  refuse: (what: string, isFatal: boolean) => Failed,
): RunningOperator {
  try {
    return begin();
  } catch (error) {
    const { message, isFatal } = failureOf(error);
    throw refuse(message, isFatal);
  }
}

function storedType({ type, form }: CustomColumn): string {
  return form === 'plain' ? type : 'VARCHAR';
}

/** What the operator sees: the names and types of the query's columns. */
async function inputColumns(connection: Connection, input: string): Promise<CustomColumn[]> {
  const rows = await connection.texts(`DESCRIBE SELECT * FROM (\n${input}\n) AS i`);
  return rows.map(([name, type]) => {
    const own = parseType(String(type)).sql;
    return { name: String(name), type: own, form: formOf(own) };
  });
}

function* written(
  batch: unknown,
  columns: readonly CustomColumn[],
  types: Parameters<typeof chunksOf>[2],
  refuse: (what: string, isFatal: boolean) => Failed,
): Generator<DuckDBDataChunk> {
  try {
    yield* chunksOf(batch, columns, types);
  } catch (error) {
    if (!(error instanceof BadOutput)) throw error;
    throw refuse(`a batch that it has returned is not valid: ${error.message}`, true);
  }
}

function operatorFault(name: string, batch: number, what: string, isFatal: boolean): Fault {
  const at = batch === 0 ? 'before its first batch' : `at batch ${batch}`;
  return {
    code: isFatal ? 'operator_invalid' : 'operator_failed',
    what: `The operator '${name}' has failed ${at}: ${what}`,
  };
}
