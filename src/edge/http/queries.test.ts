import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type ApiBench, type Heard, openApi } from '../../../test/rig/api.ts';
import { fragmentResult, queryJob, samplePlan } from '../../../test/rig/query-job.ts';
import { MillraceError } from '../../scheduler/core/index.ts';
import type { EventView, JobId } from '../../scheduler/core/index.ts';
import type { QueryPlanner } from '../../scheduler/coordinator/index.ts';
import { deferred } from '../../kit/index.ts';
import type { InlineRows, ResultFormat } from '../../scheduler/contract/index.ts';
import { ScriptedWorker } from '../../../test/rig/lead.ts';
import { JobWaits, QueryViews } from '../read/index.ts';
import type { QueryAnalysis, QueryFigures, QueryService } from '../../scheduler/contract/index.ts';

const ANALYSIS: QueryAnalysis = {
  text: 'stage 0',
  stages: [{ id: 0, operators: ['scan t'], nonDeterministic: null, requires: [] }],
};

const FIGURES: QueryFigures = {
  plans: 3,
  planHits: 2,
  plansFailed: 1,
  planningMs: 1_500,
  planningNow: 0,
  results: 2,
  resultsFailed: 0,
  resultsOpen: 0,
  resultBytes: 77,
  fetchedBytes: 11,
};

let bench: ApiBench;
let port: QueryService;
let planned: unknown[];
let asked: { readonly id: JobId; readonly format: ResultFormat; readonly signal: AbortSignal }[];
let pieces: () => AsyncIterable<Uint8Array>;
let waits: JobWaits | null;
/** Small results. */
let stored: Map<string, InlineRows>;

/** Plans everything but what says `bad`. */
const planner: QueryPlanner = {
  plan(request) {
    planned.push(request);
    const { sql, idempotencyKey } = request as { sql: string; idempotencyKey?: string };
    if (sql === 'bad') {
      return Promise.reject(
        new MillraceError({ code: 'bad_query', what: 'Parser Error: bad', path: '/sql' }),
      );
    }
    const key = idempotencyKey === undefined ? {} : { idempotencyKey };
    return Promise.resolve(queryJob({ ...samplePlan, sql }, key));
  },
};

beforeEach(async () => {
  planned = [];
  asked = [];
  waits = null;
  stored = new Map();
  pieces = async function* () {
    yield Buffer.from('{"columns":[],');
    yield Buffer.from('"rows":[]}');
  };
  const forward: QueryService = {
    get reader() {
      return port.reader;
    },
    ended: (...args) => port.ended(...args),
    explain: (...args) => port.explain(...args),
    tables: () => port.tables(),
    analysis: (...args) => port.analysis(...args),
    results: (...args) => port.results(...args),
    inlineRows: (...args) => port.inlineRows(...args),
    state: (...args) => port.state(...args),
    figures: () => port.figures(),
  };
  bench = await openApi({ queries: forward }, { planner });
  const { store, led, clock } = bench;
  const views = new QueryViews({ store, clock, resultTtlMs: 60_000 });
  waits = new JobWaits({ store, clock, leader: () => led.leader });
  port = {
    reader: views,
    ended: (id, ms, signal) => waits?.ended(id, ms, signal) ?? Promise.resolve(),
    explain: (request) => Promise.resolve({ plan: samplePlan, text: JSON.stringify(request) }),
    tables: () => Promise.resolve(['customers', 'orders']),
    analysis: (id) => Promise.resolve(id === 'made-1' ? ANALYSIS : null),
    results: (id, format, signal) => {
      asked.push({ id, format, signal });
      return Promise.resolve({ format, pieces: pieces() });
    },
    inlineRows: (id) => Promise.resolve(stored.get(id) ?? null),
    state: async (id) => (await views.record(id))?.state ?? null,
    figures: () => FIGURES,
  };
});
afterEach(() => bench.close());

const get = (path: string): Promise<Heard> => bench.call('GET', `/api/v1/queries${path}`);
const post = (path: string, body?: unknown, headers?: object): Promise<Heard> =>
  bench.call('POST', `/api/v1/queries${path}`, body, headers);

