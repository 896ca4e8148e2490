import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isMillraceError } from '../../../scheduler/core/index.ts';
import type { PinnedTable } from '../../plan/index.ts';
import type { LogicalAnswer, PlanningEngine, PlanRequest, TableSource } from '../engine.ts';
import { startPlanningEngine } from './planning-engine.ts';

const never = new AbortController().signal;
let folder = '';
let engine: PlanningEngine;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-planning-'));
  engine = startPlanningEngine({
    memoryBytes: 256 * 2 ** 20,
    threads: 1,
    spillFolder: join(folder, 'spill'),
    spillBytesMax: 2 ** 30,
  });
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  mkdirSync(file('h/y=2024'), { recursive: true });
  mkdirSync(file('h/y=x'), { recursive: true });
  mkdirSync(file('k=1/y=2024'), { recursive: true });
  mkdirSync(file('k=2/y=x'), { recursive: true });
  await connection.run(`
    COPY (SELECT i AS a, 'x' || i AS b, [i] AS c FROM range(100) t(i)) TO '${file('t.parquet')}' (ROW_GROUP_SIZE 2048);
    COPY (SELECT i AS a, i::VARCHAR AS b, [i] AS c FROM range(5000) t(i)) TO '${file('u.parquet')}' (ROW_GROUP_SIZE 2048);
    COPY (SELECT 1 AS a) TO '${file('less.parquet')}';
    COPY (SELECT 1 AS a) TO '${file('h/y=2024/1.parquet')}';
    COPY (SELECT 2 AS a) TO '${file('h/y=x/1.parquet')}';
    COPY (SELECT 2 AS a) TO '${file('k=1/y=2024/1.parquet')}';
    COPY (SELECT 2 AS a) TO '${file('k=2/y=x/1.parquet')}';
    COPY (SELECT 1 AS file_row_number) TO '${file('numbered.parquet')}';
    COPY (SELECT 1 AS odd FROM range(3)) TO '${file('odd[1]*?.parquet')}';
    COPY (SELECT 1 AS b) TO '${file('odd1xx.parquet')}';
    COPY (SELECT 1 AS a WHERE false) TO '${file('none.parquet')}';`);
  connection.closeSync();
  instance.closeSync();
});

afterAll(async () => {
  await engine.close();
  rmSync(folder, { recursive: true, force: true });
});

const file = (name: string): string => join(folder, name);

function source(files: readonly string[], more: Partial<TableSource> = {}): TableSource {
  return { format: 'parquet', files: files.map(file), options: '', types: {}, ...more };
}

async function tableOf(name: string, from: TableSource): Promise<PinnedTable> {
  const { columns, files, options, select } = await engine.describe(from, never);
  const pins = from.files.map((path, at) => ({
    path,
    bytes: 0,
    mtimeNs: '0',
    footer: '',
    rows: files[at]?.rows ?? null,
    groups: files[at]?.groups ?? [],
  }));
  return { name, format: from.format, files: pins, columns, options, select, root: null };
}

async function plan(sql: string, more: Partial<PlanRequest> = {}): Promise<LogicalAnswer> {
  const tables = more.tables ?? [await tableOf('t', source(['t.parquet']))];
  return engine.plan({ sql, params: [], timeZone: 'UTC', ...more, tables }, never);
}

/** A table of one column of one file, which is written for it. */
async function rewritten(select: string, footer: string): Promise<PinnedTable> {
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  await connection.run(`COPY (${select}) TO '${file('changing.parquet')}'`);
  connection.closeSync();
  instance.closeSync();
  // As if it had been replaced within the resolution of the file system's clock.
  utimesSync(file('changing.parquet'), 1_700_000_000, 1_700_000_000);
  const table = await tableOf('t', source(['changing.parquet']));
  return { ...table, files: table.files.map((pin) => ({ ...pin, footer })) };
}

