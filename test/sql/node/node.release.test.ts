import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, credentials } from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { deferred } from '../../../src/kit/index.ts';
import { ControlPlaneService } from '../../../src/edge/grpc/gen/millrace/v1/control_plane.ts';
import type {
  FetchQueryResultsResponse,
  SubmitQueryResponse,
} from '../../../src/edge/grpc/gen/millrace/v1/query.ts';
import { openNode, writeParquet } from './node.ts';
import type { QueryBench } from './node.ts';

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

const folder = mkdtempSync(join(tmpdir(), 'millrace-tables-'));
const at = (name: string): string => join(folder, name);
let bench: QueryBench;

beforeAll(async () => {
  mkdirSync(at('parts/year=2023'), { recursive: true });
  mkdirSync(at('parts/year=2024'), { recursive: true });
  mkdirSync(at('inside'));
  await writeParquet({
    [at('small.parquet')]: 'SELECT i AS id, i % 3 AS g FROM range(100) t(i)',
    [at('wide.parquet')]:
      "SELECT i AS id, repeat('x', 40) || hash(i) AS text FROM range(20000) t(i)",
    [at('parts/year=2023/a.parquet')]: 'SELECT 1 AS v',
    [at('parts/year=2024/a.parquet')]: 'SELECT 2 AS v',
    [at('inside/t.parquet')]: 'SELECT 7 AS v',
    [at('drift.parquet')]: "SELECT 'no' AS other",
  });
  writeFileSync(at('lines.csv'), 'a,b\n1,x\n2,y\n');
  symlinkSync(at('small.parquet'), at('inside/leak.parquet'));
  writeFileSync(
    at('catalog.yaml'),
    'tables:\n  Numbers: small.parquet\n  broken: nowhere.parquet\n',
  );
  bench = await openNode({ MILLRACE_CATALOG: at('catalog.yaml') });
});

afterAll(async () => {
  await bench.close();
  rmSync(folder, { recursive: true });
  const children = execFileSync('ps', ['-o', 'args=', '--ppid', `${process.pid}`]).toString();
  expect(children).not.toContain('engine');
});

const small = { t: at('small.parquet') };
const ENDLESS =
  'select count(*) from range(1000000000) a(i), range(1000000000) b(j) where i + j = 7';

describe('a query over HTTP', () => {
  test('is run, waited for, and its rows are read', async () => {
    const query = await bench.run({
      sql: 'select g, count(*) n from t group by g order by g',
      tables: small,
    });
    expect(query).toMatchObject({ state: 'succeeded', error: null });
    expect(query.single).toContain('are not distributed');
    const { body } = await bench.call('GET', `/${query.id}/results`);
    expect(body.columns).toEqual([
      { name: 'g', type: 'BIGINT' },
      { name: 'n', type: 'BIGINT' },
    ]);
    expect(body.rows).toEqual([
      ['0', '34'],
      ['1', '33'],
      ['2', '33'],
    ]);
    const csv = await bench.call('GET', `/${query.id}/results?format=csv`);
    expect(csv.text.trim().split(/\r?\n/)).toEqual(['g,n', '0,34', '1,33', '2,33']);
    const lines = await bench.call('GET', `/${query.id}/results?format=ndjson`);
    expect(lines.text.trim().split('\n')).toHaveLength(3);
    const parquet = await bench.call('GET', `/${query.id}/results?format=parquet`);
    expect(parquet.text.slice(0, 4)).toBe('PAR1');
  });

  test('is distributed when asked to, and reports what it took', async () => {
    const settings = { shufflePartitions: 2, singleFragmentBytes: 0, broadcastThresholdBytes: 0 };
    const sql = 'select g, sum(id) s from t group by g order by g';
    const query = await bench.run({ sql, tables: small, settings });
    expect(query).toMatchObject({ state: 'succeeded', single: null, partitions: 2 });
    expect(query.stages.length).toBeGreaterThan(1);
    expect(query.stages[0]).toMatchObject({
      state: 'succeeded',
      tasks: { total: 2, succeeded: 2 },
    });
    const analysis = await bench.call('GET', `/${query.id}/explain`);
    expect(analysis.body.text).toContain('rows');
    expect(await bench.rows({ sql, tables: small, settings })).toEqual([
      ['0', '1683'],
      ['1', '1617'],
      ['2', '1650'],
    ]);
  });

  test('has tables of the catalog, folders with keys, CSV, and parameters', async () => {
    expect(await bench.rows({ sql: 'select count(*) from NUMBERS' })).toEqual([['100']]);
    const tables = { p: at('parts'), c: at('lines.csv') };
    expect(await bench.rows({ sql: 'select year, v from p order by all', tables })).toEqual([
      ['2023', 1],
      ['2024', 2],
    ]);
    const sql = 'select b from c where a = $n';
    expect(await bench.rows({ sql, tables, params: { n: 2 } })).toEqual([['y']]);
  });

  test('with rows for several readers, however large', async () => {
    const query = await bench.run({
      sql: 'select * from w order by id',
      tables: { w: at('wide.parquet') },
    });
    const { body } = await bench.call('GET', `/${query.id}/results`);
    expect(body.rows).toHaveLength(20_000);
    expect(body.rows[19_999]?.[0]).toBe('19999');
    const again = await bench.call('GET', `/${query.id}/results?format=csv`);
    expect(again.text.trim().split('\n')).toHaveLength(20_001);
  });

  test('is there once, with a key', async () => {
    const request = { sql: 'select 1', idempotencyKey: 'once' };
    const first = await bench.call('POST', '', request);
    const second = await bench.call('POST', '', request);
    expect([first.status, second.status]).toEqual([201, 200]);
    expect(second.body.id).toBe(first.body.id);
    const { body } = await bench.call('GET', '?limit=1');
    expect(body.queries).toMatchObject([{ id: first.body.id, name: 'sql: select 1' }]);
  });

  test('ends when it is cancelled', async () => {
    const { body } = await bench.call('POST', '', { sql: ENDLESS });
    const cancelled = await bench.call('POST', `/${body.id}/cancel`);
    expect(cancelled.status).toBe(200);
    const ended = await bench.call('GET', `/${body.id}?wait=30000`);
    expect(ended.body.state).toBe('cancelled');
    const rows = await bench.call('GET', `/${body.id}/results`);
    expect([rows.status, rows.body.code]).toEqual([409, 'conflict']);
  });

  test('that fails on its data says why, also to whoever wants its rows', async () => {
    const sql = "select cast(text as integer) from (select 'x' || id as text from t)";
    const query = await bench.run({ sql, tables: small });
    expect(query).toMatchObject({ state: 'failed', error: { code: 'query_failed' } });
    expect(query.error?.message).toContain('Could not convert');
    const rows = await bench.call('GET', `/${query.id}/results`);
    expect([rows.status, rows.body.code]).toEqual([422, 'query_failed']);
  });
});

