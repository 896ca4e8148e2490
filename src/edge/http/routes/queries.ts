/** SQL: queries are submitted, looked at, and their rows are read. */
import { JOB_STATES } from '../../../scheduler/core/index.ts';
import type { JobId, JobState } from '../../../scheduler/core/index.ts';
import { RESULT_FORMATS } from '../../../scheduler/contract/index.ts';
import type { InlineRows, ResultFormat } from '../../../scheduler/contract/index.ts';
import { jobIn, objectOf, textIn } from '../fields.ts';
import { notFound } from '../refusal.ts';
import { dated, ok } from '../route.ts';
import type { Answer, ApiParts, Call, Parameter, Route } from '../route.ts';
import { pageOf, pageParameters } from './jobs.ts';
import { ID_HEADERS, newIds } from './submit.ts';

const QUERIES = '/api/v1/queries';
/** The limit on waiting for one answer; a client that wants to wait longer asks again. */
const WAIT_MS_MAX = 60_000;

const TYPES: Readonly<Record<ResultFormat, string>> = {
  json: 'application/json',
  ndjson: 'application/x-ndjson',
  csv: 'text/csv; charset=utf-8',
  parquet: 'application/vnd.apache.parquet',
};

const QUERY_ANSWER = { 200: { description: 'The query.', schema: 'Query' } } as const;

const wait: Parameter = {
  type: 'integer',
  minimum: 0,
  maximum: WAIT_MS_MAX,
  description: 'Wait up to this many milliseconds for the query to finish.',
};

export const queryRoutes: readonly Route[] = [
  {
    method: 'POST',
    path: QUERIES,
    role: 'submit',
    summary: 'Submit a query',
    description:
      'The query is planned before the response is sent, so invalid SQL is rejected immediately.',
    headers: ID_HEADERS,
    parameters: { wait },
    body: { schema: 'QueryRequest', required: true },
    answers: {
      200: {
        description:
          'With `wait`: the query has succeeded, and its rows are in `result`. Without a `result`, nothing was ' +
          'created: the `idempotencyKey` or id was used before.',
        schema: 'SubmittedQuery',
      },
      201: {
        description:
          'Accepted. It has not ended, has failed, or its result is too large for this answer.',
        schema: 'Submitted',
      },
    },
    handle: submitQuery,
  },
  {
    method: 'GET',
    path: QUERIES,
    role: 'read',
    summary: 'List queries, newest first',
    description: 'A page may have fewer entries than requested; only a null cursor marks the end.',
    parameters: {
      state: { type: 'enum', values: JOB_STATES, description: 'Only queries in this state.' },
      ...pageParameters,
    },
    answers: { 200: { description: 'A page of queries.', schema: 'QueryPage' } },
    async handle(call, api) {
      const { state } = call.query;
      const { asOf, value } = await api.queries().reader.queries({
        ...pageOf(call),
        // The table of routes lets only states through.
        ...(state === undefined ? {} : { state: state as JobState }),
      });
      return dated(asOf, { queries: value.items, cursor: value.cursor });
    },
  },
  {
    method: 'POST',
    path: `${QUERIES}/explain`,
    role: 'submit',
    summary: 'Plan a query without running it',
    body: { schema: 'QueryRequest', required: true },
    answers: { 200: { description: 'The plan.', schema: 'QueryExplanation' } },
    async handle(call, api) {
      // Before the body is read: a node that does not lead need not receive it.
      api.leader();
      const request = await call.body();
      const { plan, text } = await api.queries().explain(request, call.signal, call.caller);
      return ok({ plan, text });
    },
  },
  {
    method: 'GET',
    path: '/api/v1/tables',
    role: 'submit',
    summary: 'List the tables of the catalog',
    description:
      'The tables that a query may name without saying where their files are. `DESCRIBE name` has their columns.',
    answers: { 200: { description: 'All of them, by name.', schema: 'TableList' } },
    async handle(_call, api) {
      const names = await api.queries().tables();
      return ok({ tables: names.map((name) => ({ name })) });
    },
  },
  {
    method: 'GET',
    path: `${QUERIES}/:id`,
    role: 'read',
    summary: 'Show a query with its stages',
    parameters: { wait },
    answers: QUERY_ANSWER,
    handle: showQuery,
  },
  {
    method: 'GET',
    path: `${QUERIES}/:id/results`,
    role: 'read',
    summary: 'Read the rows of a query',
    description:
      'Rows are streamed. A response that ends prematurely is incomplete. Numbers that do ' +
      'not fit into a JavaScript number are text in JSON, by type.',
    parameters: {
      format: {
        type: 'enum',
        values: RESULT_FORMATS,
        description: 'The output format; json by default.',
      },
    },
    answers: {
      200: {
        description: 'The rows.',
        schema: 'QueryRows',
        otherTypes: [TYPES.ndjson, 'text/csv', TYPES.parquet],
      },
    },
    handle: readResults,
  },
  {
    method: 'GET',
    path: `${QUERIES}/:id/explain`,
    role: 'read',
    summary: 'Show the plan of a query with statistics per stage',
    answers: { 200: { description: 'The plan.', schema: 'QueryAnalysis' } },
    async handle(call, api) {
      const id = jobIn(call);
      const analysis = await api.queries().analysis(id);
      if (analysis === null) throw noQuery(id);
      return ok({ id, ...analysis });
    },
  },
  {
    method: 'POST',
    path: `${QUERIES}/:id/cancel`,
    role: 'submit',
    summary: 'Cancel a query',
    description: 'A finished query is not changed.',
    body: { schema: 'CancelRequest', required: false },
    answers: QUERY_ANSWER,
    async handle(call, api) {
      const id = jobIn(call);
      const { jobs } = api.leader();
      const reason = textIn(objectOf(await call.body(), ['reason']), 'reason');
      const { value } = await api.queries().reader.query(id);
      if (value === null) throw noQuery(id);
      await jobs.cancel(id, reason ?? 'asked for by HTTP');
      return shown(api, id);
    },
  },
];

