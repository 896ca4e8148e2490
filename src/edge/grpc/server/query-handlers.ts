/** The calls of the control plane that are about queries. */
import { createHash } from 'node:crypto';
import type { Metadata } from '@grpc/grpc-js';
import { uuidv7 } from 'uuidv7';
import { MillraceError } from '../../../scheduler/core/index.ts';
import type { JobId } from '../../../scheduler/core/index.ts';
import { fromWireFormat, fromWireQuery, toWireQuery, toWireQueryState } from '../codec/queries.ts';
import { requiredText } from '../codec/values.ts';
import type { ControlPlaneServer } from '../gen/millrace/v1/control_plane.ts';
import type {
  FetchQueryResultsRequest,
  FetchQueryResultsResponse,
} from '../gen/millrace/v1/query.ts';
import type { JobService, QueryService, QueryShape } from '../../../scheduler/contract/index.ts';
import { type StreamOptions, streaming, unary, unimplemented } from './handlers.ts';

export interface QueryHandlerOptions {
  readonly jobs: () => JobService;
  /** Absent where queries are not served. */
  readonly queries?: QueryService;
}

/** Clients take messages of 4 MiB at least; a piece of rows may be longer. */
const CHUNK_BYTES: number = 2 ** 20;
/** Chunks are large: nobody needs many of them ready. */
const PENDING_CHUNKS_MAX = 3;

export function queryHandlers(
  { jobs, queries }: QueryHandlerOptions,
  stream: StreamOptions,
): Pick<
  ControlPlaneServer,
  'submitQuery' | 'getQueryStatus' | 'cancelQuery' | 'registerQueryResults' | 'fetchQueryResults'
> {
  const { life } = stream;
  const reading = (): QueryService => queries ?? refuse();
  return {
    submitQuery: unary(life, async (wire, call) => {
      reading();
      const service = jobs();
      const { request, options } = fromWireQuery(wire, () => uuidv7() as JobId);
      const gone = new AbortController();
      call.once('cancelled', () => gone.abort());
      const signal = AbortSignal.any([life, gone.signal]);
      const by = { ...options, caller: callerOf(call) };
      const { jobId, state } = await service.submitQuery(request, by, signal);
      return { queryId: jobId, state: toWireQueryState(state) };
    }),
    getQueryStatus: unary(life, async ({ queryId }) => {
      const queries = reading();
      const id: JobId = requiredText(queryId, 'query_id');
      return { status: toWireQuery(await found(queries, id)) };
    }),
    cancelQuery: unary(life, async ({ queryId, reason }) => {
      const service = jobs();
      const { id } = await found(reading(), requiredText(queryId, 'query_id'));
      const { state } = await service.cancel(id, reason === '' ? 'asked for by gRPC' : reason);
      return { queryId: id, state: toWireQueryState(state) };
    }),
    registerQueryResults: unimplemented(NOT_REGISTERED),
    fetchQueryResults: streaming({ ...stream, pendingMax: PENDING_CHUNKS_MAX }, (request, signal) =>
      chunks(reading(), request, signal),
    ),
  };
}

/** So that callers can take turns: whoever shows the same token, or else comes over the same connection. */
function callerOf(call: { readonly metadata: Metadata; getPeer(): string }): string {
  const [token] = call.metadata.get('authorization');
  if (token === undefined) return call.getPeer();
  return createHash('sha256').update(token).digest('base64');
}

const NOT_REGISTERED =
  'Results cannot be submitted separately: a task reports the location of its rows on completion ' +
  '(ReportTaskStatus), and readers fetch them from there.';

async function found({ reader }: QueryService, id: JobId): Promise<QueryShape> {
  const { value } = await reader.query(id);
  if (value !== null) return value;
  throw new MillraceError({ code: 'not_found', what: `There is no query ${id}.` });
}

async function* chunks(
  service: QueryService,
  { queryId, format }: FetchQueryResultsRequest,
  signal: AbortSignal,
): AsyncGenerator<FetchQueryResultsResponse> {
  const id: JobId = requiredText(queryId, 'query_id');
  const { pieces } = await service.results(id, fromWireFormat(format), signal);
  for await (const piece of pieces) {
    for (let at = 0; at < piece.byteLength; at += CHUNK_BYTES) {
      yield { payload: Buffer.from(piece.subarray(at, at + CHUNK_BYTES)) };
    }
  }
}

function refuse(): never {
  throw new MillraceError({
    code: 'unimplemented',
    what: 'This node does not serve queries.',
    todo: 'Use a node that has access to the database.',
  });
}