describe('what cannot be planned is refused at once', () => {
  test.each([
    ['a typo', { sql: 'selec 1' }, 400, 'bad_query', /syntax error/],
    ['a column', { sql: 'select nope from t', tables: small }, 400, 'bad_query', /nope/],
    ['a table', { sql: 'select * from nobody' }, 400, 'table_missing', /nobody/],
    ['two statements', { sql: 'select 1; select 2' }, 400, 'bad_query', /single SELECT statement/],
    ['a change', { sql: 'create table x (a int)' }, 400, 'bad_query', /not a SELECT/],
    ['a file', { sql: "select * from '/etc/passwd'" }, 403, 'path_refused', /passwd/],
    ['a reader', { sql: "select * from read_csv('/etc/passwd')" }, 403, 'path_refused', /read_csv/],
    [
      'a setting',
      { sql: 'select 1', settings: { memory: 1 } },
      400,
      'bad_input',
      /no such setting/,
    ],
    [
      'no files',
      { sql: 'select 1', tables: { t: at('no*') } },
      400,
      'table_missing',
      /No file matches/,
    ],
    ['a broken entry', { sql: 'from broken' }, 400, 'table_missing', /nowhere\.parquet/],
    [
      'files that differ',
      { sql: 'from t', tables: { t: [at('small.parquet'), at('drift.parquet')] } },
      400,
      'schema_mismatch',
      /id|other/,
    ],
    [
      'a column that is not there',
      { sql: 'from t', tables: { t: { paths: at('small.parquet'), schema: { x: 'INTEGER' } } } },
      400,
      'schema_mismatch',
      /"x"/,
    ],
    [
      'a type that is none',
      {
        sql: 'from t',
        tables: { t: { paths: at('small.parquet'), schema: { g: 'NO_TYPE' } } },
      },
      400,
      'schema_mismatch',
      /NO_TYPE/,
    ],
    ['a parameter too few', { sql: 'select $1' }, 400, 'bad_query', /parameter/i],
  ])('%s', async (_what, request, status, code, words) => {
    const answer = await bench.call('POST', '', request);
    expect([answer.status, answer.body.code]).toEqual([status, code]);
    expect(answer.body.detail).toMatch(words);
  });

  test('reports an error in the SQL with its position', async () => {
    const { body } = await bench.call('POST', '', { sql: 'select 1,\n  nope' });
    expect(body.detail).toContain('2:3');
    expect(body.path).toBe('/sql');
  });
});