describe('a plan', () => {
  test('is made for the file that was pinned, not for an earlier one of the same name and time', async () => {
    const sql = 'SELECT a FROM t WHERE a > 50';
    const empty = /EMPTY_RESULT/;
    const before = await rewritten('SELECT i AS a FROM range(10) t(i)', 'one');
    expect((await plan(sql, { tables: [before] })).plan).toMatch(empty);
    const after = await rewritten('SELECT i + 90 AS a FROM range(10) t(i)', 'two');
    expect((await plan(sql, { tables: [after] })).plan).not.toMatch(empty);
    const wider = await rewritten('SELECT 1 AS z, i AS a FROM range(10) t(i)', 'three');
    expect((await plan('SELECT * FROM t', { tables: [wider] })).columns).toHaveLength(2);
  });

  test('comes with columns, estimates, the time and the version', async () => {
    const answer = await plan('SELECT b, count(*) AS "n n" FROM t WHERE a < $1 GROUP BY b', {
      params: [5],
      timeZone: 'Europe/Paris',
    });
    expect(answer.sql).toBe('SELECT b, count(*) AS "n n" FROM t WHERE a < 5 GROUP BY b');
    expect(answer.columns).toEqual([
      { name: 'b', type: 'VARCHAR' },
      { name: 'n n', type: 'BIGINT' },
    ]);
    expect(JSON.parse(answer.plan ?? '')).toMatchObject({ error: false });
    expect(answer.estimates).toContain('Estimated Cardinality');
    expect(answer.session.timeZone).toBe('Europe/Paris');
    expect(answer.session.now).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+)?\+00$/);
    expect(answer.duckdb).toBe('v1.5.6');
  });

  test('is made for everything that is one query, with the names as they were written', async () => {
    const names = async (sql: string): Promise<string[]> =>
      (await plan(sql)).columns.map(({ name }) => name);
    expect(await names('SELECT a AS x, b AS x, 1 AS "X" FROM t -- end')).toEqual(['x', 'x', 'X']);
    expect(await names('FROM t')).toEqual(['a', 'b', 'c']);
    expect(await names('VALUES (1, 2)')).toEqual(['col0', 'col1']);
    expect(await names('WITH x AS (SELECT 1 AS one) FROM x;')).toEqual(['one']);
    expect(await names('SELECT 1 AS a_1')).toEqual(['a_1']);
  });

  test('that cannot be serialised says why', async () => {
    const pivot = await plan('PIVOT t ON a % 2 USING count(*) GROUP BY b');
    expect(pivot).toMatchObject({ plan: null, whyNot: 'its columns depend on the data' });
    expect(pivot.columns.map(({ name }) => name)).toEqual(['b', '0', '1']);
    const value = await plan(`SELECT * FROM t WHERE a > 'infinity'::DOUBLE + random()`);
    expect(value.plan === null).toBe(value.whyNot !== null);
    const bits = await plan(`SELECT '101'::BIT`);
    expect(bits).toMatchObject({
      plan: null,
      whyNot: 'it has a constant that DuckDB cannot write into a plan',
    });
  });

  test('is refused with the position and a pointer to the error', async () => {
    await expect(plan('SELECT a,\n  nope FROM t')).rejects.toMatchObject({
      code: 'bad_query',
      what: expect.stringContaining('2:3: Referenced column "nope" not found') as string,
      why: '\n  nope FROM t\n  ^',
    });
    await expect(plan('SELEC 1')).rejects.toMatchObject({
      code: 'bad_query',
      what: '1:1: syntax error at or near "SELEC"',
    });
    await expect(plan(`SELECT 'äö', nope FROM t`)).rejects.toThrow('1:14: ');
    await expect(plan(`SELECT 'äö', 1 1 FROM t`)).rejects.toThrow('1:16: ');
    await expect(plan('SELECT * FROM missing')).rejects.toMatchObject({ code: 'table_missing' });
    await expect(plan('SELECT 1', { timeZone: 'Nowhere' })).rejects.toMatchObject({
      code: 'bad_query',
      what: expect.stringContaining('Nowhere') as string,
    });
    for (const sql of [
      'CREATE TABLE x(a INT)',
      'DELETE FROM t',
      'CALL pragma_version()',
      'SELECT 1) q, (SELECT 2',
    ])
      await expect(plan(sql)).rejects.toMatchObject({ code: 'bad_query' });
  });

  test('opens no file that is not one of its tables', async () => {
    for (const sql of [
      `FROM read_text('${file('u.parquet')}')`,
      `FROM '${file('u.parquet')}'`,
      `FROM glob('${folder}/*')`,
      `FROM read_text('${file('h/../u.parquet')}')`,
      `FROM t, read_text('${file('t.parquet')}')`,
      `FROM '${file('t.parquet')}'`,
      `SELECT (WITH "${file('u.parquet')}" AS (SELECT 1) SELECT 1), * FROM '${file('u.parquet')}'`,
    ])
      await expect(plan(sql)).rejects.toMatchObject({ code: 'path_refused' });
  });

  test('calls no function that reaches beyond its tables, whatever the syntax', async () => {
    for (const sql of [
      `FROM query('FROM ''${file('u.parquet')}''')`,
      `FROM enable_logging/**/('QueryLog')`,
      `SELECT '1'::BIT, * FROM system.main."enable_profiling" -- x\n(save_location := 'x.json')`,
      `SELECT current_setting('temp_directory')`,
      `SELECT ('SELECT 1').json_serialize_plan()`,
      `PIVOT (FROM t, enable_logging()) ON a USING count(*)`,
      `FROM t WHERE a IN (FROM duckdb_settings() SELECT length(value))`,
      `WITH x AS (FROM duckdb_secrets()) SELECT 1`,
      `FROM sniff_csv('${file('1.csv')}')`,
      `FROM query('FROM sni' || 'ff_csv(''${file('1.csv')}'')')`,
      `FROM enable_logging(storage := 'file')`,
      `FROM "force_checkpoint" ()`,
      `SELECT '1'::BIT, * FROM query('SELECT 1')`,
    ])
      await expect(plan(sql)).rejects.toThrow('cannot be used in a query');
  });

  test('uses the tables of each request, with more requests than instances', async () => {
    for (let n = 0; n < 20; n += 1) {
      const table = await tableOf(`t${n}`, source(['t.parquet']));
      const answer = await plan(`SELECT count(*) FROM t${n}`, { tables: [table] });
      expect(answer.whyNot).toBeNull();
    }
    await expect(plan('FROM t0')).rejects.toMatchObject({ code: 'table_missing' });
  });
});

