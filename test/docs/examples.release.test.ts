/** Every example does what its page says: run as a user would, in processes of its own. */
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type pg from 'pg';
import postgres from 'postgres';
import { expect, onTestFinished, test, vi } from 'vitest';
import { deferred } from '../../src/kit/index.ts';
import { within } from '../rig/cluster/deadline.ts';
import { TestProcess } from '../rig/cluster/process.ts';
import { freshDatabase } from '../rig/postgres.ts';
import { until } from '../rig/until.ts';

vi.setConfig({ testTimeout: 120_000 });

const EXAMPLES = fileURLToPath(new URL('../../examples/', import.meta.url));
const BIN = fileURLToPath(new URL('../../bin/millrace.js', import.meta.url));
const TSX = fileURLToPath(import.meta.resolve('tsx/cli'));
const TIMEOUT_MS = 60_000;

const example = (path: string): string => join(EXAMPLES, path);

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'millrace-examples-'));
  onTestFinished(() => rmSync(path, { recursive: true, force: true, maxRetries: 5 }));
  return path;
}

/** To its end, which must have this code; answers what it printed. */
async function ran(
  script: string,
  args: readonly string[],
  cwd: string,
  code: number = 0,
): Promise<string> {
  const ended = deferred<{ code: unknown; out: string; err: string }>();
  const options = { cwd, timeout: TIMEOUT_MS };
  execFile(process.execPath, [script, ...args], options, (error, out, err) => {
    ended.resolve({ code: error === null ? 0 : (error.code ?? error.signal), out, err });
  });
  const said = await ended.promise;
  if (said.code !== code)
    expect.fail(`${args.join(' ')} ended with ${String(said.code)}\n${said.err}`);
  return said.out;
}

/** `millrace run` answers the result of the job. */
async function resultOf(args: readonly string[], cwd: string): Promise<unknown> {
  return JSON.parse(await ran(BIN, ['run', ...args], cwd));
}

function lines(text: string): string[] {
  return text.split('\n').filter((line) => line !== '');
}

test('the list of examples names them all', () => {
  const folders = readdirSync(EXAMPLES, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name);
  const page = readFileSync(example('README.md'), 'utf8');
  const named = [...page.matchAll(/^\| \[([\w-]+)\]\(\1\)/gm)].map(([, name]) => name);
  expect(new Set(named)).toEqual(new Set(folders));
  for (const name of folders) {
    expect(readFileSync(example(`${name}/README.md`), 'utf8')).toContain('## Run it');
  }
});

/** What the services of the shop did to an order, in order. */
function booked(cwd: string, order: string): string[] {
  const books = lines(readFileSync(join(cwd, 'books.jsonl'), 'utf8'));
  const entries = books.map((line) => JSON.parse(line) as { did: string; order: string });
  return entries.filter((entry) => entry.order === order).map(({ did }) => did);
}

test('order-processing: killed and started again, an order is charged and shipped once', async () => {
  const cwd = folder();
  const main = example('order-processing/main.ts');
  const first = TestProcess.start([main, 'A-1'], { script: TSX, folder: cwd });
  await first.line(/^A-1: charged$/, TIMEOUT_MS);
  await first.crash();
  expect(booked(cwd, 'A-1')).not.toContain('collected');
  const second = await ran(TSX, [main, 'A-1'], cwd);
  expect(second).toContain('A-1: known, it goes on');
  expect(second).toContain("parcel: 'parcel from shelf-A-1'");
  const once = ['reserved', 'charged', 'no answer', 'no answer', 'collected'];
  expect(booked(cwd, 'A-1')).toEqual(once);
});

test('order-processing: what cannot be shipped is taken back', async () => {
  const cwd = folder();
  const main = example('order-processing/main.ts');
  const said = lines(await ran(TSX, [main, 'A-2', 'anvil'], cwd, 1));
  // The first task may begin before its submission is answered.
  expect(said.slice(0, 2).toSorted()).toEqual(['A-2: a new order', 'A-2: reserved']);
  expect(said.slice(2)).toEqual([
    'A-2: charged',
    'A-2: refunded',
    'A-2: released',
    'A-2: nobody carries an anvil',
  ]);
});