describe('submitting', () => {
  test('answers 201 with id and state, and where to look', async () => {
    const { status, body, headers } = await post('', { sql: 'select 1' });
    expect([status, body.id]).toEqual([201, 'made-1']);
    expect(headers.get('location')).toBe('/api/v1/queries/made-1');
    expect((await get('/made-1')).body).toMatchObject({ sql: 'select 1', stages: [{}, {}] });
  });

  test('the same key or id again is 200 and the first query, and is not planned again', async () => {
    const request = { sql: 'select 1', idempotencyKey: 'k' };
    await post('', request);
    const again = await post('', request);
    expect([again.status, again.body.id]).toEqual([200, 'made-1']);
    const mine = { 'millrace-job-id': 'mine' };
    expect((await post('', { sql: 'select 2' }, mine)).status).toBe(201);
    const repeated = await post('', { sql: 'select 2' }, mine);
    expect([repeated.status, repeated.body.id]).toEqual([200, 'mine']);
    expect(planned).toHaveLength(2);
  });

  test('with `wait` the answer has the rows of a query that ended in time', async () => {
    const result = { columns: [{ name: 'one', type: 'INTEGER' }], rows: [[1]] };
    stored.set('made-1', result);
    const ended: unknown[] = [];
    port = { ...port, ended: async (...asked) => void ended.push(asked.slice(0, 2)) };
    const { status, body, headers } = await post('?wait=5000', { sql: 'select 1' });
    expect([status, body]).toEqual([200, { id: 'made-1', state: 'succeeded', result }]);
    expect(headers.get('location')).toBe('/api/v1/queries/made-1');
    expect(ended).toEqual([['made-1', 5_000]]);
    const again = await post('?wait=5000', { sql: 'select 1' }, { 'millrace-job-id': 'made-1' });
    expect([again.status, again.body]).toMatchObject([200, { result }]);
  });

  test('with `wait` a query without a small result is 201 as before', async () => {
    port = { ...port, ended: () => Promise.resolve() };
    const large = await post('?wait=1', { sql: 'select 1' });
    expect([large.status, Object.keys(large.body)]).toEqual([201, ['id', 'state']]);
    port = { ...port, inlineRows: () => Promise.reject(new Error('the store is gone')) };
    expect((await post('?wait=1', { sql: 'select 2' })).status).toBe(201);
    expect((await post('?wait=60001', { sql: 'select 3' })).status).toBe(400);
  });

  test('with `wait` the answer has the state after waiting', async () => {
    const ended = (id: JobId): Promise<void> =>
      bench.led.leader.jobs.cancel(id, 'no').then(() => {});
    port = { ...port, ended };
    const { status, body } = await post('?wait=1000', { sql: 'select 1' });
    expect([status, body.state]).toEqual([201, 'cancelled']);
  });

  test('SQL that cannot be planned is 400 with its words, and no query is there', async () => {
    const { status, body } = await post('', { sql: 'bad' });
    expect(status).toBe(400);
    expect(body).toMatchObject({ code: 'bad_query', detail: 'Parser Error: bad', path: '/sql' });
    expect((await get('')).body.queries).toEqual([]);
  });

  test('a client that disconnects ends the planning, and no error is logged', async () => {
    const [begun, ended] = [deferred(), deferred()];
    const waiting: QueryPlanner = {
      plan: (_request, signal) =>
        new Promise((_resolve, reject) => {
          begun.resolve();
          signal.addEventListener('abort', () => {
            reject(signal.reason as Error);
            ended.resolve();
          });
        }),
    };
    const own = await openApi({ queries: port }, { planner: waiting });
    const gone = new AbortController();
    const asking = fetch(`${own.api.url}/api/v1/queries`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"sql":"select 1"}',
      signal: gone.signal,
    });
    asking.catch(() => {});
    await begun.promise;
    gone.abort();
    await ended.promise;
    await expect(asking).rejects.toThrow('aborted');
    await own.close();
    expect(own.faults).toEqual([]);
  });

  test('a node that does not lead refuses before it reads the body', async () => {
    const elsewhere = await openApi({
      leader: () => {
        throw new MillraceError({ code: 'not_leader', what: 'Node n-1 does not lead.' });
      },
      queries: port,
    });
    const refused = await elsewhere.call('POST', '/api/v1/queries', '{"sql":');
    expect([refused.status, refused.body.code]).toEqual([503, 'not_leader']);
    const explained = await elsewhere.call('POST', '/api/v1/queries/explain', '{"sql":');
    expect([explained.status, explained.body.code]).toEqual([503, 'not_leader']);
    await elsewhere.close();
  });
});

describe('looking', () => {
  test('a job that is not a query is not found here', async () => {
    await bench.call('POST', '/api/v1/jobs', { tasks: [{ id: 'a', executor: 'echo' }] });
    const { status, body } = await get('/made-1');
    expect([status, body.detail]).toEqual([404, 'There is no query made-1.']);
    expect((await get('/nobody')).status).toBe(404);
    expect((await post('/made-1/cancel')).status).toBe(404);
    expect((await get('/nobody/explain')).status).toBe(404);
  });

  test('a waiting call is answered when the query ends', async () => {
    await post('', { sql: 'select 1' });
    const waiting = get('/made-1?wait=60000');
    const own = await ScriptedWorker.join(bench.led.leader, 'sql', ['sql.fragment']);
    for (let round = 0; round < 2; round += 1) {
      for (const { lease, taskId } of await own.pollNow(9)) {
        await own.complete(lease, fragmentResult(taskId));
      }
    }
    const end = { kind: 'job.succeeded', jobId: 'made-1' } as EventView;
    waits?.committed({ events: [end], jobUpdates: [], results: [] });
    expect((await waiting).body).toMatchObject({ state: 'succeeded' });
    expect((await get('/made-1?wait=60000')).body.state).toBe('succeeded');
  });

  test('a caller that waits too long gets the current state', async () => {
    await post('', { sql: 'select 1' });
    const ended = deferred();
    const inner = port;
    port = {
      ...inner,
      ended: (...args) => {
        ended.resolve();
        return inner.ended(...args);
      },
    };
    const waiting = get('/made-1?wait=5000');
    await ended.promise;
    await bench.clock.advance(5_000);
    expect((await waiting).body).toMatchObject({
      stages: [{ state: 'waiting' }, { state: 'waiting' }],
    });
    const long = await get('/made-1?wait=60001');
    expect([long.status, long.body.path]).toEqual([400, '?wait']);
  });

  test('a cancelled query says so', async () => {
    await post('', { sql: 'select 1' });
    const { status, body } = await post('/made-1/cancel', { reason: 'no longer' });
    expect(status).toBe(200);
    expect(body).toMatchObject({ state: 'cancelled', error: { message: 'no longer' } });
  });

  test('a list has pages', async () => {
    for (const sql of ['one', 'two', 'three']) await post('', { sql });
    const first = await get('?limit=2');
    expect(first.body.queries.map(({ id }) => id)).toEqual(['made-3', 'made-2']);
    const second = await get(`?limit=2&cursor=${first.body.cursor}`);
    expect(second.body.queries.map(({ id }) => id)).toEqual(['made-1']);
    expect(second.body.cursor).toBeNull();
    expect((await get('?cursor=zzz')).body.path).toBe('?cursor');
  });
});

