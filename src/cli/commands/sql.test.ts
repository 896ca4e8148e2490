import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { runAgainst } from '../../../test/rig/command-line.ts';
import { ScriptedServer, problem } from '../../../test/rig/scripted-server.ts';
import { run } from '../program.ts';
import type { Terminal } from '../view/terminal.ts';

const columns = [
  { name: 'item', type: 'VARCHAR' },
  { name: 'sold', type: 'BIGINT' },
];
const stage = {
  ...{ id: 0, title: 'scan sales', state: 'running', output: 'result', inputs: [] },
  tasks: { total: 4, queued: 2, running: 1, succeeded: 1, failed: 0, recomputed: 0 },
  ...{ estimate: { rows: null, bytes: null }, rowsIn: 0, rowsOut: 2, bytesOut: 9, batches: 1 },
  ...{
    fetchedBytes: 0,
    spilledBytes: 0,
    elapsedMs: 3,
    workMs: 3,
    partitionBytes: [],
    grouping: null,
    filters: [],
    filteredRows: null,
    join: null,
  },
};
const over = {
  ...{ id: 'q-1', state: 'succeeded', sql: 'select item', error: null, columns, single: null },
  ...{ partitions: 4, stages: [stage], waiting: null, expiresAt: '2026-11-15T07:00:00.000Z' },
  submittedAt: '2026-11-15T06:00:00.000Z',
  startedAt: '2026-11-15T06:00:00.000Z',
  finishedAt: '2026-11-15T06:00:02.000Z',
};
const running = { ...over, state: 'running', finishedAt: null, expiresAt: null };
const rows = [
  ['tea', '12'],
  ['cup', null],
];

let server: ScriptedServer;
beforeEach(async () => {
  server = await ScriptedServer.start();
  server.script('POST /api/v1/queries', { status: 201, json: { id: 'q-1', state: 'queued' } });
  server.script('GET /api/v1/queries/q-1', { json: over });
  server.script('GET /api/v1/queries/q-1/results', { json: { columns, rows } });
});
afterEach(() => server.close());

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'millrace-sql-'));
  onTestFinished(() => rmSync(path, { recursive: true }));
  return path;
}

