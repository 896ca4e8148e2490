import { afterEach, beforeEach, describe, expect, expectTypeOf, test } from 'vitest';
import { ScriptedServer, problem } from '../../../test/rig/scripted-server.ts';
import { QueryError, connect } from '../millrace.ts';
import type { Client, SqlQuery, SqlRow } from '../millrace.ts';
import { rowMaker, uniqueNames } from './sql-values.ts';

const columns = [
  { name: 'item', type: 'VARCHAR' },
  { name: 'sold', type: 'BIGINT' },
];
const over = { id: 'q-1', state: 'succeeded', error: null, columns, stages: [] };
const rows = [
  ['tea', '9007199254740993'],
  ['cup', null],
];

let server: ScriptedServer;
let client: Client;

beforeEach(async () => {
  server = await ScriptedServer.start();
  client = connect(server.url);
  server.script('POST /api/v1/queries', { status: 201, json: { id: 'q-1', state: 'queued' } });
  server.script('GET /api/v1/queries/q-1', { json: over });
  server.script('GET /api/v1/queries/q-1/results', { json: { columns, rows } });
  server.script('POST /api/v1/queries/q-1/cancel', { json: over });
});
afterEach(async () => {
  await client.close();
  await server.close();
});

const calls = (): string[] => server.received.map(({ method, path }) => `${method} ${path}`);
const sent = (): unknown => JSON.parse(server.received[0]?.body ?? 'null');

describe('a query', () => {
  test('yields its rows in a loop, each time from the start', async () => {
    const query = client.sql('select item, sold from sales');
    const seen: SqlRow[] = [];
    for await (const row of query) seen.push(row);
    expect(seen).toEqual([
      { item: 'tea', sold: 9_007_199_254_740_993n },
      { item: 'cup', sold: null },
    ]);
    expect(await query.rows()).toEqual(seen);
    expect(query.id).toBe('q-1');
    expect(await query.columns()).toEqual(columns);
    expect(calls().filter((call) => call.startsWith('POST'))).toEqual(['POST /api/v1/queries']);
  });

  test('whose rows come with the answer needs one call', async () => {
    const answer = { id: 'q-1', state: 'succeeded', result: { columns, rows } };
    server.script('POST /api/v1/queries', { json: answer });
    const query = client.sql('select item, sold from sales');
    const expected = [
      { item: 'tea', sold: 9_007_199_254_740_993n },
      { item: 'cup', sold: null },
    ];
    expect(await query.rows()).toEqual(expected);
    expect(await query.rows()).toEqual(expected);
    expect(calls()).toEqual(['POST /api/v1/queries']);
    expect(await query.finished()).toMatchObject({ state: 'succeeded' });
  });

  test('that has succeeded with more rows than the answer takes is not asked for its state', async () => {
    const answer = { id: 'q-1', state: 'succeeded' };
    server.script('POST /api/v1/queries', { status: 201, json: answer });
    const query = client.sql('select item, sold from sales');
    expect(await query.rows()).toHaveLength(2);
    expect(calls()).toEqual(['POST /api/v1/queries', 'GET /api/v1/queries/q-1/results']);
  });

  test('is sent with its options', async () => {
    const options = {
      params: {
        since: new Date('2026-11-15T00:00:00Z'),
        least: 2n ** 63n,
        few: 3n,
        all: [false, 'x'],
      },
      tables: { sales: ['a.parquet', 'b.parquet'] },
      settings: { shufflePartitions: 4 },
      timeZone: 'Europe/Berlin',
      name: 'report',
      priority: 3,
      idempotencyKey: 'k',
    } as const;
    await client.sql('select $since', options).finished();
    expect(sent()).toEqual({
      sql: 'select $since',
      ...options,
      params: {
        since: '2026-11-15T00:00:00.000Z',
        least: '9223372036854775808',
        few: 3,
        all: [false, 'x'],
      },
    });
  });

  test('as a template has parameters for its values', async () => {
    const sql = client.sql.with({ tables: { sales: 'sales/*.parquet' } });
    await sql`select * from sales where item = ${"'; drop"} and sold > ${5}`.rows();
    expect(sent()).toEqual({
      sql: 'select * from sales where item = $1 and sold > $2',
      params: ["'; drop", 5],
      tables: { sales: 'sales/*.parquet' },
    });
  });

  test('throws the error of the server when it fails', async () => {
    const error = { code: 'query_failed', message: 'Division by zero' };
    server.script('GET /api/v1/queries/q-1', { json: { ...over, state: 'failed', error } });
    const thrown = await client
      .sql('select 1/0')
      .rows()
      .catch((reason: unknown) => reason);
    expect(thrown).toBeInstanceOf(QueryError);
    expect(thrown).toMatchObject({
      code: 'query_failed',
      queryId: 'q-1',
      state: 'failed',
      message: 'Query q-1 failed: Division by zero',
    });
    const state = 'cancelled';
    server.script('GET /api/v1/queries/q-1', { json: { ...over, state } });
    await expect(client.sql.handle('q-1').rows()).rejects.toMatchObject({
      code: 'cancelled',
      message: 'Query q-1 was cancelled',
    });
  });

  test('rejects its first use when it is refused, and not before', async () => {
    const refusal = problem(400, { code: 'bad_query', detail: 'No such column' });
    server.script('POST /api/v1/queries', refusal);
    const query = client.sql('select nothing');
    await server.arrival(1);
    await expect(query.rows()).rejects.toMatchObject({ code: 'bad_query' });
    await expect(query.status()).rejects.toMatchObject({ code: 'bad_query' });
  });

  test.each([undefined, Number.NaN, new Date('never'), [{}]])(
    'with the parameter %o is not sent',
    async (value) => {
      const query = client.sql('select $1', { params: [value as never] });
      await expect(query.rows()).rejects.toMatchObject({ code: 'bad_input' });
      expect(server.received).toEqual([]);
    },
  );

  test('without SQL is not sent', async () => {
    await expect(client.sql(' ').rows()).rejects.toMatchObject({ code: 'bad_input' });
    expect(server.received).toEqual([]);
  });

  test('is explained before and after it has run', async () => {
    server.script('POST /api/v1/queries/explain', { json: { plan: {}, text: 'a plan' } });
    server.script('GET /api/v1/queries/q-1/explain', { json: { text: 'figures' } });
    expect(await client.sql.explain('select 1')).toEqual({ plan: {}, text: 'a plan' });
    expect(await client.sql('select 1').explain()).toBe('figures');
  });

  test('returns its rows in other formats', async () => {
    server.script('GET /api/v1/queries/q-1/results', { text: 'item,sold\n' });
    const pieces: Uint8Array[] = [];
    for await (const piece of client.sql('select 1').stream('csv')) pieces.push(piece);
    expect(Buffer.concat(pieces).toString()).toBe('item,sold\n');
    expect(server.received.at(-1)?.query).toEqual({ format: 'csv' });
  });
});

