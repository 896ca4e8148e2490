/** SQL over a server's HTTP API: a query is submitted, waited for, and its rows are read as a stream. */
import { uuidv7 } from 'uuidv7';
import {
  type JobId,
  type JobState,
  MillraceError,
  isFinished,
} from '../../scheduler/core/index.ts';
import type { QueryShape } from '../../scheduler/contract/index.ts';
import type {
  QueryExplanation,
  QueryOptions,
  QueryPage,
  QueryRequest,
  ResultFormat,
  SubmitQueryOptions,
  SubmittedQuery,
} from '../answers.ts';
import { type Caller, type Stream } from '../calls/caller.ts';
import type { CallOptions, Limit, Pace } from '../options.ts';
import { defined, sleep } from '../../kit/index.ts';
import { objectIn } from '../calls/reading.ts';
import { traced } from '../submit-span.ts';

/** Files are looked at and the plan is made before a query is answered; many files take their time. */
const PLAN_RESPONSE_TIMEOUT_MS = 120_000;
/** Less than the server's limit on waiting. */
const WAIT_MS = 20_000;
const ASK_EVERY_MS = 200;
/** The server says nothing while it waits, and needs a moment to answer. */
const WAIT_MARGIN_MS = 10_000;

const PATH = '/api/v1/queries';

export class QueryCalls {
  readonly #caller: Caller;
  readonly #pace: Pace;
  readonly #limited: Limit;

  /** `limited` gives each call the signal that ends it with its client. */
  constructor(caller: Caller, pace: Pace, limited: Limit) {
    this.#caller = caller;
    this.#limited = limited;
    this.#pace = pace;
  }