describe('a table', () => {
  test('of Parquet files has their rows, row groups and bytes', async () => {
    const table = await engine.describe(
      source(['t.parquet', 'u.parquet', 'none.parquet'], {
        options: 'union_by_name = true',
      }),
      never,
    );
    expect(table.files).toEqual([
      { rows: 100, groups: [100] },
      { rows: 5000, groups: [2048, 2048, 904] },
      { rows: 0, groups: [] },
    ]);
    expect(table.columns.map(({ name, type }) => `${name} ${type}`)).toEqual([
      'a BIGINT',
      'b VARCHAR',
      'c BIGINT[]',
    ]);
    expect(table.columns.every(({ bytes }) => bytes !== null && bytes > 100)).toBe(true);
  });

  test('of incompatible files is refused', async () => {
    await expect(
      engine.describe(source(['t.parquet', 'less.parquet']), never),
    ).rejects.toMatchObject({
      code: 'schema_mismatch',
      what: expect.stringContaining('has no column "b"') as string,
    });
    writeFileSync(file('bad.parquet'), 'nothing of the kind');
    await expect(engine.describe(source(['bad.parquet']), never)).rejects.toMatchObject({
      code: 'schema_mismatch',
    });
    await expect(engine.describe(source(['gone.parquet']), never)).rejects.toMatchObject({
      code: 'table_missing',
    });
    const unknown = engine.describe(source(['t.parquet'], { types: { nope: 'DATE' } }), never);
    await expect(unknown).rejects.toThrow('no column "nope"');
  });

  test('has the types of the catalog', async () => {
    const given = source(['t.parquet'], { types: { A: 'DECIMAL(10,2)' } });
    const { columns, select } = await engine.describe(given, never);
    expect(columns[0]).toMatchObject({ name: 'a', type: 'DECIMAL(10,2)' });
    expect(select).toContain('CAST("a" AS DECIMAL(10,2)) AS "a"');
  });

  test('in Hive folders keeps the keys of all files for each of them', async () => {
    const all = source(['h/y=2024/1.parquet', 'h/y=x/1.parquet']);
    const { columns, options } = await engine.describe(all, never);
    expect(columns.map(({ name, type }) => `${name} ${type}`)).toEqual(['a INTEGER', 'y VARCHAR']);
    const one = await engine.describe(source(['h/y=2024/1.parquet'], { options }), never);
    expect(one.columns[1]).toMatchObject({ name: 'y', type: 'VARCHAR' });
    const partly = source(['k=1/y=2024/1.parquet', 'k=2/y=x/1.parquet'], {
      options: `hive_partitioning = true, hive_types = {'k': BIGINT}`,
    });
    const pinned = (await engine.describe(partly, never)).options;
    expect(pinned).toBe(`hive_partitioning = true, hive_types = {'k': 'BIGINT', 'y': 'VARCHAR'}`);
    const mixed = await engine.describe(source(['h/y=2024/1.parquet', 'less.parquet']), never);
    expect(mixed.options).toBe('hive_partitioning = false');
  });

  test('whose files have a column of row numbers is never read by row number', async () => {
    const { files } = await engine.describe(source(['numbered.parquet']), never);
    expect(files).toEqual([{ rows: null, groups: [] }]);
  });

  test('of a file with a name like a pattern is that file and no other', async () => {
    const table = await tableOf('odd', source(['odd[1]*?.parquet']));
    expect(table.files[0]?.rows).toBe(3);
    expect((await plan('FROM odd', { tables: [table] })).columns).toEqual([
      { name: 'odd', type: 'INTEGER' },
    ]);
  });

  test('of CSV files is read in the same way from each of them', async () => {
    writeFileSync(file('1.csv'), 'id|name|day|zip\r\n1|"a|b"|2024-01-02|007\r\n');
    writeFileSync(file('2.csv'), 'id|name|day|zip\n1.5|x|2024-01-03|abc\n');
    const both = source(['1.csv', '2.csv'], { format: 'csv', types: { zip: 'VARCHAR' } });
    const { columns, options, files } = await engine.describe(both, never);
    const expected = ['id DOUBLE', 'name VARCHAR', 'day DATE', 'zip VARCHAR'];
    expect(columns.map(({ name, type }) => `${name} ${type}`)).toEqual(expected);
    expect(files).toEqual([
      { rows: null, groups: [] },
      { rows: null, groups: [] },
    ]);
    for (const name of ['1.csv', '2.csv']) {
      const one = await engine.describe(source([name], { format: 'csv', options }), never);
      expect(one.columns.map((column) => `${column.name} ${column.type}`).toSorted()).toEqual(
        expected.toSorted(),
      );
    }
  });

  test('of JSON files is read in the same way from each of them', async () => {
    writeFileSync(file('1.json'), '[{"a": 1, "s": {"d": "2024-01-01"}}]');
    writeFileSync(file('2.json'), '{"a": 1.5}\n{"a": 2}\n');
    const both = source(['1.json', '2.json'], { format: 'json' });
    const { columns, options } = await engine.describe(both, never);
    const expected = ['a DOUBLE', 's STRUCT(d DATE)'];
    expect(columns.map(({ name, type }) => `${name} ${type}`)).toEqual(expected);
    const one = await engine.describe(source(['2.json'], { format: 'json', options }), never);
    expect(one.columns.map(({ name, type }) => `${name} ${type}`)).toEqual(expected);
  });
});

