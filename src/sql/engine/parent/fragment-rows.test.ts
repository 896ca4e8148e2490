/** Rows that come with the run that made them, and what one run leaves to the next. */
import { readFileSync } from 'node:fs';
import { crc32 } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  filesOf,
  fragment,
  FragmentFixture,
  never,
  SCAN,
} from '../../../../test/rig/fragment-fixture.ts';
import type { Fragment, PinnedTable } from '../../plan/index.ts';
import type { FragmentRequest, FragmentOutput } from '../engine.ts';

let fixture: FragmentFixture;

beforeAll(async () => {
  fixture = await FragmentFixture.open();
});

afterAll(() => fixture.close());

const rowsMax = { values: 1_000, bytes: 20_000 };

async function result(
  of: Fragment,
  more: Partial<FragmentRequest> = {},
): Promise<{ readonly made: FragmentOutput; readonly read: unknown }> {
  const asked = fixture.order(of, { kind: 'result' }, { rowsMax, ...more });
  const made = await fixture.engine.run(asked, never);
  const { rows } = made;
  const files = filesOf(asked, made);
  const parts = files.length > 0 || rows === null ? files : [{ json: JSON.stringify(rows) }];
  const request = { parts, columns: of.columns, format: 'json' } as const;
  let text = '';
  for await (const piece of fixture.engine.rows(request, never))
    text += Buffer.from(piece).toString();
  return { made, read: (JSON.parse(text) as { readonly rows: unknown }).rows };
}

const BERLIN = { timeZone: 'Europe/Berlin', now: '2026-01-02 03:04:05+00' };

describe('a result', () => {
  test('of few rows returns them as a reader of the file would see them', async () => {
    const of = fragment(
      `SELECT i::INTEGER, i, i::HUGEINT, 'a"\\' || i, CASE WHEN i = 1 THEN NULL ELSE i / 4 END,
        '2026-07-01 12:00:00+00'::TIMESTAMPTZ, [i, NULL], {'x': i, 'y': 'ü'}, 'ab'::BLOB, '2024-02-29'::DATE
       FROM range(3) t(i)`,
      [
        ...['INTEGER', 'BIGINT', 'HUGEINT', 'VARCHAR', 'DOUBLE', 'TIMESTAMP WITH TIME ZONE'],
        ...['BIGINT[]', 'STRUCT(x BIGINT, y VARCHAR)', 'BLOB', 'DATE'],
      ],
    );
    const { made, read } = await result(of, { session: BERLIN });
    expect(made.rows).toEqual(read);
    expect(made.rows?.[1]?.slice(0, 6)).toEqual([
      ...[1, '1', '1', 'a"\\1', null, '2026-07-01 12:00:00+00'],
    ]);
  });

  test('of pinned files has the rows and the keys of its own output, not those of the one before', async () => {
    const ranges = { r1: [fixture.range('t.parquet')] };
    const below = (limit: number): Fragment =>
      fragment(`SELECT c0 FROM r1 WHERE c0 < ${limit} ORDER BY c0`, ['BIGINT'], { scans: [SCAN] });
    for (const limit of [3, 1, 5]) {
      const { made, read } = await result(below(limit), { ranges });
      expect(made.rows).toEqual(Array.from({ length: limit }, (_, n) => [String(n)]));
      expect(read).toEqual(made.rows);
      const keys = { columns: [0], tasks: 1 };
      for (const output of [
        { kind: 'whole' },
        { kind: 'hash', by: ['c0'], partitions: 2 },
      ] as const) {
        const order = fixture.order(below(limit), output, { ranges, keys });
        const { keys: [found] = [] } = await fixture.engine.run(order, never);
        expect(found?.max).toBe(String(limit - 1));
      }
    }
  });

  test('has the character that may mark an encoding, in its rows and in the keys of others', async () => {
    const of = fragment(`SELECT '\uFEFFkey'`, ['VARCHAR']);
    const { made, read } = await result(of);
    expect(made.rows).toEqual([['\uFEFFkey']]);
    expect(read).toEqual(made.rows);
    const keys = { columns: [0], tasks: 1 };
    const order = fixture.order(of, { kind: 'whole' }, { keys });
    const { keys: [found] = [] } = await fixture.engine.run(order, never);
    expect(found).toMatchObject({ min: '\uFEFFkey', max: '\uFEFFkey', values: ['\uFEFFkey'] });
  });

  test('of a PIVOT over pinned files has its own number of rows', async () => {
    const file = fixture.file('x=1/u.parquet');
    const pin = { path: file, bytes: 0, mtimeNs: '0', footer: '', rows: null, groups: [] };
    for (const rows of [4, 2]) {
      const select = `SELECT n % ${rows} AS g, n % 2 AS k FROM '${file}'`;
      const named = { name: 'p', format: 'parquet', columns: [], options: '', root: null } as const;
      const sql = 'FROM (PIVOT p ON k USING count(*) GROUP BY g) ORDER BY g';
      const tables: PinnedTable[] = [{ ...named, files: [pin], select }];
      const of = fragment(sql, ['INTEGER', 'BIGINT', 'BIGINT'], { tables });
      const { made } = await result(of);
      expect(made).toMatchObject({ rowsOut: rows });
      expect(made.rows).toHaveLength(rows);
    }
  });

  test('without rows answers an empty list', async () => {
    const { made } = await result(fragment('SELECT 1 WHERE false', ['INTEGER']));
    expect(made).toMatchObject({ rows: [], rowsOut: 0 });
  });

  test.each([
    ['rows', 'SELECT 1 FROM range(1001)', 'INTEGER'],
    ['bytes of Parquet', "SELECT repeat('x', 300) || hash(i) FROM range(100) t(i)", 'VARCHAR'],
    ['characters, written once', "SELECT repeat('x', 300) FROM range(100) t(i)", 'VARCHAR'],
    ['elements, written once', 'SELECT [7 FOR x IN range(300)] FROM range(100)', 'INTEGER[]'],
  ])('of too many %s returns no rows, and the next run works', async (_, sql, type) => {
    const { made, read } = await result(fragment(sql, [type]));
    expect(made.rows).toBeNull();
    expect(read).toHaveLength(made.rowsOut);
    expect((await result(fragment('SELECT 5', ['INTEGER']))).made.rows).toEqual([[5]]);
  });

  test('returns no rows if not requested, or for another kind of output', async () => {
    const of = fragment('SELECT 1', ['INTEGER']);
    const asked = fixture.order(of, { kind: 'result' });
    expect((await fixture.engine.run(asked, never)).rows).toBeNull();
    const whole = fixture.order(of, { kind: 'whole' }, { rowsMax });
    expect((await fixture.engine.run(whole, never)).rows).toBeNull();
  });
});