describe('an abort', () => {
  const reason = new Error('enough');

  test('cancels a running query before it rejects', async () => {
    const control = new AbortController();
    server.script('GET /api/v1/queries/q-1', 'silence');
    const reading = client.sql('select 1', { signal: control.signal }).rows();
    await server.arrival(2);
    control.abort(reason);
    await expect(reading).rejects.toBe(reason);
    expect(calls().at(-1)).toBe('POST /api/v1/queries/q-1/cancel');
  });

  test('cancels a query whose submission is in flight', async () => {
    const control = new AbortController();
    let answer = (): void => {};
    server.script('POST /api/v1/queries', (response) => {
      answer = () => {
        response.writeHead(201, { 'content-type': 'application/json' });
        response.end(JSON.stringify({ id: 'q-1', state: 'queued' }));
      };
    });
    const reading = client.sql('select 1', { signal: control.signal }).rows();
    reading.catch(() => {});
    await server.arrival(1);
    control.abort(reason);
    answer();
    await expect(reading).rejects.toBe(reason);
    expect(calls().at(-1)).toBe('POST /api/v1/queries/q-1/cancel');
  });

  test('of a single call, or of a query of another caller, cancels nothing', async () => {
    server.script('GET /api/v1/queries/q-1', 'silence');
    const query = client.sql('select 1');
    await server.arrival(1);
    await expect(query.rows({ signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    server.script('POST /api/v1/queries', { status: 200, json: { id: 'q-1', state: 'queued' } });
    const control = new AbortController();
    const known = client.sql('select 1', { idempotencyKey: 'k', signal: control.signal }).rows();
    await server.arrival(3);
    control.abort(reason);
    await expect(known).rejects.toBe(reason);
    expect(calls()).not.toContain('POST /api/v1/queries/q-1/cancel');
  });

  test('before the submission sends nothing', async () => {
    const query = client.sql('select 1', { signal: AbortSignal.abort(reason) });
    await expect(query.rows()).rejects.toBe(reason);
    expect(server.received).toEqual([]);
  });
});

test('leaving the loop closes the stream', async () => {
  const closed = new Promise<void>((resolve) => {
    server.script('GET /api/v1/queries/q-1/results', (response) => {
      response.writeHead(200);
      response.write(JSON.stringify({ columns, rows }).slice(0, -2));
      response.on('close', resolve);
    });
  });
  for await (const row of client.sql('select 1')) {
    expect(row).toEqual({ item: 'tea', sold: 9_007_199_254_740_993n });
    break;
  }
  await closed;
});

test('values are read by the type of their column', () => {
  const make = rowMaker([
    { name: 'huge', type: 'HUGEINT' },
    { name: 'price', type: 'DECIMAL(12,2)' },
    { name: 'a', type: 'DOUBLE' },
    { name: 'b', type: 'FLOAT' },
    { name: 'c', type: 'DOUBLE' },
    { name: 'bytes', type: 'BLOB' },
    { name: 'list', type: 'BIGINT[]' },
    { name: '__proto__', type: 'INTEGER' },
  ]);
  const row = make(['-1', '1.50', 'NaN', 'Infinity', '-Infinity', 'AAEC', ['1'], 7]);
  expect(Object.values(row)).toEqual([
    ...[-1n, '1.50', Number.NaN, Infinity, -Infinity],
    ...[new Uint8Array([0, 1, 2]), ['1'], 7],
  ]);
  expect(Object.keys(row)).toContain('__proto__');
  expect(make([null, null, null, null, null, null, null, null])).toMatchObject({ huge: null });
});

test('two columns with one name get different names', () => {
  expect(uniqueNames(['a', 'a', 'a_1', 'a', 'b'])).toEqual(['a', 'a_2', 'a_1', 'a_3', 'b']);
});

test('rows have the type that the caller gives', () => {
  interface Sale {
    readonly item: string;
  }
  expectTypeOf(() => client.sql<Sale>('select 1')).returns.toEqualTypeOf<SqlQuery<Sale>>();
  expectTypeOf(() => client.sql<Sale>`select ${1}`).returns.toEqualTypeOf<SqlQuery<Sale>>();
  expectTypeOf(() => client.sql('select 1')).returns.toEqualTypeOf<SqlQuery<SqlRow>>();
});
