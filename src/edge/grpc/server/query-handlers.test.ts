import { Client, Metadata, credentials } from '@grpc/grpc-js';
import type { ServiceError } from '@grpc/grpc-js';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { only, wireNode } from '../../../../test/rig/wire-node.ts';
import { MillraceError } from '../../../scheduler/core/index.ts';
import type { JobId } from '../../../scheduler/core/index.ts';
import { deferred } from '../../../kit/index.ts';
import { ControlPlaneService } from '../gen/millrace/v1/control_plane.ts';
import { QueryState } from '../gen/millrace/v1/query.ts';
import type {
  CancelQueryRequest,
  CancelQueryResponse,
  FetchQueryResultsRequest,
  FetchQueryResultsResponse,
  GetQueryStatusRequest,
  GetQueryStatusResponse,
  SubmitQueryRequest,
  SubmitQueryResponse,
} from '../gen/millrace/v1/query.ts';
import type { QueryService } from '../../../scheduler/contract/query-service.ts';
import type { QueryShape, StageShape } from '../../../scheduler/contract/shapes.ts';

const STAGE: StageShape = {
  id: 0,
  title: 'scan t',
  state: 'succeeded',
  output: 'hash(3)',
  inputs: [],
  tasks: { total: 2, queued: 0, running: 0, succeeded: 2, failed: 0, recomputed: 1 },
  estimate: { rows: 1, bytes: null },
  rowsIn: 10,
  rowsOut: 5,
  bytesOut: 2 ** 40,
  batches: 4,
  fetchedBytes: 0,
  earlyBytes: 0,
  spilledBytes: 0,
  elapsedMs: 12,
  workMs: 20,
  partitionBytes: [10, 65_536, 70_000_000],
  grouping: null,
  filters: [],
  filteredRows: null,
  join: null,
};

const QUERY: QueryShape<Date> = {
  id: 'q' as JobId,
  state: 'failed',
  sql: 'select 1',
  error: { code: 'query_failed', message: 'Division by zero' },
  columns: [],
  single: null,
  partitions: 3,
  stages: [
    STAGE,
    {
      ...{ ...STAGE, id: 1, inputs: [{ stage: 0, mode: 'partition' }], partitionBytes: [] },
      grouping: {
        ...{ partitions: 2, tasks: 1, rows: 5, bytes: 90, targetBytes: 1_000, slots: 4 },
        skewed: [],
      },
    },
  ],
  waiting: null,
  submittedAt: new Date('2026-01-02T03:04:05.678Z'),
  startedAt: new Date('2026-01-02T03:04:06.000Z'),
  finishedAt: null,
  expiresAt: null,
};

const RESULTS: FetchQueryResultsRequest = { queryId: 'q', format: '', startOffset: 0n, crc32: 0 };

interface Calls {
  readonly submitted: unknown[];
  readonly cancelled: unknown[];
  client: Client;
}

let calls: Calls;
let pieces: () => AsyncIterable<Uint8Array>;

beforeEach(async () => {
  pieces = async function* () {
    yield Buffer.from('abc');
  };
  const submitted: unknown[] = [];
  const cancelled: unknown[] = [];
  const service: Partial<QueryService> = {
    reader: {
      query: (id) =>
        Promise.resolve({
          asOf: { seq: 1, at: QUERY.submittedAt },
          value: id === 'q' ? QUERY : null,
        }),
      queries: () => Promise.reject(new Error('not asked for')),
    },
    results: (_id, format) => Promise.resolve({ format, pieces: pieces() }),
  };
  const { address } = await wireNode({
    queries: only<QueryService>(service),
    jobs: {
      submitQuery: (request, options) => {
        submitted.push({ request, ...options });
        return Promise.resolve({ jobId: options.jobId, state: 'queued', run: 1, changed: true });
      },
      cancel: (id, reason) => {
        cancelled.push({ id, reason });
        return Promise.resolve({ jobId: id, state: 'cancelled', run: 1, changed: true });
      },
    },
  });
  const client = new Client(address, credentials.createInsecure());
  onTestFinished(() => client.close());
  calls = { submitted, cancelled, client };
});

function ask<Request, Response>(
  method: {
    readonly path: string;
    readonly requestSerialize: (value: Request) => Buffer;
    readonly responseDeserialize: (bytes: Buffer) => Response;
  },
  request: Request,
  metadata: Metadata = new Metadata(),
): Promise<Response> {
  const answer = deferred<Response>();
  const { path, requestSerialize, responseDeserialize } = method;
  calls.client.makeUnaryRequest(
    path,
    requestSerialize,
    responseDeserialize,
    request,
    metadata,
    (failure: ServiceError | null, value) => {
      if (failure === null && value !== undefined) answer.resolve(value);
      else answer.reject(failure);
    },
  );
  return answer.promise;
}

const submit = (
  request: Partial<SubmitQueryRequest>,
  metadata?: Metadata,
): Promise<SubmitQueryResponse> =>
  ask<SubmitQueryRequest, SubmitQueryResponse>(
    ControlPlaneService.submitQuery,
    {
      queryId: 'q',
      physicalPlanJson: Buffer.alloc(0),
      sql: '',
      tablesJson: Buffer.alloc(0),
      settingsJson: Buffer.alloc(0),
      paramsJson: Buffer.alloc(0),
      idempotencyKey: '',
      ...request,
    },
    metadata,
  );

