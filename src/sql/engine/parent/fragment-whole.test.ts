import { readdirSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  fragment,
  FragmentFixture,
  never,
  ROWS,
  SCAN,
} from '../../../../test/rig/fragment-fixture.ts';
import type { PinnedFile, PinnedTable } from '../../plan/index.ts';

let fixture: FragmentFixture;

beforeAll(async () => {
  fixture = await FragmentFixture.open();
});

afterAll(() => fixture.close());

const pinned = (path: string): PinnedFile => ({
  ...{ path, bytes: 0, mtimeNs: '0', footer: '', rows: null, groups: [] },
});

describe('a query in a single fragment', () => {
  const table: PinnedTable = {
    name: 'My Table',
    format: 'parquet',
    files: [],
    columns: [],
    options: '',
    select: '',
    root: null,
  };

  test('runs as it was written, over views with the names of the user', async () => {
    const view = {
      ...table,
      files: [pinned(fixture.file('x=1/u.parquet'))],
      select: `SELECT * FROM read_parquet(['${fixture.file('x=1/u.parquet')}'])`,
    };
    const sql = 'FROM "My Table" SELECT n AS "a b", n AS "a b" WHERE n < 2 ORDER BY n DESC -- done';
    expect(await fixture.result(fragment(sql, ['INTEGER', 'INTEGER'], { tables: [view] }))).toEqual(
      [
        [1, 1],
        [0, 0],
      ],
    );
    await expect(fixture.result(fragment('FROM "My Table"', ['INTEGER']))).rejects.toMatchObject({
      code: 'query_failed',
    });
  });

  test('sees the time and the zone of its submission', async () => {
    const sql = `SELECT now() = '2026-01-02 03:04:05.678+00'::TIMESTAMPTZ, current_timestamp = now(), today()::VARCHAR,
      current_date::VARCHAR, current_localtimestamp()::VARCHAR, current_time::VARCHAR, current_localtime()::VARCHAR,
      localtimestamp::VARCHAR, current_setting('TimeZone')`;
    const types = ['BOOLEAN', 'BOOLEAN', ...Array.from({ length: 7 }, () => 'VARCHAR')];
    const session = { timeZone: 'Asia/Tokyo', now: '2026-01-01 23:04:05.678+00' };
    const found = await fixture.result(
      fragment(sql.replace('2026-01-02 03', '2026-01-01 23'), types),
      {
        session,
      },
    );
    expect(found).toEqual([
      [
        true,
        true,
        '2026-01-02',
        '2026-01-02',
        '2026-01-02 08:04:05.678',
        '08:04:05.678+09',
        '08:04:05.678',
        '2026-01-02 08:04:05.678',
        'Asia/Tokyo',
      ],
    ]);
  });

  test('measures ages and times ago from its submission', async () => {
    // There the day has begun 14 hours earlier: a time without a zone is measured from the day in UTC.
    const session = { timeZone: 'Pacific/Kiritimati', now: '1999-12-31 12:00:00+00' };
    const table = `(SELECT TIMESTAMP '1999-01-01' AS t, TIMESTAMPTZ '1999-01-01' AS z, DATE '1999-01-01' AS d)`;
    const ages = (list: string, from = table): Promise<unknown[][]> =>
      fixture.result(fragment(`SELECT ${list} FROM ${from}`, ['VARCHAR', 'VARCHAR', 'VARCHAR']), {
        session,
      });
    expect(await ages('age(t::TIMESTAMP_NS), Age (z), "age"(d)')).toEqual([
      ['11 months 30 days', '1 year', '11 months 30 days'],
    ]);
    expect(await ages('age(max(t)), max(age(t)), age(max(t), max(t) + INTERVAL 1 DAY)')).toEqual([
      ['11 months 30 days', '11 months 30 days', '-1 day'],
    ]);
    expect(await ages('age(t), count(*), min(age(t))', `${table} GROUP BY age(t)`)).toEqual([
      ['11 months 30 days', '1', '11 months 30 days'],
    ]);
    expect(await ages('"age(t)", x, x', `(SELECT age(t), age(t) AS x FROM ${table})`)).toEqual([
      ['11 months 30 days', '11 months 30 days', '11 months 30 days'],
    ]);
    expect(
      await ages(`ago(INTERVAL 1 DAY), pg_conf_load_time(), (FROM query('SELECT n' || 'ow()'))`),
    ).toEqual([['1999-12-31 02:00:00+14', '2000-01-01 02:00:00+14', '2000-01-01 02:00:00+14']]);
  });

  test('with a PIVOT whose columns depend on the data runs too', async () => {
    const view = {
      ...table,
      name: 't',
      files: [pinned(fixture.file('x=1/u.parquet'))],
      select: `SELECT n % 2 AS k FROM '${fixture.file('x=1/u.parquet')}'`,
    };
    const sql = 'PIVOT t ON k USING count(*)';
    expect(await fixture.result(fragment(sql, ['BIGINT', 'BIGINT'], { tables: [view] }))).toEqual([
      ['5', '5'],
    ]);
  });
});

