/** Queries over the HTTP API, as `client.sql` gives them. */
import { defined } from '../../kit/index.ts';
import { uuidv7 } from 'uuidv7';
import type { QueryRequest, ResultFormat, SubmittedQuery } from '../answers.ts';
import type { CallOptions } from '../options.ts';
import { readRows } from './json-rows.ts';
import type { RowBatch } from './json-rows.ts';
import type { QueryCalls } from './query-calls.ts';
import { MillraceError } from '../../scheduler/core/index.ts';
import type { JobId } from '../../scheduler/core/index.ts';
import type { QueryShape } from '../../scheduler/contract/index.ts';
import { QueryError } from './sql.ts';
import type {
  Sql,
  SqlColumn,
  SqlOptions,
  SqlParameter,
  SqlPlan,
  SqlQuery,
  SqlRow,
  SqlTables,
} from './sql.ts';
import { jsonParams, rowMaker } from './sql-values.ts';

export interface SqlBacking {
  readonly calls: QueryCalls;
  /** Known to every query. */
  readonly tables?: SqlTables | undefined;
}

export function sqlOver(backing: SqlBacking, fixed: SqlOptions = {}): Sql {
  const ask = (
    first: string | TemplateStringsArray,
    ...rest: readonly unknown[]
  ): SqlQuery<SqlRow> => {
    if (typeof first === 'string') {
      return submitted(backing, first, { ...fixed, ...(rest[0] as SqlOptions | undefined) });
    }
    const { text, params } = written(first, rest as readonly SqlParameter[]);
    return submitted(backing, text, { ...fixed, ...(params.length === 0 ? {} : { params }) });
  };
  return Object.assign(ask, {
    with: (options: SqlOptions) => sqlOver(backing, { ...fixed, ...options }),
    handle: (id: string) => new BackedQuery(backing, Handed.elsewhere(id as JobId)),
    explain: async (text: string, options: SqlOptions = {}): Promise<SqlPlan> => {
      const all = { ...fixed, ...options };
      return backing.calls.explain(requestOf(backing, text, all), all);
    },
  }) as unknown as Sql;
}

/** Values are numbered: none of them is read as SQL. */
function written(
  parts: TemplateStringsArray,
  values: readonly SqlParameter[],
): { readonly text: string; readonly params: readonly SqlParameter[] } {
  const text = parts.map((part, at) => (at === 0 ? part : `$${at}${part}`)).join('');
  return { text, params: values };
}

/**
 * How long the submission waits for the rows: a short query needs one call then. Others are followed with calls of
 * their own, and their state is known no later than this.
 */
const WAIT_MS = 200;

/** A failure rejects the first call that uses the query. */
function submitted(backing: SqlBacking, text: string, options: SqlOptions): BackedQuery {
  const { queryId, signal } = options;
  const id = (queryId ?? uuidv7()) as JobId;
  const submit = async (): Promise<SubmittedQuery> => {
    signal?.throwIfAborted();
    return backing.calls.submit(requestOf(backing, text, options), {
      queryId: id,
      isNewId: queryId === undefined,
      waitMs: WAIT_MS,
    });
  };
  return new BackedQuery(backing, new Handed(id, submit(), signal, backing));
}

function requestOf(backing: SqlBacking, sql: string, options: SqlOptions): QueryRequest {
  if (typeof sql !== 'string' || sql.trim() === '') throw noSql();
  const { params, settings, timeZone, name, priority, idempotencyKey } = options;
  const tables = { ...backing.tables, ...options.tables };
  return {
    sql,
    ...(params === undefined ? {} : { params: jsonParams(params) }),
    ...(Object.keys(tables).length === 0 ? {} : { tables }),
    ...(settings === undefined ? {} : { settings: { ...settings } }),
    ...defined({ timeZone, name, priority, idempotencyKey }),
  };
}

/**
 * A query that is being or was submitted. When its signal aborts it is cancelled, even if its submission is
 * still under way: then as soon as that is answered, because nothing else would ever end it.
 */
class Handed {
  id: JobId;
  /** Rejects when the query was refused, or its signal has aborted. */
  readonly known: Promise<JobId>;
  /** The rows that came with the answer, once it is known. */
  result: RowBatch | null = null;
  /** The answer said so: its rows can be read. */
  hasSucceeded = false;
  readonly signal: AbortSignal | undefined;
  #cancelling: Promise<void> = Promise.resolve();
  #letGo: () => void = () => {};

  static elsewhere(id: JobId): Handed {
    return new Handed(id, Promise.resolve({ id, state: 'queued', isNew: false }), undefined, null);
  }

