/**
 * Serves the rows of a finished query: small results from the store, others from the worker that has them. Nothing is
 * read ahead of the client.
 */
import { randomUUID } from 'node:crypto';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { MillraceError, isMillraceError } from '../../scheduler/core/index.ts';
import type { JobId } from '../../scheduler/core/index.ts';
import { type ResultPart, type RowEngine, inlinePart } from '../engine/index.ts';
import type {
  InlineRows,
  QueryFigures,
  ResultFormat,
  ResultStream,
} from '../../scheduler/contract/index.ts';
import { EXPLAIN_KEYS } from '../plan/index.ts';
import type { QueryRecord } from '../plan/index.ts';
import { PartitionLostError } from '../shuffle/index.ts';
import type { PartitionReader } from '../shuffle/index.ts';
import { failureOf } from './query-error.ts';
import { inlineJson, inlineRows, jsonPieces } from './inline-json.ts';
import { PRIVATE_FOLDER } from '../../kit/index.ts';

export interface QueryResultsOptions {
  readonly record: (id: JobId) => Promise<QueryRecord | null>;
  /** The explanation of a finished query; null if there is no such query. */
  readonly analysis: (id: JobId) => Promise<string | null>;
  readonly parts: Pick<PartitionReader, 'localize'>;
  readonly rows: Pick<RowEngine, 'rows'>;
  /** For fetched files, until they are read. */
  readonly folder: string;
  /** Results read through the engine at the same time. */
  readonly openMax?: number;
}

export type ResultFigures = Pick<
  QueryFigures,
  'results' | 'resultsFailed' | 'resultsOpen' | 'resultBytes' | 'fetchedBytes'
>;

const OPEN_MAX = 32;

export class QueryResults {
  readonly #options: QueryResultsOptions;
  #results = 0;
  #failed = 0;
  #open = 0;
  #bytes = 0;
  #fetchedBytes = 0;

  constructor(options: QueryResultsOptions) {
    this.#options = options;
  }

  figures(): ResultFigures {
    return {
      results: this.#results,
      resultsFailed: this.#failed,
      resultsOpen: this.#open,
      resultBytes: this.#bytes,
      fetchedBytes: this.#fetchedBytes,
    };
  }