async function submitQuery(call: Call, api: ApiParts): Promise<Answer> {
  const ids = newIds(call, api);
  // Before the body is read: a node that does not lead need not receive it.
  const { jobs } = api.leader();
  const options = { ...ids(), caller: call.caller };
  const reply = await jobs.submitQuery(await call.body(), options, call.signal);
  const { jobId, state, changed } = reply;
  if (changed) api.metrics.countSubmitted();
  const headers = { location: `${QUERIES}/${jobId}` };
  const waitMs = Number(call.query['wait'] ?? 0);
  const result = waitMs > 0 ? await resultWithin(waitMs, jobId, call, api) : null;
  if (result !== null) {
    const value = { id: jobId, state: 'succeeded', result };
    return { kind: 'json', status: 200, value, headers };
  }
  const now = waitMs > 0 ? await stateNow(jobId, api) : null;
  const value = { id: jobId, state: now ?? state };
  return { kind: 'json', status: changed ? 201 : 200, value, headers };
}

/** Null if it has not succeeded in this time, or its rows are not stored with it. */
async function resultWithin(
  waitMs: number,
  id: JobId,
  call: Call,
  api: ApiParts,
): Promise<InlineRows | null> {
  const queries = api.queries();
  await queries.ended(id, waitMs, call.signal);
  // The query is submitted, whatever becomes of its rows: they can be read with a call of their own.
  return queries.inlineRows(id).catch(() => null);
}

/** Null if it cannot be read now; the submission is answered all the same. */
async function stateNow(id: JobId, api: ApiParts): Promise<JobState | null> {
  return api
    .queries()
    .state(id)
    .catch(() => null);
}

async function showQuery(call: Call, api: ApiParts): Promise<Answer> {
  const id = jobIn(call);
  const waitMs = Number(call.query['wait'] ?? 0);
  if (waitMs > 0) await api.queries().ended(id, waitMs, call.signal);
  return shown(api, id);
}

async function shown(api: ApiParts, id: JobId): Promise<Answer> {
  const { asOf, value } = await api.queries().reader.query(id);
  if (value === null) throw noQuery(id);
  return dated(asOf, value);
}

async function readResults(call: Call, api: ApiParts): Promise<Answer> {
  const id = jobIn(call);
  // The table of routes lets only formats through.
  const format = (call.query['format'] ?? 'json') as ResultFormat;
  const { pieces } = await api.queries().results(id, format, call.signal);
  const isFile = format === 'csv' || format === 'parquet';
  return {
    kind: 'bytes',
    status: 200,
    type: TYPES[format],
    pieces,
    headers: isFile ? { 'content-disposition': `attachment; filename="${id}.${format}"` } : {},
  };
}

function noQuery(id: JobId): Error {
  return notFound(`There is no query ${id}.`);
}
