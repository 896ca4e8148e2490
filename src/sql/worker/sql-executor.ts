/**
 * The `sql` executor takes `{sql, tables?, params?, settings?}`, runs the query as a job of its own and returns
 * `{queryId, columns, rows}`, with values in the form of `format=json`. While the query runs the task holds no slot;
 * cancelling the task cancels the query. A query with more rows than a task result may hold fails the task.
 */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { MillraceError, isMillraceError } from '../../scheduler/core/index.ts';
import type { JobId, Json } from '../../scheduler/core/index.ts';
import { commandOf, inlinePart } from '../engine/index.ts';
import type { ResultPart, RowEngine, RowsRequest } from '../engine/index.ts';
import { ChildJobError, FatalError, Fields } from '../../tasks/executors/index.ts';
import type { Callable, Executor, TaskContext } from '../../tasks/executors/index.ts';
import type { FragmentResult, PartitionRead, ResultColumn } from '../plan/index.ts';
import type { PartitionReader } from '../shuffle/index.ts';

export interface SqlExecutorOptions {
  readonly parts: Pick<PartitionReader, 'localize'>;
  readonly engine: Pick<RowEngine, 'rows'>;
  /** Creates an empty folder for fetched rows; it is removed once they are read. */
  readonly folder: () => Promise<string>;
  /** The largest result of a task. */
  readonly resultBytesMax: number;
}

interface SqlRequest {
  readonly sql: string;
  readonly tables?: Json;
  readonly params?: Json;
  readonly settings?: Json;
}

/** The result of a query that has succeeded. */
interface Answered {
  readonly queryId: JobId;
  readonly columns: readonly ResultColumn[];
  readonly parts: readonly FragmentResult[];
}

/** Rows may be lost with their node before they are read: then the query runs again, up to this many times. */
const ROUNDS_MAX = 3;

export function sqlExecutor(options: SqlExecutorOptions): Executor {
  return {
    name: 'sql',
    async run(input, context) {
      const request = requestIn(input);
      for (let round = 1; ; round += 1) {
        const answered = await queried(request, round, context);
        try {
          const { queryId, columns } = answered;
          return { queryId, columns, rows: await rowsOf(answered, options, context.signal) };
        } catch (error) {
          if (!isMillraceError(error, 'input_lost')) throw error;
          if (round === ROUNDS_MAX) throw lostRows(answered.queryId, error);
          context.log.warn(
            `The rows of query ${answered.queryId} were lost: the query runs again.`,
          );
        }
      }
    },
  };
}

function requestIn(input: Json): SqlRequest {
  const fields = new Fields(input, ['sql', 'tables', 'params', 'settings']);
  const sql = fields.required('sql');
  if (commandOf(sql).kind === 'analyze')
    fields.refuse('sql', 'A task cannot run EXPLAIN ANALYZE: it returns the rows of a query.');
  const given = (['tables', 'params', 'settings'] as const).flatMap((name) => {
    const value = fields.value(name);
    if (value === undefined) return [];
    if (typeof value !== 'object') fields.refuse(name, 'It must be an object.');
    return [[name, value] as const];
  });
  return { sql, ...Object.fromEntries(given) };
}

/** Each round has a step name of its own, so that the recorded result of the previous one is not used. */
async function queried(
  request: SqlRequest,
  round: number,
  context: TaskContext,
): Promise<Answered> {
  const query: Callable<SqlRequest, Answered> = {
    name: 'sql',
    toDocument: (asked) => ({ query: asked }),
    readResult: (result, jobId) => {
      const { columns, parts } = result as unknown as Answered;
      return { queryId: jobId as JobId, columns, parts };
    },
  };
  try {
    return await context.call(round === 1 ? 'query' : `query-${round}`, query, request);
  } catch (error) {
    if (!(error instanceof ChildJobError)) throw error;
    throw failedQuery(error);
  }
}

/** Reports the query's own error: that it was a separate job is a detail. */
function failedQuery({ jobId, state, error }: ChildJobError): FatalError {
  const message = error?.message ?? `The query ${jobId} was ${state}.`;
  const code = error?.code ?? state;
  if (code !== 'task_failed') return Object.assign(new FatalError(message), { code });
  // The tasks of a query are internal.
  const words = message.replace(/^task \S+ failed: /, '');
  return Object.assign(new FatalError(words), { code: 'query_failed' });
}

async function rowsOf(
  { queryId, columns, parts }: Answered,
  options: SqlExecutorOptions,
  signal: AbortSignal,
): Promise<readonly Json[]> {
  const inline = parts.map((part) => part.inline?.rows ?? null);
  if (inline.every((rows) => rows !== null)) return inline.flat() as Json[];
  const bytes = parts.reduce((sum, part) => sum + (part.parts[0]?.bytes ?? 0), 0);
  // Parquet is smaller than JSON, so what exceeds the limit already need not be fetched.
  if (bytes > options.resultBytesMax) throw tooLarge(queryId, options.resultBytesMax);
  const folder = await options.folder();
  try {
    const all = await partsOf(queryId, parts, folder, options, signal);
    const text = await jsonOf(queryId, { parts: all, columns }, options, signal);
    return (JSON.parse(text) as { readonly rows: readonly Json[] }).rows;
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 3 });
  }
}

/** In the order of the partitions, which is the order of the rows. */
async function partsOf(
  queryId: JobId,
  parts: readonly FragmentResult[],
  folder: string,
  { parts: reader }: SqlExecutorOptions,
  signal: AbortSignal,
): Promise<readonly ResultPart[]> {
  const reads = parts.flatMap((result): PartitionRead[] => {
    const [part] = result.parts;
    return result.inline !== null || part === undefined
      ? []
      : [{ at: result.at, partition: 0, part }];
  });
  const fetched = await reader.localize(queryId, reads, folder, signal);
  const all: ResultPart[] = [];
  let next = 0;
  for (const [at, { inline }] of parts.entries()) {
    if (inline === null) {
      all.push(...(fetched[next]?.files ?? []));
      next += 1;
      continue;
    }
    all.push(await inlinePart(inline, join(folder, `inline-${at}.parquet`), signal));
  }
  return all;
}

async function jsonOf(
  queryId: JobId,
  result: Pick<RowsRequest, 'parts' | 'columns'>,
  { engine, resultBytesMax }: SqlExecutorOptions,
  signal: AbortSignal,
): Promise<string> {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of engine.rows({ ...result, format: 'json' }, signal)) {
    bytes += piece.length;
    if (bytes > resultBytesMax) throw tooLarge(queryId, resultBytesMax);
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString('utf8');
}

function tooLarge(queryId: JobId, bytesMax: number): MillraceError {
  return new MillraceError({
    code: 'too_large',
    what: `The rows of query ${queryId} exceed the ${bytesMax} bytes that the result of a task may have.`,
    todo: 'Aggregate or limit them in the query, or read them with GET /api/v1/queries/ID/results.',
  });
}

function lostRows(queryId: JobId, cause: Error): MillraceError {
  return new MillraceError({
    code: 'result_lost',
    what: `The rows of query ${queryId} were lost again, after ${ROUNDS_MAX} attempts.`,
    why: cause.message,
    cause,
  });
}