describe('millrace sql', () => {
  test('shows the rows as a table, and a summary beside it', async () => {
    const { code, out, err } = await runAgainst(server, ['sql', 'select item']);
    expect(code).toBe(0);
    expect(out).toContain('│ tea     │     12 │\n│ cup     │   NULL │\n');
    expect(err).toMatch(/^2 rows in \S+ \(1 stage, 4 tasks\)\.\n$/);
  });

  test('shows no more rows than asked for, and says that there are more', async () => {
    const { out, err } = await runAgainst(server, ['sql', 'select item', '--rows', '1']);
    expect(out).not.toContain('cup');
    expect(err).toContain('Only the first 1 rows are shown');
  });

  test.each([['--json'], ['--format', 'json']])(
    'hands on JSON as it is with %s',
    async (...flags) => {
      const { out } = await runAgainst(server, ['sql', 'select item', ...flags]);
      expect(out).toBe(`${JSON.stringify({ columns, rows })}\n`);
    },
  );

  test('writes a file, whose name tells the format', async () => {
    server.script('GET /api/v1/queries/q-1/results', { text: 'item,sold\n' });
    const file = join(folder(), 'x.csv');
    const { code, err } = await runAgainst(server, ['sql', 'select item', '--output', file]);
    expect({ code, text: readFileSync(file, 'utf8') }).toEqual({ code: 0, text: 'item,sold\n' });
    expect(err).toContain(`2 rows to ${file} in `);
    expect(server.received.at(-1)?.query).toEqual({ format: 'csv' });
  });

  test('leaves no file behind when the rows break off', async () => {
    server.script('GET /api/v1/queries/q-1/results', (response) => {
      response.writeHead(200);
      response.write('item,sold\n', () => response.destroy());
    });
    const path = folder();
    const file = join(path, 'x.csv');
    const { code, err } = await runAgainst(server, ['sql', 'select item', '--output', file]);
    expect({ code, files: readdirSync(path) }).toEqual({ code: 3, files: [] });
    expect(err).toContain('ended prematurely');
  });

  test('explains without running', async () => {
    const plan = { plan: { version: 1 }, text: 'stage 0\n' };
    server.script('POST /api/v1/queries/explain', { json: plan });
    expect(await runAgainst(server, ['sql', 'select 1', '--explain'])).toMatchObject({
      code: 0,
      out: 'stage 0\n',
    });
    const { out } = await runAgainst(server, ['sql', 'select 1', '--explain', '--json']);
    expect(JSON.parse(out)).toEqual(plan);
  });

  test('analyzes what has run', async () => {
    server.script('GET /api/v1/queries/q-1/explain', { json: { text: 'stage 0: 3 ms' } });
    const { out } = await runAgainst(server, ['sql', 'select 1', '--analyze']);
    expect(out).toBe('stage 0: 3 ms\n');
  });

  test('fails with 1 when the query does, and says why', async () => {
    const error = { code: 'query_failed', message: 'Division by zero' };
    server.script('GET /api/v1/queries/q-1', { json: { ...over, state: 'failed', error } });
    const { code, out, err } = await runAgainst(server, ['sql', 'select 1/0', '--json']);
    expect({ code, answer: JSON.parse(out) as unknown }).toEqual({
      code: 1,
      answer: { id: 'q-1', state: 'failed', error },
    });
    expect(err).toBe('millrace: Division by zero\n');
  });

  test('fails with 2 when the SQL is wrong, and shows where', async () => {
    const detail = 'No column itme.\nLINE 1: select itme\n               ^';
    server.script('POST /api/v1/queries', problem(400, { code: 'bad_query', detail }));
    const { code, err } = await runAgainst(server, ['sql', 'select itme']);
    expect({ code, err }).toEqual({ code: 2, err: `millrace: ${detail}\n` });
  });

  test.each([
    [['select 1', '--format', 'xml'], "'xml' is not a valid format."],
    [['select 1', '--workers', '2'], '--workers applies to queries that run locally'],
    [['select 1', '--catalog', 'x.yaml'], '--catalog applies to queries that run locally'],
    [['select 1', '--explain', '--analyze'], '--explain does not run the query'],
    [['select 1', '--output', 'no/such/folder/x.csv'], 'Folder no/such/folder does not exist'],
    [
      ['select 1', '--output', 'rows.xls'],
      'The format cannot be derived from the file name rows.xls.',
    ],
    [[], 'No SQL statement was given.'],
  ])('refuses %j', async (args, words) => {
    const { code, err } = await runAgainst(server, ['sql', ...args]);
    expect({ code, calls: server.received.length }).toEqual({ code: 2, calls: 0 });
    expect(err).toContain(words);
  });

  test('without a query runs the statements of a pipe', async () => {
    let out = '';
    const code = await run(['sql', '--server', server.url, '--format', 'csv'], {
      ...{ out: (text: string) => void (out += text), err: () => {} },
      signal: new AbortController().signal,
      input: () => Readable.from(['select item;\nselect item']),
    });
    expect(code).toBe(0);
    const sent = server.received.filter(({ method }) => method === 'POST');
    expect(sent.map(({ body }) => JSON.parse(body) as unknown)).toEqual([
      { sql: 'select item' },
      { sql: 'select item' },
    ]);
    expect(out).not.toBe('');
  });

  test('says what to do when a server may not open a file that is named', async () => {
    const detail = 'The query may not open a.csv directly.';
    server.script('POST /api/v1/queries', problem(400, { code: 'path_refused', detail }));
    const { code, err } = await runAgainst(server, ['sql', "from 'a.csv'"]);
    expect(code).toBe(2);
    expect(err).toContain("--table 'NAME=/path/on/the/server/*.parquet' and FROM NAME");
    expect(err).toContain('omit --server');
  });

  test('interrupted, cancels the query and ends with 130', async () => {
    const control = new AbortController();
    server.script('GET /api/v1/queries/q-1', { json: running });
    server.script('POST /api/v1/queries/q-1/cancel', (response) => {
      server.script('GET /api/v1/queries/q-1', { json: { ...over, state: 'cancelled' } });
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(running));
    });
    const ended = runAgainst(server, ['sql', 'select 1'], control.signal);
    await server.arrival(2);
    control.abort();
    const { code, err } = await ended;
    expect(code).toBe(130);
    expect(err).toContain('cancelling the query');
    expect(server.received.some(({ path }) => path.endsWith('/cancel'))).toBe(true);
  });

  test('in a terminal draws its stages, and takes them away before the rows', async () => {
    let drawn = '';
    const terminal: Terminal = {
      ...{ columns: 100, rows: 24, hasColour: false, isUnicode: true },
      write: (text) => void (drawn += text),
      onResize: () => () => {},
    };
    server.script('GET /api/v1/queries/q-1', { json: running }, { json: running }, { json: over });
    let out = '';
    const code = await run(['sql', 'select 1', '--server', server.url], {
      out: (text) => (out += text),
      err: (text) => (drawn += text),
      signal: new AbortController().signal,
      terminal,
      page: terminal,
    });
    expect(code).toBe(0);
    expect(drawn).toContain('0 scan sales  ████░░░░░░░░░░░░  1/4  2 rows');
    // The last thing drawn is nothing: everything below the cursor is cleared.
    expect(drawn.slice(drawn.lastIndexOf('\u001B[?2026h'))).not.toContain('scan sales');
    expect(out).toContain('│ tea');
  });
});

describe('millrace queries', () => {
  test('lists them', async () => {
    const { id, state, error, submittedAt, startedAt, finishedAt } = over;
    const times = { submittedAt, startedAt, finishedAt };
    const listed = { id, name: 'sql: select item', state, error, ...times };
    const asOf = { seq: 9, at: '2026-11-15T06:05:00.000Z' };
    server.script(
      'GET /api/v1/queries',
      { json: { queries: [], cursor: 'first', asOf } },
      { json: { queries: [listed], cursor: 'next', asOf } },
    );
    const args = ['queries', '--state', 'succeeded', '--limit', '1'];
    const { out } = await runAgainst(server, args);
    expect(out).toMatch(/^q-1 +succeeded +5m ago +2s +select item$/m);
    expect(out).toContain('There are more: --cursor next');
    expect(server.received.at(-1)?.query).toEqual({
      ...{ state: 'succeeded', limit: '1', cursor: 'first' },
    });
    server.script('GET /api/v1/queries', { json: { queries: [], cursor: null, asOf } });
    expect((await runAgainst(server, ['queries'])).out).toBe('No queries found.\n');
    expect((await runAgainst(server, ['queries', '--state', 'x'])).code).toBe(2);
  });

  test('shows one with its stages', async () => {
    const { out } = await runAgainst(server, ['queries', 'q-1']);
    expect(out).toContain('select item');
    expect(out).toMatch(/^ +0 +scan sales +running +1\/4 +2 +9 B +3ms$/m);
  });
});