describe('one run after another', () => {
  const ranges = (): Partial<FragmentRequest> => ({
    ranges: { r1: [fixture.range('x=1/u.parquet', 0, 1)] },
  });
  /** Written for a plan: its connection is used again. */
  const noon = fragment(
    `SELECT CAST('2026-07-01 12:00:00+00'::TIMESTAMPTZ AS VARCHAR) FROM r1`,
    ['VARCHAR'],
    { scans: [SCAN] },
  );

  test('has its own time zone', async () => {
    for (const [timeZone, hour] of [
      ['UTC', '12:00:00+00'],
      ['Europe/Berlin', '14:00:00+02'],
      ['Europe/Berlin', '14:00:00+02'],
      ['Asia/Tokyo', '21:00:00+09'],
      ['UTC', '12:00:00+00'],
    ] as const) {
      const { made } = await result(noon, { ...ranges(), session: { ...BERLIN, timeZone } });
      expect(made.rows).toEqual([[`2026-07-01 ${hour}`]]);
    }
  });

  test('sees no view, no time, no type and no seed of the one before', async () => {
    const table: PinnedTable = {
      ...{ name: 'left_here', format: 'parquet', files: [], columns: [], options: '' },
      ...{ select: 'SELECT 1 AS a -- and no more', root: null },
    };
    const whole = fragment('SELECT a FROM left_here', ['INTEGER'], { tables: [table] });
    const clock = fragment('SELECT year(now())', ['BIGINT']);
    const pivot = fragment(
      'SELECT * FROM (PIVOT (SELECT i % 2 AS a, i FROM range(4) t(i)) ON a USING sum(i))',
      ['HUGEINT', 'HUGEINT'],
    );
    const seed = fragment('SELECT setseed(0.5)', ['INTEGER']);
    const random = fragment('SELECT random() FROM r1', ['DOUBLE'], { scans: [SCAN] });
    const types = fragment(
      `SELECT count(*) FROM duckdb_types(), r1 WHERE type_name LIKE '%pivot%'`,
      ['BIGINT'],
      { scans: [SCAN] },
    );
    const seen = new Set<unknown>();
    for (let round = 0; round < 3; round += 1) {
      expect((await result(whole)).made.rows).toEqual([[1]]);
      expect(
        (await result(clock, { session: { ...BERLIN, now: '1999-01-02 00:00:00+00' } })).made.rows,
      ).toEqual([['1999']]);
      expect((await result(pivot)).made.rows).toEqual([['2', '4']]);
      expect((await result(types, ranges())).made.rows).toEqual([['0']]);
      await result(seed);
      seen.add((await result(random, ranges())).made.rows?.[0]?.[0]);
    }
    expect(seen.size).toBe(3);
  });
});

test('returns the checksums of small files', async () => {
  const of = fragment('SELECT i, hash(i) FROM range(20000) t(i)', ['BIGINT', 'UBIGINT']);
  for (const [partitions, isSmall] of [
    [16, true],
    [1, false],
  ] as const) {
    const asked = fixture.order(of, { kind: 'hash', by: ['c0'], partitions });
    const made = await fixture.engine.run(asked, never);
    const sums = made.parts.flatMap(({ files }) =>
      files.map((name) => {
        const content = readFileSync(`${asked.folder}/${name}`);
        return [name, { bytes: content.length, crc32: crc32(content) }];
      }),
    );
    expect(sums).toHaveLength(partitions);
    expect(made.sums).toEqual(isSmall ? Object.fromEntries(sums) : {});
  }
});