/** DuckDB folds it while it plans, which takes more than a GiB and cannot be interrupted. */
const GREEDY = 'SELECT list_sum(list_transform(range(60000000), x -> x + $1))';

describe('a plan that needs too much', () => {
  let narrow: PlanningEngine;

  beforeAll(async () => {
    narrow = startPlanningEngine({
      memoryBytes: 64 * 2 ** 20,
      threads: 1,
      spillFolder: join(folder, 'narrow'),
      spillBytesMax: 2 ** 30,
    });
    await narrow.warm();
  });

  afterAll(() => narrow.close());

  const planned = (sql: string, params: readonly number[] = []): Promise<unknown> =>
    narrow
      .plan({ sql, params, tables: [], timeZone: 'UTC' }, never)
      .catch((error: unknown) => error);

  test('memory is stopped, while others are planned', async () => {
    const answers = await Promise.all([
      planned('SELECT 1 AS one'),
      planned(GREEDY, [1]),
      planned('SELECT 2 AS two'),
      planned(GREEDY, [2]),
      planned('SELECT 3 AS three'),
    ]);
    for (const at of [0, 2, 4]) expect(answers[at]).toHaveProperty('columns');
    // The system refuses the memory, and DuckDB plans without folding; or the process is ended for it.
    for (const at of [1, 3]) {
      const answer = answers[at];
      if (isMillraceError(answer, 'out_of_memory'))
        expect(answer.what).toContain('more memory than the 64 MiB available for planning');
      else expect(answer).toMatchObject({ plan: expect.stringContaining('60000000') as string });
    }
  });

  test('time ends with its caller, while others are planned', async () => {
    const joins = Array.from(
      { length: 400 },
      (_, at) => `JOIN t t${at + 1} ON t${at}.a = t${at + 1}.a`,
    );
    const slow = `WITH t AS MATERIALIZED (SELECT 1 AS a) SELECT count(*) FROM t t0 ${joins.join(' ')}`;
    const gone = new AbortController();
    const request = { sql: slow, params: [], tables: [], timeZone: 'UTC' };
    const late = narrow.plan(request, gone.signal).catch((error: unknown) => error);
    expect(await planned('SELECT 1 AS one')).toHaveProperty('columns');
    gone.abort(new Error('too late'));
    await late;
    expect(await planned('SELECT 2 AS two')).toHaveProperty('columns');
  });
});