  /**
   * Throws `not_found`, `conflict` while the query runs, the query's own error if it failed, `expired` or
   * `result_lost`.
   */
  async open(id: JobId, format: ResultFormat, signal: AbortSignal): Promise<ResultStream> {
    const record = await this.#options.record(id);
    if (record === null) {
      throw new MillraceError({ code: 'not_found', what: `There is no query ${id}.` });
    }
    checkReadable(record);
    const { columns, analyze } = record.plan;
    if (analyze === true) {
      const texts = await this.#analysis(id);
      const parts = [{ json: JSON.stringify(texts) }];
      const pieces =
        format === 'json'
          ? jsonPieces(columns, texts)
          : this.#options.rows.rows({ parts, columns, format }, signal);
      return { format, pieces: this.#counted(pieces) };
    }
    const inline = format === 'json' ? inlineJson(columns, record.parts) : null;
    const pieces = inline ?? this.#throughEngine(record, format, signal);
    return { format, pieces: this.#counted(pieces) };
  }

  /** Null unless the query has succeeded and its rows are stored with it. */
  async inlineRows(id: JobId): Promise<InlineRows | null> {
    const record = await this.#options.record(id);
    if (record?.state !== 'succeeded') return null;
    const { columns } = record.plan;
    const rows = await this.#rowsOf(record);
    if (rows === null) return null;
    this.#results += 1;
    return { columns: columns.map(({ name, type }) => ({ name, type })), rows };
  }

  async #rowsOf({ id, plan, parts }: QueryRecord): Promise<InlineRows['rows'] | null> {
    if (plan.analyze === true) return this.#analysis(id);
    return parts.length === plan.stages.at(-1)?.tasks ? inlineRows(parts) : null;
  }

  /** The rows of EXPLAIN ANALYZE. */
  async #analysis(id: JobId): Promise<string[][]> {
    return [[EXPLAIN_KEYS.analysis, (await this.#options.analysis(id)) ?? '']];
  }

  async *#counted(
    pieces: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
  ): AsyncGenerator<Uint8Array, void> {
    this.#open += 1;
    let isWhole = false;
    try {
      for await (const piece of pieces) {
        this.#bytes += piece.byteLength;
        yield piece;
      }
      isWhole = true;
    } finally {
      this.#open -= 1;
      if (isWhole) this.#results += 1;
      else this.#failed += 1;
    }
  }

  async *#throughEngine(
    record: QueryRecord,
    format: ResultFormat,
    signal: AbortSignal,
  ): AsyncGenerator<Uint8Array, void> {
    const { openMax = OPEN_MAX, rows } = this.#options;
    if (this.#open > openMax) throw tooMany(openMax);
    const folder = join(this.#options.folder, randomUUID());
    await mkdir(folder, { recursive: true, mode: PRIVATE_FOLDER });
    try {
      const parts = await this.#parts(record, folder, signal);
      const { columns } = record.plan;
      const rowCount = record.parts.reduce((sum, { parts: [part] }) => sum + (part?.rows ?? 0), 0);
      yield* rows.rows({ parts, columns, format, rowCount }, signal);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }

  /** In the order of the partitions. */
  async #parts(
    { id, parts }: QueryRecord,
    folder: string,
    signal: AbortSignal,
  ): Promise<readonly ResultPart[]> {
    const reads = parts.flatMap(({ at, parts: [part], inline }) =>
      part === undefined || inline !== null ? [] : [{ at, partition: 0, part }],
    );
    const fetched = await this.#options.parts
      .localize(id, reads, folder, signal)
      .catch((error: unknown) => {
        throw error instanceof PartitionLostError ? lost(id, error) : error;
      });
    for (const { fetchedBytes } of fetched) this.#fetchedBytes += fetchedBytes;
    let next = 0;
    const all: ResultPart[] = [];
    for (const [at, { inline, parts: own }] of parts.entries()) {
      if (inline !== null) {
        all.push(await inlinePart(inline, join(folder, `inline-${at}.parquet`)));
      } else if (own[0] !== undefined) {
        all.push(...(fetched[next]?.files ?? []));
        next += 1;
      }
    }
    return all;
  }
}

function checkReadable({ id, state, error, plan, expiresAt, now, parts }: QueryRecord): void {
  switch (state) {
    case 'queued':
    case 'running':
      throw new MillraceError({
        code: 'conflict',
        what: `The query ${id} is ${state}: it has no rows yet.`,
        todo: `Wait for it: GET /api/v1/queries/${id}?wait=20000.`,
      });
    case 'cancelled':
      throw new MillraceError({
        code: 'conflict',
        what: `The query ${id} was cancelled${error === null ? '' : `: ${error.message}`}.`,
      });
    case 'failed':
      throw failureOf(id, error);
    case 'succeeded':
  }
  if (expiresAt !== null && now >= expiresAt) {
    throw new MillraceError({
      code: 'expired',
      what: `The rows of the query ${id} were kept until ${new Date(expiresAt).toISOString()}.`,
      todo: 'Submit it again; the setting resultTtlMs says how long rows are kept.',
    });
  }
  const expected = plan.stages.at(-1)?.tasks ?? 0;
  if (parts.length === expected) return;
  throw new MillraceError({
    code: 'result_lost',
    what: `Only ${parts.length} of ${expected} partitions of the result of query ${id} exist.`,
    todo: 'Submit the query again.',
  });
}

function lost(id: JobId, cause: PartitionLostError): MillraceError {
  return new MillraceError({
    code: 'result_lost',
    what: `The rows of query ${id} were lost with the node that held them.`,
    why: isMillraceError(cause) ? `${cause.what} ${cause.why ?? ''}`.trim() : '',
    todo: 'Submit the query again.',
    cause,
  });
}

function tooMany(openMax: number): MillraceError {
  return new MillraceError({
    code: 'overloaded',
    what: `${openMax} results are being read here already, which is the limit.`,
    todo: 'Try again later, or read it from another node.',
  });
}