  /** The id is chosen here, so however often the call has to be repeated there is one query. */
  async submit(request: QueryRequest, options: SubmitQueryOptions = {}): Promise<SubmittedQuery> {
    const { queryId = uuidv7() as JobId, waitMs, signal } = this.#limited(options);
    const isNewId = options.queryId === undefined || options.isNewId === true;
    const answer = await traced('query', queryId, (headers) =>
      this.#caller.call({
        method: 'POST',
        path: PATH,
        query: waitMs === undefined ? {} : { wait: String(waitMs) },
        headers: { ...headers, 'millrace-job-id': queryId },
        body: JSON.stringify(request),
        isRepeatable: true,
        what: 'the query',
        responseTimeoutMs: PLAN_RESPONSE_TIMEOUT_MS + (waitMs ?? 0),
        signal,
      }),
    );
    const { id, state, result } = objectIn(answer, 'id') as unknown as SubmittedQuery;
    // 200 without rows means that the query was there before, unless it came from a call that had to be repeated.
    const isOurs = (answer.isRepeated || result !== undefined) && isNewId && id === queryId;
    const isNew = answer.status === 201 || isOurs;
    return { id, state, isNew, ...(result === undefined ? {} : { result }) };
  }

  /** Its current state; with `waitMs`, as soon as it has ended, but not later than that. */
  async get(id: JobId, options: QueryOptions = {}): Promise<QueryShape> {
    const { waitMs, signal } = this.#limited(options);
    const { clock } = this.#pace;
    const askedMs = clock.monotonicMs();
    const answer = await this.#caller.call({
      method: 'GET',
      path: queryPath(id),
      query: waitMs === undefined ? {} : { wait: String(Math.round(waitMs)) },
      isRepeatable: true,
      what: 'it',
      responseTimeoutMs: (waitMs ?? 0) + WAIT_MARGIN_MS,
      signal,
    });
    const query = objectIn(answer, 'stages') as unknown as QueryShape;
    // A server, or a proxy before it, that does not let us wait is not asked all the time.
    const restMs = Math.min(waitMs ?? 0, ASK_EVERY_MS) - (clock.monotonicMs() - askedMs);
    if (!isFinished(query.state) && restMs > 0) await sleep(this.#pace.clock, restMs, signal);
    return query;
  }

  /** Waits for its end, however it ends. */
  async finished(id: JobId, options: CallOptions = {}): Promise<QueryShape> {
    for (;;) {
      const query = await this.get(id, { ...options, waitMs: WAIT_MS });
      if (isFinished(query.state)) return query;
    }
  }

  /** One page, newest first. */
  async list(options: ListOptions = {}): Promise<QueryPage> {
    const { state, limit, cursor, signal } = this.#limited(options);
    const answer = await this.#caller.call({
      method: 'GET',
      path: PATH,
      query: defined({ state, limit: limit?.toString(), cursor }),
      isRepeatable: true,
      what: 'it',
      signal,
    });
    return objectIn(answer, 'queries') as unknown as QueryPage;
  }

  /** A finished query is not changed. */
  async cancel(id: JobId, reason?: string, options?: CallOptions): Promise<void> {
    const { signal } = this.#limited(options);
    const answer = await this.#caller.call({
      method: 'POST',
      path: `${queryPath(id)}/cancel`,
      body: JSON.stringify(reason === undefined ? {} : { reason }),
      isRepeatable: true,
      what: 'the cancellation',
      signal,
    });
    objectIn(answer, 'id');
  }

  /**
   * The rows of a successful query, in pieces as they arrive. Leaving the loop closes the connection. A stream
   * that breaks off throws, so that a part of the rows is never taken for all of them.
   */
  async *results(
    id: JobId,
    format: ResultFormat,
    options?: CallOptions,
  ): AsyncGenerator<Uint8Array, void> {
    const { signal } = this.#limited(options);
    const stream = await this.#caller.open({
      method: 'GET',
      path: `${queryPath(id)}/results`,
      query: { format },
      headers: { accept: '*/*' },
      isRepeatable: true,
      what: 'the result',
      responseTimeoutMs: this.#pace.streamTimeoutMs,
      signal,
    });
    yield* piecesOf(stream, id, signal);
  }

  /** The plan of a query that is not run. */
  async explain(request: QueryRequest, options?: CallOptions): Promise<QueryExplanation> {
    const { signal } = this.#limited(options);
    const answer = await this.#caller.call({
      method: 'POST',
      path: `${PATH}/explain`,
      body: JSON.stringify(request),
      isRepeatable: true,
      what: 'the plan',
      responseTimeoutMs: PLAN_RESPONSE_TIMEOUT_MS,
      signal,
    });
    return objectIn(answer, 'text') as unknown as QueryExplanation;
  }

  /** The plan of a query with what its stages have done. */
  async analysis(id: JobId, options?: CallOptions): Promise<string> {
    const { signal } = this.#limited(options);
    const answer = await this.#caller.call({
      method: 'GET',
      path: `${queryPath(id)}/explain`,
      isRepeatable: true,
      what: 'it',
      signal,
    });
    return String(objectIn(answer, 'text')['text']);
  }
}

export interface ListOptions extends CallOptions {
  readonly state?: JobState;
  readonly limit?: number;
  readonly cursor?: string;
}

async function* piecesOf(
  { message }: Stream,
  id: JobId,
  signal: AbortSignal | undefined,
): AsyncGenerator<Uint8Array, void> {
  const chunks = message[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  try {
    for (;;) {
      const next = await chunks.next().catch((error: Error) => {
        signal?.throwIfAborted();
        throw brokenOff(id, error);
      });
      if (next.done === true) break;
      yield next.value;
    }
    if (message.complete) return;
    signal?.throwIfAborted();
    throw brokenOff(id, null);
  } finally {
    message.destroy();
  }
}

function brokenOff(id: JobId, cause: Error | null): MillraceError {
  return new MillraceError({
    code: 'unreachable',
    what: `The result of query ${id} ended prematurely.`,
    todo: 'Read it again from the start; results are retained for a while.',
    ...(cause === null ? {} : { cause }),
  });
}

function queryPath(id: JobId): string {
  return `${PATH}/${encodeURIComponent(id)}`;
}