describe('explaining', () => {
  test('before it runs, and after', async () => {
    const explained = await post('/explain', { sql: 'select 1' });
    expect([explained.status, explained.body]).toMatchObject([
      200,
      { plan: { version: 2 }, text: '{"sql":"select 1"}' },
    ]);
    expect((await get('/made-1/explain')).body).toEqual({ id: 'made-1', ...ANALYSIS });
  });
});

describe('reading rows', () => {
  test.each([
    ['', 'json', 'application/json'],
    ['?format=ndjson', 'ndjson', 'application/x-ndjson'],
    ['?format=csv', 'csv', 'text/csv; charset=utf-8'],
    ['?format=parquet', 'parquet', 'application/vnd.apache.parquet'],
  ])('%j are sent as %s', async (query, format, type) => {
    const { status, text, headers } = await get(`/made-1/results${query}`);
    expect([status, text]).toEqual([200, '{"columns":[],"rows":[]}']);
    expect(headers.get('content-type')).toBe(type);
    expect(asked).toMatchObject([{ id: 'made-1', format }]);
  });

  test('an unknown format is refused', async () => {
    const { status, body } = await get('/made-1/results?format=xml');
    expect([status, body.path]).toEqual([400, '?format']);
  });

  test('an empty result is still answered', async () => {
    pieces = async function* () {};
    const { status, text } = await get('/made-1/results?format=csv');
    expect([status, text]).toEqual([200, '']);
  });

  test('a failure before the first row is a problem with its code', async () => {
    const lost = new MillraceError({ code: 'result_lost', what: 'Gone.' });
    pieces = () => ({
      [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(lost) }),
    });
    const { status, body } = await get('/made-1/results');
    expect([status, body.code, body.detail]).toEqual([410, 'result_lost', 'Gone.']);
  });

  test('a failure in the middle truncates the response', async () => {
    pieces = async function* () {
      yield Buffer.from('half');
      throw new MillraceError({ code: 'engine_crashed', what: 'It died.' });
    };
    const read = async (): Promise<string> => {
      const response = await fetch(`${bench.api.url}/api/v1/queries/made-1/results`);
      return response.text();
    };
    // Before or after its head has arrived.
    await expect(read()).rejects.toThrow(/terminated|fetch failed/);
    expect(bench.faults).toHaveLength(1);
  });

  test('a reader that disconnects ends the read', async () => {
    const left = deferred();
    pieces = async function* () {
      try {
        for (;;) yield Buffer.alloc(65_536);
      } finally {
        left.resolve();
      }
    };
    const gone = new AbortController();
    const response = await fetch(`${bench.api.url}/api/v1/queries/made-1/results`, {
      signal: gone.signal,
    });
    expect(response.status).toBe(200);
    gone.abort();
    await left.promise;
    expect(asked[0]?.signal.aborted).toBe(true);
  });
});

test('figures of queries are in the metrics', async () => {
  const { text } = await bench.call('GET', '/metrics');
  expect(text).toContain('millrace_query_plans_total{outcome="refused"} 1');
  expect(text).toContain('millrace_query_planning_seconds_total 1.5');
  expect(text).toContain('millrace_query_plan_hits_total 2');
  expect(text).toContain('millrace_query_fetched_bytes_total 11');
});

test('a node that cannot read queries says so', async () => {
  const bare = await openApi();
  const { status, body } = await bare.call('GET', '/api/v1/queries/x');
  expect([status, body.code]).toEqual([501, 'unimplemented']);
  await bare.close();
});

test('the tables of the catalog are listed by name', async () => {
  const { status, body } = await bench.call('GET', '/api/v1/tables');
  expect([status, body]).toEqual([200, { tables: [{ name: 'customers' }, { name: 'orders' }] }]);
});
