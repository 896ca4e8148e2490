/** The calls of the control plane that are about queries. */
import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { Metadata } from '@grpc/grpc-js';
import { uuidv7 } from 'uuidv7';
import { MillraceError } from '../../../scheduler/core/index.ts';
import type { JobId } from '../../../scheduler/core/index.ts';
import {
  fromWireChunk,
  fromWireFormat,
  fromWireQuery,
  toWireQuery,
  toWireQueryState,
} from '../codec/queries.ts';
import { fromWireSession } from '../codec/session.ts';
import { safeNumber, soughtText } from '../codec/values.ts';
import type { ControlPlaneServer } from '../gen/millrace/v1/control_plane.ts';
import type {
  FetchQueryResultsRequest,
  FetchQueryResultsResponse,
} from '../gen/millrace/v1/query.ts';
import type {
  JobService,
  QueryService,
  QueryShape,
  ResultRegistry,
} from '../../../scheduler/contract/index.ts';
import { traceOf } from './access.ts';
import { type StreamOptions, streaming, unary } from './handlers.ts';
import { boundSession } from './session-binding.ts';

export interface QueryHandlerOptions {
  readonly jobs: () => JobService;
  /** Absent where queries are not served. */
  readonly queries?: QueryService;
  /** Where workers send the rows of results. */
  readonly registry?: ResultRegistry;
}

/** Clients take messages of 4 MiB at least; a piece of rows may be longer. */
const CHUNK_BYTES: number = 2 ** 20;
/** Chunks are large: a few are enough. */
const PENDING_CHUNKS_MAX = 3;

export function queryHandlers(
  { jobs, queries, registry }: QueryHandlerOptions,
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
      const by = { ...options, caller: callerOf(call), trace: traceOf(call.metadata) };
      const { jobId, state } = await service.submitQuery(request, by, signal);
      return { queryId: jobId, state: toWireQueryState(state) };
    }),
    getQueryStatus: unary(life, async ({ queryId }) => {
      const queries = reading();
      const id: JobId = soughtText(queryId, 'query_id');
      return { status: toWireQuery(await found(queries, id)) };
    }),
    cancelQuery: unary(life, async ({ queryId, reason }) => {
      const service = jobs();
      const { id } = await found(reading(), soughtText(queryId, 'query_id'));
      const { state } = await service.cancel(id, reason === '' ? 'asked for by gRPC' : reason);
      return { queryId: id, state: toWireQueryState(state) };
    }),
    registerQueryResults: unary(life, async (wire, call) => {
      const rows = registry ?? refuse();
      const by = boundSession(fromWireSession(wire), call);
      return { nextChunk: await rows.register(fromWireChunk(wire), by) };
    }),
    fetchQueryResults: streaming({ ...stream, pendingMax: PENDING_CHUNKS_MAX }, (request, signal) =>
      chunks(reading(), request, signal),
    ),
  };
}

/** The caller, for fair queueing: by its token, or else by its connection. */
function callerOf(call: { readonly metadata: Metadata; getPeer(): string }): string {
  const [token] = call.metadata.get('authorization');
  if (token === undefined) return call.getPeer();
  return createHash('sha256').update(token).digest('base64');
}

async function found({ reader }: QueryService, id: JobId): Promise<QueryShape<Date>> {
  const { value } = await reader.query(id);
  if (value !== null) return value;
  throw new MillraceError({ code: 'not_found', what: `There is no query ${id}.` });
}

async function* chunks(
  service: QueryService,
  request: FetchQueryResultsRequest,
  signal: AbortSignal,
): AsyncGenerator<FetchQueryResultsResponse> {
  const id: JobId = soughtText(request.queryId, 'query_id');
  const from = safeNumber(request.startOffset, 'start_offset');
  const { pieces } = await service.results(id, fromWireFormat(request.format), signal);
  let offset = 0;
  let sum = 0;
  for await (const piece of pieces) {
    let rest = piece;
    if (offset < from) {
      const skipped = piece.subarray(0, from - offset);
      offset += skipped.byteLength;
      sum = crc32(skipped, sum);
      if (offset === from && sum !== request.crc32) throw changed(from);
      rest = piece.subarray(skipped.byteLength);
    }
    for (let at = 0; at < rest.byteLength; at += CHUNK_BYTES) {
      const payload = Buffer.from(rest.subarray(at, at + CHUNK_BYTES));
      const startOffset = BigInt(offset);
      offset += payload.length;
      sum = crc32(payload, sum);
      yield { payload, startOffset, endOffset: BigInt(offset), crc32: sum };
    }
  }
  if (offset < from) throw changed(from);
}

function changed(from: number): MillraceError {
  return new MillraceError({
    code: 'superseded',
    what: `The first ${from} bytes of the result are not those that the caller has.`,
    todo: 'Fetch it from the beginning.',
  });
}

function refuse(): never {
  throw new MillraceError({
    code: 'unimplemented',
    what: 'This node does not serve queries.',
    todo: 'Use a node that has access to the database.',
  });
}
