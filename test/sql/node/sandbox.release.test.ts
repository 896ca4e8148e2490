/** What a query may reach: the files of its tables and nothing else, on a server with a root and on one without. */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { openNode, writeParquet } from './node.ts';
import type { Answer, QueryBench } from './node.ts';

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

const folder = mkdtempSync(join(tmpdir(), 'millrace-sandbox-'));
const at = (name: string): string => join(folder, name);
const SECRET = 'the-secret-of-another';
const tables = { t: at('data/t.parquet'), c: at('data/c.csv') };

beforeAll(async () => {
  mkdirSync(at('data'));
  writeFileSync(at('data/secret.txt'), SECRET);
  writeFileSync(at('data/c.csv'), 'a\n1\n');
  await writeParquet({ [at('data/t.parquet')]: 'SELECT i AS id FROM range(10) t(i)' });
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const escapes: Readonly<Record<string, string>> = {
  'SQL in a text that asks for a setting': `from query(if(current_setting('enable_external_access'),
    'select content from read_text(''${at('data/secret.txt')}'')', 'select ''x'' as content'))`,
  'a path that depends on a setting': `select content from c, read_text(
    if(current_setting('disabled_optimizers') = '', '${at('data/secret.txt')}', '${at('data/c.csv')}'))`,
  'a file that is not a table': `from read_text('${at('data/secret.txt')}')`,
  'a file of a table, read as something else': `from c, read_text('${at('data/c.csv')}')`,
  'a list of files': `from glob('${at('data')}/*')`,
  'profiling into a file': `select '1'::BIT, * from enable_profiling/**/(save_location := '${at('data/victim.json')}', format := 'json')`,
  'logging of queries': `select '1'::BIT, * from enable_logging/**/('QueryLog')`,
  'logging of queries, qualified and quoted': `from system.main."enable_logging" -- x\n('QueryLog')`,
  'a table function in a pivot whose columns depend on the data': `pivot (select id, id % 2 as k from t, enable_logging/**/('QueryLog')) on k using sum(id)`,
};

describe.each([
  ['without a root', {}],
  ['with a root', { MILLRACE_ROOTS: folder }],
])('a server %s', (_, settings) => {
  let bench: QueryBench;
  beforeAll(async () => {
    bench = await openNode(settings);
  });
  afterAll(() => bench.close());

  const refused = async (request: object): Promise<Answer['body']> => {
    const { status, text, body } = await bench.call('POST', '', request);
    if (status === 201) {
      const { id } = body;
      await bench.call('GET', `/${id}?wait=60000`);
      const { text: rows } = await bench.call('GET', `/${id}/results`);
      throw new Error(`It was accepted, and answered ${rows}`);
    }
    expect(text).not.toContain(SECRET);
    return body;
  };

  test.each(Object.entries(escapes))('refuses %s', async (_name, sql) => {
    expect((await refused({ sql, tables })).code).toMatch(/bad_query|path_refused/);
    expect(existsSync(at('data/victim.json'))).toBe(false);
    expect(readFileSync(at('data/c.csv'), 'utf8')).toBe('a\n1\n');
  });

  test.each(Object.entries(escapes))('refuses %s in a plan', async (_name, sql) => {
    const { body } = await bench.call('POST', '/explain', { sql: 'select id from t', tables });
    const [stage] = body.plan.stages;
    const inner = `select 1 as c0 from (${sql})`;
    const stages = [{ ...stage, fragment: { ...stage?.fragment, sql: inner, tables: [] } }];
    const { code } = await refused({ plan: { ...body.plan, stages }, tables: {} });
    expect(code).toBe('bad_input');
  });

  test('refuses a type of a result column that is more than a type', async () => {
    const { body } = await bench.call('POST', '/explain', {
      ...{ sql: 'select id, count(*) from t group by id', tables },
      settings: { shufflePartitions: 2, singleFragmentBytes: 0 },
    });
    const type = `BIGINT) AS c0, (SELECT content FROM read_text('/etc/passwd')) AS c1 --`;
    const columns = [
      { name: 'id', type },
      { name: 'n', type: 'BIGINT' },
    ];
    expect(await refused({ plan: { ...body.plan, columns }, tables })).toMatchObject({
      code: 'bad_input',
      path: '/plan/columns/0/type',
    });
  });

  test('keeps what follows a comment that ends with a carriage return', async () => {
    const sql = 'select count(*) as n from t -- all of it\rwhere id < 3';
    expect(await bench.rows({ sql, tables })).toEqual([['3']]);
  });

  test('refuses a parameter that would become a part of the word before it', async () => {
    for (const sql of [
      'select e?',
      'select x?',
      'select ??',
      'select 1?',
      'select ?1',
      `select ?'a'`,
    ])
      expect((await refused({ sql, params: ['a\\nb', 'c'] })).code).toBe('bad_query');
  });
});