  constructor(
    id: JobId,
    submitting: Promise<SubmittedQuery>,
    signal: AbortSignal | undefined,
    backing: SqlBacking | null,
  ) {
    this.id = id;
    this.signal = signal;
    this.known = this.#untilKnown(submitting, signal);
    // The caller may never use it; then the error is not of interest.
    this.known.catch(() => {});
    if (signal === undefined || backing === null) return;
    const stop = (): void => {
      this.#cancelling = submitting
        .then(async ({ id: found, isNew }) => {
          // A query that an earlier call had submitted is not ours to cancel.
          if (isNew) await backing.calls.cancel(found, 'aborted');
        })
        // If it cannot be cancelled it has ended, or no server can be reached.
        .catch(() => {});
    };
    signal.addEventListener('abort', stop, { once: true });
    this.#letGo = () => signal.removeEventListener('abort', stop);
  }

  /** It has ended: there is nothing to cancel any more. */
  ended(): void {
    this.#letGo();
  }

  /** Settles when a cancellation by an abort is done. */
  cancelled(): Promise<void> {
    return this.#cancelling;
  }

  async #untilKnown(
    submitting: Promise<SubmittedQuery>,
    signal: AbortSignal | undefined,
  ): Promise<JobId> {
    const {
      id,
      result = null,
      state,
    } = await (signal === undefined ? submitting : Promise.race([submitting, rejectedBy(signal)]));
    this.id = id;
    this.result = result;
    this.hasSucceeded = state === 'succeeded';
    if (this.hasSucceeded) this.ended();
    return id;
  }
}

function rejectedBy(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    const stop = (): void => reject(signal.reason as Error);
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true });
  });
}

class BackedQuery implements SqlQuery<SqlRow> {
  readonly #backing: SqlBacking;
  readonly #handed: Handed;
  #end: QueryShape | null = null;

  constructor(backing: SqlBacking, handed: Handed) {
    this.#backing = backing;
    this.#handed = handed;
  }

  get id(): string {
    return this.#handed.id;
  }

  async columns(options?: CallOptions): Promise<readonly SqlColumn[]> {
    return (await this.status(options)).columns;
  }

  async status(options?: CallOptions): Promise<QueryShape> {
    return this.#backing.calls.get(await this.#handed.known, this.#limited(options));
  }

  async finished(options?: CallOptions): Promise<QueryShape> {
    if (this.#end === null) {
      try {
        const id = await this.#handed.known;
        this.#end = await this.#backing.calls.finished(id, this.#limited(options));
        this.#handed.ended();
      } catch (error) {
        await this.#handed.cancelled();
        throw error;
      }
    }
    if (this.#end.state !== 'succeeded') throw new QueryError(this.#end);
    return this.#end;
  }

  async rows(options?: CallOptions): Promise<SqlRow[]> {
    const all: SqlRow[][] = [];
    for await (const rows of this.#read(options)) all.push(rows);
    return all.flat();
  }

  async *stream(format: ResultFormat, options?: CallOptions): AsyncGenerator<Uint8Array, void> {
    await this.#known();
    if (!this.#handed.hasSucceeded) await this.finished(options);
    yield* this.#backing.calls.results(await this.#handed.known, format, this.#limited(options));
  }

  async explain(options?: CallOptions): Promise<string> {
    return this.#backing.calls.analysis(await this.#handed.known, this.#limited(options));
  }

  async cancel(reason?: string): Promise<void> {
    await this.#backing.calls.cancel(await this.#handed.known, reason);
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<SqlRow, void> {
    for await (const rows of this.#read()) yield* rows;
  }

  /** As they arrive. To take each row by itself would take longer than to make it. */
  async *#read(options?: CallOptions): AsyncGenerator<SqlRow[], void> {
    await this.#known();
    const { result } = this.#handed;
    if (result !== null) {
      yield result.rows.map(rowMaker(result.columns));
      return;
    }
    let make: ReturnType<typeof rowMaker> | null = null;
    for await (const { columns, rows } of readRows(this.stream('json', options)))
      yield rows.map((make ??= rowMaker(columns)));
  }

  async #known(): Promise<void> {
    try {
      await this.#handed.known;
    } catch (error) {
      await this.#handed.cancelled();
      throw error;
    }
  }

  /** Ends with its own signal and with that of the call. */
  #limited(options: CallOptions = {}): CallOptions {
    const own = this.#handed.signal;
    const signals = [own, options.signal].filter((each) => each !== undefined);
    return signals.length === 0 ? {} : { signal: AbortSignal.any(signals) };
  }
}

function noSql(): MillraceError {
  return new MillraceError({
    code: 'bad_input',
    what: 'No SQL statement was given.',
    todo: "Give a statement: client.sql('select 1').",
  });
}