/** The sales of the example, and those of one more shop. */
function sales(cwd: string): string {
  const path = join(cwd, 'sales');
  mkdirSync(path);
  for (const name of readdirSync(example('nightly-etl/sales'))) {
    writeFileSync(join(path, name), readFileSync(example(`nightly-etl/sales/${name}`)));
  }
  writeFileSync(join(path, 'hill.csv'), 'day,item,amount,cents\n2026-11-14,spoon,100,20000\n');
  return path;
}

test('nightly-etl: one report of all shops, once and on a schedule', async () => {
  const cwd = folder();
  const from = sales(cwd);
  const flow = example('nightly-etl/nightly.ts');
  const node = TestProcess.start(
    ['up', '--data', join(cwd, 'data'), '--port', '0', '--grpc-port', '0', '--module', flow],
    { folder: cwd },
  );
  const once = resultOf([flow, '--input', JSON.stringify({ folder: from, out: 'once' })], cwd);
  const [, url = ''] = await node.line(/^millrace ready (\S+)$/, TIMEOUT_MS);
  const schedule = example('nightly-etl/schedule.ts');
  const said = lines(await ran(TSX, [schedule, 'sales', 'nightly', url], cwd));
  expect(said.slice(0, 3).every((line) => /^runs at \S+T0[01]:30:00.000Z$/.test(line))).toBe(true);
  expect(said.slice(3)).toEqual([
    `12 rows in ${join(cwd, 'nightly', 'report.csv')}`,
    'spoon: 115 for 243.5 EUR',
    'teapot: 8 for 148 EUR',
    'kettle: 6 for 126 EUR',
  ]);
  const best = [
    { item: 'spoon', amount: 115, euros: 243.5 },
    { item: 'teapot', amount: 8, euros: 148 },
    { item: 'kettle', amount: 6, euros: 126 },
  ];
  expect(await once).toEqual({ report: 'once/report.csv', rows: 12, best });
  for (const out of ['once', 'nightly']) {
    expect(lines(readFileSync(join(cwd, out, 'report.csv'), 'utf8'))).toEqual([
      'item,amount,euros',
      ...best.map(({ item, amount, euros }) => `${item},${amount},${euros}`),
      'cup,12,46.8',
    ]);
    // No draft stays behind.
    expect(readdirSync(join(cwd, out))).toEqual(['report.csv']);
  }
  await node.stop();
});

test('back-office: a client without code runs it on workers of two modules', async () => {
  const cwd = folder();
  const file = (name: string): string => example(`back-office/${name}`);
  const modules = ['orders.ts', 'report.ts'].flatMap((name) => ['--module', file(name)]);
  const server = TestProcess.start(
    ['up', '--data', join(cwd, 'data'), '--port', '0', '--grpc-port', '0', ...modules],
    { folder: cwd },
  );
  const [, url = ''] = await server.line(/^millrace ready (\S+)$/, TIMEOUT_MS);
  const { grpc } = (await (await fetch(`${url}/api/v1/leader`)).json()) as { grpc: string };
  const notices = TestProcess.start(
    ['worker', '--server', grpc, '--module', file('notices.ts'), '--data', join(cwd, 'worker')],
    { folder: cwd },
  );
  await notices.line(/^millrace worker ready/, TIMEOUT_MS);
  // The server's own worker publishes the orders when it has loaded its modules.
  await until(async () => {
    const { flows } = (await (await fetch(`${url}/api/v1/flows`)).json()) as {
      readonly flows: readonly { readonly name: string }[];
    };
    const names = new Set(flows.map(({ name }) => name));
    return ['notice', 'order', 'report'].every((name) => names.has(name));
  }, 'not all flows are published');
  const said = [
    'small order: "R-A1"',
    'large order: "R-A2"',
    "refused: /input/cents: The field 'cents' is missing",
    'job of Ada: 4 tasks succeeded',
    'job of Ada: 3 tasks succeeded',
    'next reports: 5',
    'report: "oven: 1 for 450 EUR; cup: 1 for 9 EUR"',
  ];
  expect(lines(await ran(TSX, [file('main.ts'), url], cwd))).toEqual(said);
  // Once more, as after a crash of the client: every order is known, and charged once.
  expect(lines(await ran(TSX, [file('main.ts'), url], cwd))).toEqual(said);
  expect(lines(readFileSync(join(cwd, 'payments.log'), 'utf8'))).toHaveLength(2);
  await notices.stop();
  await server.stop();
});

