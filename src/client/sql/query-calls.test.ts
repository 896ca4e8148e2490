import { afterEach, beforeEach, expect, test } from 'vitest';
import { HastyClock } from '../../../test/rig/hasty-clock.ts';
import { notLeader, problem, ScriptedServer } from '../../../test/rig/scripted-server.ts';
import type { JobId } from '../../scheduler/core/index.ts';
import { HttpClient } from '../http-client.ts';

const id = 'q-1' as JobId;
const running = { id, state: 'running', stages: [] };
const over = { id, state: 'succeeded', stages: [] };

let server: ScriptedServer;
let client: HttpClient;

beforeEach(async () => {
  server = await ScriptedServer.start();
  client = new HttpClient({ server: server.url, clock: new HastyClock() });
});
afterEach(async () => {
  client.end();
  await server.close();
});

const last = () => server.received.at(-1) ?? expect.fail('nothing came');

async function text(pieces: AsyncIterable<Uint8Array>): Promise<string> {
  const all: Uint8Array[] = [];
  for await (const piece of pieces) all.push(piece);
  return Buffer.concat(all).toString();
}

test('a query that is sent twice has one id, and counts as new', async () => {
  server.script('POST /api/v1/queries', 'hang up', (response, { headers }) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ id: headers['millrace-job-id'], state: 'queued' }));
  });
  const submitted = await client.queries.submit({ sql: 'select 1', tables: { t: 'x.parquet' } });
  const [first, second] = server.received;
  expect(submitted).toEqual({
    id: first?.headers['millrace-job-id'],
    state: 'queued',
    isNew: true,
  });
  expect(second?.headers['millrace-job-id']).toBe(submitted.id);
  expect(JSON.parse(last().body)).toEqual({ sql: 'select 1', tables: { t: 'x.parquet' } });
});

test('a query is sent to the leader', async () => {
  const leader = await ScriptedServer.start();
  leader.script('POST /api/v1/queries', { status: 201, json: { id, state: 'queued' } });
  server.script('POST /api/v1/queries', notLeader(leader.url));
  expect(await client.queries.submit({ sql: 'select 1' })).toMatchObject({ id, isNew: true });
  await leader.close();
});

test('waiting for the end of a query repeats the call', async () => {
  server.script('GET /api/v1/queries/q-1', { json: running }, { json: running }, { json: over });
  expect(await client.queries.finished(id)).toEqual(over);
  expect(server.received.map(({ query }) => query['wait'])).toEqual(['20000', '20000', '20000']);
});

test('reading a query once does not wait', async () => {
  server.script('GET /api/v1/queries/q-1', { json: running });
  expect(await client.queries.get(id)).toEqual(running);
  expect(last().query).toEqual({});
});

test('queries are listed, cancelled and explained', async () => {
  const page = { queries: [], cursor: null };
  server.script('GET /api/v1/queries', { json: page });
  expect(await client.queries.list({ state: 'running', limit: 5, cursor: 'c' })).toEqual(page);
  expect(last().query).toEqual({ state: 'running', limit: '5', cursor: 'c' });
  server.script('POST /api/v1/queries/q-1/cancel', { json: over });
  await client.queries.cancel(id, 'enough');
  expect(last().body).toBe('{"reason":"enough"}');
  const plan = { plan: { version: 1 }, text: 'one stage' };
  server.script('POST /api/v1/queries/explain', { json: plan });
  expect(await client.queries.explain({ sql: 'select 1' })).toEqual(plan);
  server.script('GET /api/v1/queries/q-1/explain', { json: { text: 'took 3 ms' } });
  expect(await client.queries.analysis(id)).toBe('took 3 ms');
});

test('rows are returned unchanged in the requested format', async () => {
  server.script('GET /api/v1/queries/q-1/results', { text: 'a,b\n1,2\n' });
  expect(await text(client.queries.results(id, 'csv'))).toBe('a,b\n1,2\n');
  expect(last().query).toEqual({ format: 'csv' });
});

test('truncated rows are an error, not the end', async () => {
  server.script('GET /api/v1/queries/q-1/results', (response) => {
    response.writeHead(200);
    response.write('a,b\n', () => response.destroy());
  });
  await expect(text(client.queries.results(id, 'csv'))).rejects.toMatchObject({
    code: 'unreachable',
    what: 'The result of query q-1 ended prematurely.',
  });
});

test('leaving the loop closes the connection', async () => {
  const closed = new Promise<void>((resolve) => {
    server.script('GET /api/v1/queries/q-1/results', (response) => {
      response.writeHead(200);
      response.write('a,b\n');
      response.on('close', resolve);
    });
  });
  for await (const piece of client.queries.results(id, 'csv')) {
    expect(Buffer.from(piece).toString()).toBe('a,b\n');
    break;
  }
  await closed;
});

test('an aborted read rejects with its reason', async () => {
  const control = new AbortController();
  const reason = new Error('enough');
  server.script('GET /api/v1/queries/q-1/results', (response) => {
    response.writeHead(200);
    response.write('a,b\n');
  });
  const reading = client.queries.results(id, 'csv', { signal: control.signal });
  await reading.next();
  control.abort(reason);
  await expect(reading.next()).rejects.toBe(reason);
});

test('a refusal has the code and message of the server', async () => {
  const detail = 'LINE 1: selct 1';
  server.script('POST /api/v1/queries', problem(400, { code: 'bad_query', detail }));
  await expect(client.queries.submit({ sql: 'selct 1' })).rejects.toMatchObject({
    code: 'bad_query',
    message: detail,
  });
  server.script('GET /api/v1/queries/q-1/results', problem(410, { code: 'result_lost', detail }));
  await expect(text(client.queries.results(id, 'csv'))).rejects.toMatchObject({
    code: 'result_lost',
  });
});
