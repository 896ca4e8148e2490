/** `sql` in a program: a runtime with real engines, and the same over a connection. */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import {
  QueryError,
  builtIns,
  connect,
  createRuntime,
  defineFlow,
  defineFunction,
  defineOperator,
} from '../../src/client/millrace.ts';
import type { Runtime } from '../../src/client/millrace.ts';

// Real processes on a machine that may be busy with others.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

const SILENT = { debug() {}, info() {}, warn() {}, error() {} };
/** So that even a few rows are distributed. */
const DISTRIBUTED = { singleFragmentBytes: 0, broadcastThresholdBytes: 0, shufflePartitions: 3 };

let folder: string;
let runtime: Runtime;

/** Neither has a module of its own: both use what is in this program. */
let batches = 0;
const letters = defineOperator({
  name: 'letters',
  output: { i: 'BIGINT', letter: 'VARCHAR' },
  async *run(given) {
    for await (const { rowCount, columns } of given) {
      batches += 1;
      const [i, letter]: [unknown[], string[]] = [[], []];
      for (let row = 0; row < rowCount; row += 1) {
        for (const one of String(columns['item']?.[row])) {
          i.push(columns['i']?.[row]);
          letter.push(one);
        }
      }
      yield { columns: { i, letter } };
    }
  },
});
const doubled = defineFunction({
  name: 'doubled',
  input: { n: 'BIGINT' },
  output: 'BIGINT',
  run: ({ columns }) => Array.from(columns['n'] as ArrayLike<bigint>, (n) => n * 2n),
});

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-sdk-sql-'));
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  await connection.run(
    `copy (select i, ['cup', 'pot', 'tea'][1 + i % 3] as item from range(9000) as t(i))
     to '${join(folder, 'sales.parquet')}' (format parquet)`,
  );
  connection.closeSync();
  instance.closeSync();
  runtime = await createRuntime({
    data: join(folder, 'data'),
    slots: 3,
    memoryBytes: 600_000_000,
    tables: { sales: join(folder, '*.parquet') },
    operators: [letters],
    functions: [doubled],
    log: SILENT,
  });
});
afterAll(async () => {
  await runtime.close();
  // What queries have left behind goes with the runtime.
  expect(readdirSync(join(folder, 'data')).filter((name) => name !== 'millrace.duckdb')).toEqual(
    [],
  );
  rmSync(folder, { recursive: true, force: true });
});

test('operators and functions of this very program run in its queries', async () => {
  const query = runtime.sql<{ letter: string; n: bigint; twice: bigint }>(
    `select letter, count(*) as n, doubled(count(*)) as twice
       from letters((select i, item from sales)) group by letter order by letter`,
    { settings: DISTRIBUTED },
  );
  const rows: string[] = [];
  for await (const { letter, n, twice } of query) rows.push(`${letter} ${n} ${twice}`);
  const counts = { a: 3000, c: 3000, e: 3000, o: 3000, p: 6000, t: 6000, u: 3000 };
  expect(rows).toEqual(Object.entries(counts).map(([letter, n]) => `${letter} ${n} ${n * 2}`));
  expect(batches).toBeGreaterThan(0);
});

test('rows come with their types, distributed over the slots', async () => {
  const query = runtime.sql<{ item: string; sold: bigint }>(
    'select item, count(*) as sold from sales where i >= $least group by item order by item',
    { params: { least: 3 }, settings: DISTRIBUTED },
  );
  const rows: string[] = [];
  for await (const { item, sold } of query) rows.push(`${item} ${sold + 1n}`);
  expect(rows).toEqual(['cup 3000', 'pot 3000', 'tea 3000']);
  const { single, stages, state } = await query.status();
  expect({ single, state, isDivided: stages.length > 1 }).toEqual({
    single: null,
    state: 'succeeded',
    isDivided: true,
  });
  expect(await query.columns()).toEqual([
    { name: 'item', type: 'VARCHAR' },
    { name: 'sold', type: 'BIGINT' },
  ]);
  expect(await query.explain()).toContain('stage 0');
});

test('values of a template are parameters, whatever is in them', async () => {
  const item = "tea' or 'a' = 'a";
  const rows = await runtime.sql`
    select count(*)::integer as n, ${item} as item, ${[1, 2n ** 40n]} as list, ${null} as nothing
    from sales where item = ${item} and i < ${new Date(0)}::timestamp::date - date '1969-12-31'`.rows();
  expect(rows).toEqual([{ n: 0, item, list: ['1', '1099511627776'], nothing: null }]);
});

test('another process gets the same rows, and in other formats', async () => {
  const client = connect(runtime.url, { token: runtime.token ?? '' });
  const first = runtime.sql('select i from sales where i < 2 order by i');
  await first.finished();
  const query = client.sql.handle<{ i: bigint }>(first.id);
  expect(await query.rows()).toEqual([{ i: 0n }, { i: 1n }]);
  const pieces: Uint8Array[] = [];
  for await (const piece of query.stream('csv')) pieces.push(piece);
  expect(Buffer.concat(pieces).toString()).toBe('i\n0\n1\n');
  await client.close();
});

test('a failure of a query rejects its calls', async () => {
  const bad = runtime.sql('select itme from sales');
  await expect(bad.rows()).rejects.toMatchObject({ code: 'bad_query' });
  const failing = runtime.sql("select (item || 'x')::integer from sales");
  const thrown = await failing.rows().catch((error: unknown) => error);
  expect(thrown).toBeInstanceOf(QueryError);
  expect(thrown).toMatchObject({ code: 'query_failed', queryId: failing.id });
});

test('an abort cancels the query on the server', async () => {
  const control = new AbortController();
  const sql =
    'select count(*) from range(1000000) a, range(1000000) b where a.range % 7 = b.range % 11';
  const query = runtime.sql(sql, { signal: control.signal });
  const reading = query.rows();
  await query.status();
  for await (const { kind } of runtime.watch(query.id)) if (kind === 'started') break;
  control.abort(new Error('enough'));
  await expect(reading).rejects.toThrow('enough');
  await expect(runtime.sql.handle(query.id).finished()).rejects.toMatchObject({
    code: 'cancelled',
  });
});

test('a flow has SQL as one of its tasks, with rows that fit and rows that do not', async () => {
  const flow = (sql: string) =>
    defineFlow({
      name: 'count',
      build: ({ task }) =>
        task('count', builtIns.sql, {
          sql,
          tables: { sales: join(folder, '*.parquet') },
          settings: DISTRIBUTED,
        }).rows,
    });
  const count = await runtime.submit(
    flow('select item, count(*) from sales group by 1 order by 1'),
  );
  expect(await count.result()).toEqual([
    ['cup', '3000'],
    ['pot', '3000'],
    ['tea', '3000'],
  ]);
  const middling = await runtime.submit(flow('select i, item, hash(i) as h from sales order by i'));
  const rows = await middling.result();
  expect({ count: rows.length, last: rows.at(-1)?.slice(0, 2) }).toEqual({
    count: 9_000,
    last: ['8999', 'tea'],
  });
  const huge = await runtime.submit(
    flow("select i, repeat('x', 1000) || hash(i) as text from sales"),
  );
  await expect(huge.result()).rejects.toMatchObject({ code: 'too_large' });
});