test('text-fan-out: the words of all files, counted on threads', async () => {
  const cwd = folder();
  mkdirSync(join(cwd, 'texts', 'inner'), { recursive: true });
  const texts = {
    'a.txt': 'The mill turns. The race runs!',
    'b.md': '# Mühle\n\nthe mühle, the MILL',
    'inner/c.txt': '',
    'other.json': '{"the": "the"}',
  };
  for (const [name, text] of Object.entries(texts)) writeFileSync(join(cwd, 'texts', name), text);
  const input = JSON.stringify({ folder: 'texts', top: 3 });
  const flow = example('text-fan-out/count.ts');
  expect(await resultOf([flow, '--input', input], cwd)).toEqual({
    words: 11,
    top: [
      { word: 'the', count: 4 },
      { word: 'mill', count: 2 },
      { word: 'mühle', count: 2 },
    ],
  });
});

test('vector-search: the nearest paragraphs, by an exact search and by an index', async () => {
  const cwd = folder();
  mkdirSync(join(cwd, 'texts'));
  const topics = [
    'rivers carry water to the sea',
    'the baker sells fresh bread',
    'planets circle one bright and distant star',
  ];
  const texts = topics.map((topic, at) =>
    Array.from({ length: 12 }, (_, n) => `In chapter ${at} ${'x'.repeat(n + 3)} ${topic}.`).join(
      '\n\n',
    ),
  );
  for (const [at, text] of texts.entries()) writeFileSync(join(cwd, 'texts', `${at}.md`), text);
  const args = [example('vector-search/search.ts'), 'texts', 'Who sells bread?', 'work'];
  const said = lines(await ran(TSX, args, cwd));
  expect(said[0]).toBe('36 paragraphs. Who sells bread?');
  expect(said.slice(1, 4).every((line) => line.includes(' 1.md: '))).toBe(true);
  expect(said[4]).toMatch(/^index: 2 of 6 clusters find \d+ of 10$/);
});

test('approval: the flow waits for a person, whose word decides', async () => {
  const cwd = folder();
  const claim = { id: 'E-1', who: 'Bob', cents: 12_050, approver: 'Ada', deputy: 'Eve' };
  const flow = example('approval/expense.ts');
  const waiting = TestProcess.start(['run', flow, '--input', JSON.stringify(claim)], {
    folder: cwd,
  });
  const heard = (pattern: RegExp): Promise<RegExpExecArray> =>
    within(TIMEOUT_MS, waiting.output.line(pattern, 'stderr'), () => waiting.output.text());
  const [, id = '', url = ''] = await heard(/^Job (\S+) runs on an embedded node at (http\S+)\.$/);
  await heard(/mail to Ada: Approve 120.5 EUR for Bob\? \(E-1\)/);
  const decision = JSON.stringify({ approved: false, by: 'Ada', note: 'no receipt' });
  await ran(BIN, ['signal', id, 'decision', decision, '--server', url], cwd);
  await heard(/mail to Bob: E-1 was rejected by Ada: no receipt/);
  await waiting.line(/^\}$/, TIMEOUT_MS);
  expect(await waiting.exited).toEqual({ code: 0, signal: null });
  const out = waiting.output.lines.filter(({ from }) => from === 'stdout');
  expect(JSON.parse(out.map(({ text }) => text).join('\n'))).toEqual({
    approved: false,
    by: 'Ada',
    transfer: null,
  });
});

test('http-pipeline: a document orders at the best price, or complains about it', async () => {
  const cwd = folder();
  const server = TestProcess.start([example('http-pipeline/server.ts'), '0'], {
    script: TSX,
    folder: cwd,
  });
  const [, url = ''] = await server.line(/^listening on (\S+)$/, TIMEOUT_MS);
  const page = readFileSync(example('http-pipeline/flow.yaml'), 'utf8');
  const flow = page.replaceAll('http://127.0.0.1:8099', url);
  expect(flow).not.toBe(page);
  writeFileSync(join(cwd, 'flow.yaml'), flow);
  writeFileSync(join(cwd, 'strict.yaml'), flow.replaceAll('4000', '3000'));
  const args = ['--allow-private-http'];
  expect(await resultOf(['flow.yaml', ...args], cwd)).toEqual({
    cents: 3_900,
    order: 'orders-1',
    complaint: null,
  });
  expect(await resultOf(['strict.yaml', ...args], cwd)).toEqual({
    cents: 3_900,
    order: null,
    complaint: 'complaints-2',
  });
});

