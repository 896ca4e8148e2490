/** Statements about queries and tables, over HTTP and with the SDK. DuckDB is the oracle where it has an answer. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { connect } from '../../../src/client/millrace.ts';
import type { Answer } from '../contract-values.ts';
import { Oracle } from '../oracle.ts';
import { openNode, writeParquet } from './node.ts';
import type { Body, QueryBench } from './node.ts';

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

const folder = mkdtempSync(join(tmpdir(), 'millrace-statements-'));
const at = (name: string): string => join(folder, name);
const tables = { sales: at('sales.parquet') };
/** Even a few rows are distributed. */
const settings = { singleFragmentBytes: 0, shufflePartitions: 2 };
const groups = 'select item, count(*) as n from sales group by item';

let bench: QueryBench;
let oracle: Oracle;
beforeAll(async () => {
  mkdirSync(folder, { recursive: true });
  const rows = `select i, ['cup', 'pot', null][1 + i % 3] as item, i / 4 as price,
    [i, i + 1]::float[] as v, date '2026-01-01' + i::int as day from range(300) t(i)`;
  await writeParquet({ [at('sales.parquet')]: rows });
  const reader = `read_parquet('${at('sales.parquet')}')`;
  oracle = await Oracle.open({ sales: reader, prices: reader });
  writeFileSync(at('tables.yaml'), 'tables: { Prices: sales.parquet, absent: nowhere.parquet }');
  bench = await openNode({ MILLRACE_CATALOG: at('tables.yaml') });
});
afterAll(async () => {
  await bench.close();
  oracle.close();
  rmSync(folder, { recursive: true, force: true });
});

test('EXPLAIN returns the text of the explain API, and runs nothing', async () => {
  const { body } = await bench.call('POST', '/explain', { sql: groups, tables, settings });
  expect(body.text).toContain('2 stages');
  const rows = await bench.rows({ sql: `explain ${groups};`, tables, settings });
  expect(rows).toEqual([['physical_plan', body.text]]);
  const again = await bench.call('POST', '/explain', {
    ...{ sql: `EXPLAIN /* why */ ANALYZE ${groups}`, tables, settings },
  });
  expect(again.body.text).toBe(body.text);
});

test('EXPLAIN ANALYZE runs the query and returns what each stage took, in every format', async () => {
  const sql = `explain analyze ${groups} having n > ?`;
  const query = await bench.run({ sql, params: [10], tables, settings });
  expect(query).toMatchObject({
    state: 'succeeded',
    columns: [{ name: 'explain_key' }, { name: 'explain_value' }],
  });
  const { body: analysis } = await bench.call('GET', `/${query.id}/explain`);
  expect(analysis.text).toContain('300 rows in');
  const { body } = await bench.call('GET', `/${query.id}/results`);
  expect(body.columns).toEqual([
    { name: 'explain_key', type: 'VARCHAR' },
    { name: 'explain_value', type: 'VARCHAR' },
  ]);
  expect(body.rows).toEqual([['analyzed_plan', analysis.text]]);
  const { text: lines } = await bench.call('GET', `/${query.id}/results?format=ndjson`);
  expect(JSON.parse(lines)).toEqual({
    explain_key: 'analyzed_plan',
    explain_value: analysis.text,
  });
  const { text: csv } = await bench.call('GET', `/${query.id}/results?format=csv`);
  expect(csv).toBe(`explain_key,explain_value\nanalyzed_plan,"${analysis.text}"\n`);
  const file = await fetch(`${bench.url}/api/v1/queries/${query.id}/results?format=parquet`);
  writeFileSync(at('analysis.parquet'), Buffer.from(await file.arrayBuffer()));
  const read = await oracle.answer(`from '${at('analysis.parquet')}'`);
  expect(read.rows).toEqual([['analyzed_plan', analysis.text]]);
});