describe('order and isolation', () => {
  test('rows of a result stay in order', async () => {
    const sorted = fragment('SELECT c0 FROM r1 ORDER BY c0 DESC', ['BIGINT'], { scans: [SCAN] });
    const found = await fixture.result(sorted, { ranges: { r1: [fixture.range('t.parquet')] } });
    expect(found.flat()).toEqual(Array.from({ length: ROWS }, (_, n) => String(ROWS - 1 - n)));
  });

  test('a result without rows has a file, other outputs have none', async () => {
    const nothing = fragment('SELECT c0 FROM r1', ['BIGINT'], { scans: [SCAN] });
    const [kept, dropped] = [
      fixture.order(nothing, { kind: 'result' }),
      fixture.order(nothing, { kind: 'whole' }),
    ];
    expect((await fixture.engine.run(kept, never)).parts).toEqual([
      { rows: 0, files: ['0-0.parquet'] },
    ]);
    expect((await fixture.engine.run(dropped, never)).parts).toEqual([{ rows: 0, files: [] }]);
    expect(readdirSync(dropped.folder)).toEqual([]);
  });

  test('hides the state of a submitted plan from the next call', async () => {
    const ranges = { r1: [fixture.range('t.parquet')] };
    const pivot = 'PIVOT (SELECT c1 AS k FROM r1 WHERE c0 < 2) ON k USING count(*)';
    const columns = ['BIGINT', 'BIGINT'];
    await fixture.result(fragment(pivot, columns, { scans: [SCAN] }), { ranges });
    const types = `SELECT type_name FROM duckdb_types() WHERE type_name LIKE '%pivot%' AND (SELECT count(*) FROM r1) > 0`;
    const left = await fixture.result(fragment(types, ['VARCHAR'], { scans: [SCAN] }), { ranges });
    expect(left).toEqual([]);
  });

  test('hides the state of a call from the next one', async () => {
    const view = {
      name: 'secret',
      format: 'parquet',
      files: [],
      columns: [],
      options: '',
      root: null,
    } as const;
    const sql = 'SELECT now() AS n FROM secret';
    await fixture.result(
      fragment(sql, ['TIMESTAMP WITH TIME ZONE'], { tables: [{ ...view, select: 'SELECT 1' }] }),
      {
        session: { timeZone: 'Asia/Tokyo', now: '1999-01-01 00:00:00+00' },
      },
    );
    await expect(fixture.result(fragment('FROM secret', ['INTEGER']))).rejects.toThrow(
      'secret does not exist',
    );
    const later = await fixture.result(
      fragment(`SELECT count(*) FROM duckdb_views() WHERE view_name = 'secret'`, ['BIGINT']),
    );
    expect(later).toEqual([['0']]);
  });
});