test('transactional-enqueue: an order and its job exist together or not at all', async () => {
  const cwd = folder();
  const database = await freshDatabase();
  const sql = postgres(database.url, { max: 1, onnotice: () => {} });
  onTestFinished(async () => {
    await sql.end();
    await database.drop();
  });
  const environment = { DATABASE_URL: database.url };
  const module = example('transactional-enqueue/shop.ts');
  const serve = ['serve', '--database', database.url, '--module', module];
  const node = TestProcess.start([...serve, '--port', '0', '--grpc-port', '0'], {
    folder: cwd,
    environment,
  });
  await node.line(/^millrace ready/, TIMEOUT_MS);
  const app = TestProcess.start([example('transactional-enqueue/app.ts'), '0'], {
    script: TSX,
    folder: cwd,
    environment,
  });
  const [, url = ''] = await app.line(/^the shop is open at (\S+)$/, TIMEOUT_MS);
  const ask = async (path: string, body?: object): Promise<unknown> => {
    const post = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) };
    const response = await fetch(`${url}${path}`, post);
    return { status: response.status, ...((await response.json()) as object) };
  };
  const order = { id: 'A-1', item: 'kettle', amount: 2, card: 'good' };
  const job: unknown = expect.any(String);
  expect(await ask('/orders', order)).toEqual({ status: 200, order: 'A-1', job });
  expect(await ask('/orders', { ...order, id: 'A-2', card: 'empty' })).toEqual({
    status: 402,
    error: 'the card was refused',
  });
  expect(await ask('/orders', order)).toMatchObject({ status: 409 });
  expect(await ask('/orders', { id: 'A-3' })).toMatchObject({ status: 400 });
  expect(await ask('/orders/A-2')).toMatchObject({ status: 404 });
  const shipped = { status: 200, id: 'A-1', item: 'kettle', amount: 2, state: 'shipped' };
  const look = async (): Promise<boolean> => {
    const seen = await ask('/orders/A-1');
    return JSON.stringify(seen) === JSON.stringify(shipped);
  };
  await until(look, 'order A-1 is not shipped', TIMEOUT_MS);
  // One job for the one order that was committed; what it did and its end are one transaction. The tables follow the journal.
  const row = async (): Promise<object | undefined> => {
    const rows = await sql<object[]>`
      select (select count(*) from millrace.job)::int as jobs,
             (select count(*) from millrace.inbox)::int as inbox,
             (select result from millrace.completion) as result,
             (select amount from stock where item = 'kettle') as kettles`;
    return rows[0];
  };
  const expected = { jobs: 1, inbox: 0, result: '{"order":"A-1","left":8}', kettles: 8 };
  await vi.waitFor(async () => expect(await row()).toEqual(expected), { timeout: TIMEOUT_MS });
  await node.stop();
});

interface ExampleDatabase {
  readonly pool: pg.Pool;
  readonly transaction: <T>(run: (client: pg.PoolClient) => Promise<T>) => Promise<T>;
}

test('transactional-enqueue: a connection lost inside a transaction fails that one, and the process goes on', async () => {
  const database = await freshDatabase();
  vi.stubEnv('DATABASE_URL', database.url);
  const { pool, transaction } = (await import(
    example('transactional-enqueue/database.ts')
  )) as ExampleDatabase;
  onTestFinished(async () => {
    vi.unstubAllEnvs();
    await pool.end();
    await database.drop();
  });
  // As a restart of PostgreSQL does it: the server closes the connection, and the handler goes on in good faith.
  const cutOff = transaction(async (client) => {
    const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
    const ended = deferred();
    client.once('end', ended.resolve);
    await pool.query('select pg_terminate_backend($1)', [rows[0]?.pid]);
    await ended.promise;
    await client.query('select 1');
  });
  await expect(cutOff).rejects.toThrow(/not queryable|terminat|closed/i);
  const { rows } = await transaction((client) => client.query<{ one: number }>('select 1 as one'));
  expect(rows).toEqual([{ one: 1 }]);
});

test('custom-operators: a tokenizer, a model and a function, each as the page says', async () => {
  const page = readFileSync(example('custom-operators/README.md'), 'utf8');
  const [, printed = ''] = /It prints\n\n```\n([\s\S]*?)```/.exec(page) ?? [];
  const out = await ran(TSX, [example('custom-operators/main.ts')], folder());
  expect(lines(out)).toEqual(lines(printed));
});