async function fetched(request: FetchQueryResultsRequest): Promise<Buffer[]> {
  const { path, requestSerialize, responseDeserialize } = ControlPlaneService.fetchQueryResults;
  const stream = calls.client.makeServerStreamRequest(
    path,
    requestSerialize,
    responseDeserialize,
    request,
  );
  const payloads: Buffer[] = [];
  for await (const message of stream) payloads.push((message as FetchQueryResultsResponse).payload);
  return payloads;
}

test('a query is submitted with all that it says', async () => {
  const answer = await submit({
    sql: 'select $1',
    tablesJson: Buffer.from('{"t":"x"}'),
    settingsJson: Buffer.from('{"maxAttempts":1}'),
    paramsJson: Buffer.from('[7]'),
    idempotencyKey: 'k',
    priority: 0,
  });
  expect(answer).toEqual({ queryId: 'q', state: QueryState.QUERY_STATE_QUEUED });
  expect(calls.submitted).toEqual([
    {
      caller: expect.stringContaining('127.0.0.1') as string,
      request: {
        sql: 'select $1',
        tables: { t: 'x' },
        settings: { maxAttempts: 1 },
        params: [7],
        idempotencyKey: 'k',
        priority: 0,
      },
      jobId: 'q',
      trace: null,
    },
  ]);
});

test('the trace context is read from the metadata; an invalid one is ignored', async () => {
  const parent = `00-${'a1'.repeat(16)}-${'b2'.repeat(8)}-01`;
  for (const traceparent of [parent, 'nonsense']) {
    const metadata = new Metadata();
    metadata.set('traceparent', traceparent);
    metadata.set('tracestate', 'vendor=1');
    await submit({ sql: 'select 1' }, metadata);
  }
  expect(calls.submitted).toMatchObject([
    { trace: { parent, state: 'vendor=1' } },
    { trace: null },
  ]);
});

test('a plan may replace the SQL, and an id is generated', async () => {
  const answer = await submit({ queryId: '', physicalPlanJson: Buffer.from('{"version":1}') });
  expect(answer.queryId).not.toBe('');
  expect(calls.submitted).toMatchObject([{ request: { plan: { version: 1 } } }]);
});

test.each([
  [{}, 'neither SQL nor a plan'],
  [{ sql: 'x', tablesJson: Buffer.from('{') }, '/tables_json: It is not valid JSON.'],
  [{ sql: 'x', priority: 9 }, '/priority: It must be 0 to 3.'],
])('%j is bad input', async (request, words) => {
  await expect(submit(request)).rejects.toMatchObject({
    code: 3,
    details: expect.stringContaining(words) as string,
  });
});

test('the state of a query has the figures of its stages', async () => {
  const { status } = await ask<GetQueryStatusRequest, GetQueryStatusResponse>(
    ControlPlaneService.getQueryStatus,
    { queryId: 'q' },
  );
  expect(status).toMatchObject({
    state: QueryState.QUERY_STATE_FAILED,
    message: 'Division by zero',
    submittedAtMs: BigInt(QUERY.submittedAt.getTime()),
    finishedAtMs: 0n,
    stageMetrics: [
      {
        stageId: 0n,
        succeededTasks: 2,
        mapOutputBytes: 2n ** 40n,
        mapOutputPartitions: 3n,
        ...{ plannedReduceTasks: 2, adaptiveReduceTasks: 1, adaptiveTargetBytes: 1_000n },
        ...{ inputRows: 10n, elapsedMs: 12n, workMs: 20n, recomputedTasks: 1 },
        partitionBytesHistogram: [
          { upperBoundBytes: 65_536n, partitionCount: 2 },
          { upperBoundBytes: 2n ** 64n - 1n, partitionCount: 1 },
        ],
      },
      { stageId: 1n, plannedReduceTasks: 0, adaptiveReduceTasks: 0, partitionBytesHistogram: [] },
    ],
  });
  expect(status?.queryJson.toString()).toBe(JSON.stringify(QUERY));
});

test('a job that is not a query cannot be read or cancelled as one', async () => {
  const look = ask<GetQueryStatusRequest, GetQueryStatusResponse>(
    ControlPlaneService.getQueryStatus,
    { queryId: 'nobody' },
  );
  await expect(look).rejects.toMatchObject({ code: 5 });
  const cancel = (queryId: string): Promise<CancelQueryResponse> =>
    ask<CancelQueryRequest, CancelQueryResponse>(ControlPlaneService.cancelQuery, {
      queryId,
      reason: '',
    });
  await expect(cancel('nobody')).rejects.toMatchObject({ code: 5 });
  expect(await cancel('q')).toEqual({ queryId: 'q', state: QueryState.QUERY_STATE_CANCELED });
  expect(calls.cancelled).toEqual([{ id: 'q', reason: 'asked for by gRPC' }]);
});

test('rows come in chunks of at most a mebibyte', async () => {
  pieces = async function* () {
    yield Buffer.alloc(2_500_000, 1);
    yield Buffer.from('end');
  };
  const payloads = await fetched({ ...RESULTS, format: 'csv' });
  expect(payloads.map((payload) => payload.length)).toEqual([1_048_576, 1_048_576, 402_848, 3]);
});

test('rows that fail on the way fail the call with their code', async () => {
  pieces = async function* () {
    yield Buffer.from('x');
    throw new MillraceError({ code: 'result_lost', what: 'Gone.' });
  };
  await expect(fetched(RESULTS)).rejects.toMatchObject({ code: 15 });
  await expect(fetched({ ...RESULTS, format: 'xml' })).rejects.toMatchObject({ code: 3 });
});