test('EXPLAIN ANALYZE shows how partitions were grouped into tasks, or that each had its own', async () => {
  const forced = { ...settings, broadcastThresholdBytes: 0, shufflePartitions: 5 };
  const run = async (targetPartitionBytes: number): Promise<string> => {
    const more = { settings: { ...forced, targetPartitionBytes } };
    expect(await bench.rows({ sql: `${groups} order by n, item`, tables, ...more })).toHaveLength(
      3,
    );
    const { id } = await bench.run({ sql: `explain analyze ${groups}`, tables, ...more });
    const { body } = await bench.call('GET', `/${id}/explain`);
    return body.text;
  };
  expect(await run(2 ** 26)).toMatch(/5 partitions of .* read by 1 task \(target 64\.0 MiB/);
  expect(await run(2_000)).toMatch(/5 partitions of .* read by [2-4] tasks \(target 2.0 KiB/);
  expect(await run(0)).not.toContain('read by');
});

test('a query that fails under EXPLAIN ANALYZE fails with its own error', async () => {
  const sql = `explain analyze select error(item) from sales`;
  const { state, error } = await bench.run({ sql, tables });
  expect(state).toBe('failed');
  expect(error?.message).toContain('cup');
});

test('SHOW TABLES names the tables of the request and of the catalog, without opening any', async () => {
  const rows = await bench.rows({ sql: 'show tables', tables: { B: at('nothing'), a: at('x') } });
  expect(rows).toEqual([['B'], ['Prices'], ['a'], ['absent']]);
  const { columns } = await bench.run({ sql: 'SHOW TABLES -- all of them\n;' });
  expect(columns).toEqual([{ name: 'name', type: 'VARCHAR' }]);
});

test.each(['describe sales', 'describe select item, v from sales', 'show sales', 'desc prices'])(
  '%s answers as DuckDB does',
  async (sql) => {
    const query = await bench.run({ sql, tables });
    const { body } = await bench.call('GET', `/${query.id}/results`);
    expect(body).toEqual(await oracle.answer(sql));
  },
);

/** Approximate, and so different with each way of distributing the rows. */
const APPROXIMATE = ['approx_unique', 'q25', 'q50', 'q75'];

test.each(['summarize sales', 'summarize select item, i from sales where i > 5'])(
  '%s answers as DuckDB does, distributed or not',
  async (sql) => {
    const wanted = await oracle.answer(sql);
    for (const each of [{}, settings]) {
      const query = await bench.run({ sql, tables, settings: each });
      const { body } = await bench.call('GET', `/${query.id}/results`);
      expect(body.columns).toEqual(wanted.columns);
      expect(exact(body)).toEqual(exact(wanted));
    }
  },
);

test('what cannot be explained is refused with a reason', async () => {
  const refused = async (sql: string) => {
    const { status, body } = await bench.call('POST', '', { sql, tables });
    expect(status).toBe(400);
    expect(body.code).toBe('bad_query');
    return body.detail;
  };
  expect(await refused('explain')).toContain('nothing to explain');
  expect(await refused('explain analyze')).toContain('nothing to explain');
  expect(await refused('explain explain select 1')).toContain('starts with EXPLAIN');
  expect(await refused('explain (format json) select 1')).toContain('no options');
  expect(await refused('explain analyze set threads = 1')).toContain('starts with SET');
  expect(await refused('explain copy sales to x')).toContain('starts with COPY');
  expect(await refused('explain select 1; drop table sales')).toContain('semicolon');
  expect(await refused('from (show tables)')).toContain('SHOW TABLES');
  expect(await refused('show databases')).toContain('SHOW TABLES');
  expect(await refused('explain\nselect itme\nfrom sales')).toContain('2:8');
});

test('the SDK reads them like rows, and a task has EXPLAIN only', async () => {
  const client = connect(bench.url);
  try {
    const sql = client.sql.with({ tables, settings });
    const [plan] = await sql`explain select item from sales where i > ${7}`.rows();
    expect(plan?.['explain_value']).toContain('2 tasks');
    const [done] = await sql('explain analyze from sales limit 3').rows();
    expect(done?.['explain_value']).toContain('3 out');
    expect(await sql`show tables`.rows()).toContainEqual({ name: 'sales' });
    const task = (text: string) => ({
      ...{ name: 'explained', tasks: [{ id: 'a', executor: 'sql', input: { sql: text } }] },
    });
    const job = await client.submit(task('explain select 1'));
    expect(JSON.stringify(await job.result())).toContain('physical_plan');
    const refused = await client.submit(task('explain analyze select 1'));
    await expect(refused.result()).rejects.toThrow('cannot run EXPLAIN ANALYZE');
  } finally {
    await client.close();
  }
});

function exact({ columns, rows }: Answer | Body) {
  return rows.map((row) =>
    row.filter((_, place) => !APPROXIMATE.includes(columns[place]?.name ?? '')),
  );
}