describe('plans', () => {
  test('are shown without being run, and can be submitted', async () => {
    const settings = { shufflePartitions: 2, singleFragmentBytes: 0 };
    const asked = {
      sql: 'select g, count(*) n from t group by g order by g',
      tables: small,
      settings,
    };
    const { body } = await bench.call('POST', '/explain', asked);
    expect(body.text).toContain('t');
    expect(await bench.rows({ plan: body.plan, tables: small })).toEqual([
      ['0', '34'],
      ['1', '33'],
      ['2', '33'],
    ]);
    const evil = structuredClone(body.plan);
    const [stage] = evil.stages;
    if (stage !== undefined) stage.fragment.sql = "SELECT * FROM read_text('/etc/passwd')";
    const refused = await bench.call('POST', '', { plan: evil, tables: small });
    expect([refused.status, refused.body.path]).toEqual([400, '/plan/stages/0/fragment/sql']);
    const missing = await bench.call('POST', '', { plan: body.plan });
    expect([missing.status, missing.body.code]).toEqual([400, 'table_missing']);
    const wrong = await bench.call('POST', '', { plan: { version: 9 } });
    expect([wrong.status, wrong.body.path]).toEqual([400, '/plan/version']);
  });
});

test('gRPC submits, waits and reads the same', async () => {
  const client = new Client(bench.grpc, credentials.createInsecure());
  const submit = ControlPlaneService.submitQuery;
  const answered = deferred<SubmitQueryResponse>();
  const none = Buffer.alloc(0);
  const request = {
    ...{ queryId: 'by-grpc', sql: 'select 42 as n', physicalPlanJson: none, tablesJson: none },
    ...{ settingsJson: none, paramsJson: none, idempotencyKey: '' },
  };
  client.makeUnaryRequest(
    submit.path,
    submit.requestSerialize,
    submit.responseDeserialize,
    request,
    (failure, value) =>
      failure === null && value !== undefined ? answered.resolve(value) : answered.reject(failure),
  );
  expect((await answered.promise).queryId).toBe('by-grpc');
  await bench.call('GET', '/by-grpc?wait=30000');
  const fetch = ControlPlaneService.fetchQueryResults;
  const stream = client.makeServerStreamRequest(
    fetch.path,
    fetch.requestSerialize,
    fetch.responseDeserialize,
    { queryId: 'by-grpc', format: 'csv', startOffset: 0n, crc32: 0 },
  );
  let text = '';
  for await (const message of stream)
    text += String((message as FetchQueryResultsResponse).payload);
  expect(text.trim().split(/\r?\n/)).toEqual(['n', '42']);
  client.close();
});

test('nothing is left of what was fetched for readers', () => {
  const data = bench.dataFolder;
  const left = readdirSync(join(data, 'queries'), { recursive: true }).map(String);
  expect(left.filter((name) => name.endsWith('.parquet'))).toEqual([]);
});

describe('a server with a root, for one query at a time', () => {
  let rooted: QueryBench;

  beforeAll(async () => {
    rooted = await openNode({ MILLRACE_ROOTS: at('inside'), MILLRACE_MAX_QUERIES: '1' });
  });
  afterAll(() => rooted.close());

  test('reads what lies below it', async () => {
    const tables = { t: at('inside/t.parquet') };
    expect(await rooted.rows({ sql: 'from t', tables })).toEqual([[7]]);
  });

  test.each(['small.parquet', 'inside/leak.parquet', 'inside/../lines.csv'])(
    'and not %s',
    async (name) => {
      const tables = { t: at(name) };
      const { status, body } = await rooted.call('POST', '', { sql: 'from t', tables });
      expect([status, body.code, body.path]).toEqual([403, 'path_refused', '/tables/t']);
    },
  );

  test('says which query waits for admission, and why', async () => {
    const first = await rooted.call('POST', '', { sql: ENDLESS });
    const second = await rooted.call('POST', '', { sql: 'select 2' });
    const { body } = await rooted.call('GET', `/${second.body.id}`);
    expect(body).toMatchObject({
      state: 'queued',
      waiting: { position: 0, why: expect.stringContaining('1 of 1 run') as string },
    });
    const rows = await rooted.call('GET', `/${second.body.id}/results`);
    expect([rows.status, rows.body.code]).toEqual([409, 'conflict']);
    await rooted.call('POST', `/${first.body.id}/cancel`);
    const ended = await rooted.call('GET', `/${second.body.id}?wait=30000`);
    expect(ended.body).toMatchObject({ state: 'succeeded', waiting: null });
  });

  test('reports rows that were lost with their worker', async () => {
    const sql = "select repeat('x', 40) || hash(i) from range(20000) t(i)";
    const { id } = await rooted.run({ sql });
    expect((await rooted.call('GET', `/${id}/results?format=csv`)).status).toBe(200);
    await rooted.node.replaceWorker();
    // The old one leaves while the new one is at work already.
    await vi.waitFor(
      async () => {
        const { status, body } = await rooted.call('GET', `/${id}/results?format=csv`);
        expect([status, body.code]).toEqual([410, 'result_lost']);
      },
      { timeout: 30_000, interval: 100 },
    );
  });
});
