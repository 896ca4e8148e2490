import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  filesOf,
  fragment,
  FragmentFixture,
  never,
  ROWS,
  SCAN,
} from '../../../../test/rig/fragment-fixture.ts';
import type { FileRange, StageOutput } from '../../plan/index.ts';
import type { FragmentRequest } from '../engine.ts';

let fixture: FragmentFixture;

beforeAll(async () => {
  fixture = await FragmentFixture.open();
});

afterAll(() => fixture.close());

const SUMS = fragment(
  'SELECT count(*), min(c0), max(c0), max(c1) FROM r1',
  ['BIGINT', 'BIGINT', 'BIGINT', 'VARCHAR'],
  { scans: [SCAN] },
);

describe('a scan', () => {
  test('reads the rows of its ranges and no others, over the borders of row groups', async () => {
    const ranges = (...r1: FileRange[]): Partial<FragmentRequest> => ({ ranges: { r1 } });
    const of = async (...r1: FileRange[]): Promise<unknown> =>
      (await fixture.result(SUMS, ranges(...r1)))[0];
    expect(await of(fixture.range('t.parquet', 0, 1))).toEqual(['1', '0', '0', 'r0']);
    expect(await of(fixture.range('t.parquet', 2000, 4100))).toEqual([
      '2100',
      '2000',
      '4099',
      'r4099',
    ]);
    expect(await of(fixture.range('t.parquet', 9999, null))).toEqual([
      '1',
      '9999',
      '9999',
      'r9999',
    ]);
    expect(await of(fixture.range('t.parquet', 5, 5))).toEqual(['0', null, null, null]);
    expect(await of(fixture.range('t.parquet'))).toEqual(['10000', '0', '9999', 'r9999']);
    expect(await of(fixture.range('t.parquet', 0, 2), fixture.range('x=1/u.parquet'))).toEqual([
      '12',
      '0',
      '9',
      'r1',
    ]);
    expect(await of()).toEqual(['0', null, null, null]);
  });

  test('of consecutive ranges is the whole table, each row once', async () => {
    const cuts = [0, 1, 2047, 2048, 2049, 5000, ROWS];
    const seen: unknown[] = [];
    for (const [at, from] of cuts.slice(0, -1).entries()) {
      const r1 = [fixture.range('t.parquet', from, cuts[at + 1] ?? null)];
      const all = fragment('SELECT c0 FROM r1', ['BIGINT'], { scans: [SCAN] });
      seen.push(...(await fixture.result(all, { ranges: { r1 } })).flat());
    }
    expect(seen).toEqual(Array.from({ length: ROWS }, (_, n) => String(n)));
  });

  test('has the types of the table, not those of the file', async () => {
    const types = fragment(
      'SELECT typeof(c0), typeof(c1) FROM r1 LIMIT 1',
      ['VARCHAR', 'VARCHAR'],
      {
        scans: [SCAN],
      },
    );
    const found = await fixture.result(types, { ranges: { r1: [fixture.range('x=1/u.parquet')] } });
    expect(found).toEqual([['BIGINT', 'VARCHAR']]);
  });

  test('of files that lack a column has NULL there, if they are united by name', async () => {
    const united = {
      ...SCAN,
      reader: { format: 'parquet', options: 'union_by_name = true' },
    } as const;
    const both = fragment('SELECT c0, c1 FROM r1', ['BIGINT', 'VARCHAR'], { scans: [united] });
    for (const of of [fixture.range('less.parquet'), fixture.range('less.parquet', 0, 1)])
      expect(await fixture.result(both, { ranges: { r1: [of] } })).toEqual([['7', null]]);
    const strict = { ...both, scans: [SCAN] };
    await expect(
      fixture.result(strict, { ranges: { r1: [fixture.range('less.parquet')] } }),
    ).rejects.toMatchObject({
      code: 'query_failed',
    });
  });

  test('without columns still has its rows', async () => {
    const count = fragment('SELECT count(*) FROM r1', ['BIGINT'], {
      scans: [{ ...SCAN, columns: [] }],
    });
    expect(
      await fixture.result(count, { ranges: { r1: [fixture.range('t.parquet', 10, 2100)] } }),
    ).toEqual([['2090']]);
    const none = fragment('SELECT true FROM r1', [], { scans: [{ ...SCAN, columns: [] }] });
    const asked = fixture.order(
      none,
      { kind: 'whole' },
      { ranges: { r1: [fixture.range('x=1/u.parquet')] } },
    );
    expect((await fixture.engine.run(asked, never)).rowsOut).toBe(10);
  });

  test('counts what it was given to read', async () => {
    const known = { ...fixture.range('t.parquet'), rows: ROWS };
    const asked = fixture.order(
      SUMS,
      { kind: 'result' },
      { ranges: { r1: [known, fixture.range('t.parquet', 5, 9)] } },
    );
    expect((await fixture.engine.run(asked, never)).rowsIn).toBe(ROWS + 4);
  });
});

describe('output by hash', () => {
  const output: StageOutput = { kind: 'hash', by: ['c0'], partitions: 8 };

  test('has each row in the partition of its key, and says how many', async () => {
    const all = fragment('SELECT c0, c0 % 5 FROM r1', ['BIGINT', 'BIGINT'], { scans: [SCAN] });
    const asked = fixture.order(all, output, { ranges: { r1: [fixture.range('t.parquet')] } });
    const done = await fixture.engine.run(asked, never);
    expect(done).toMatchObject({ rowsOut: ROWS, spilledBytes: 0 });
    expect(done.parts).toHaveLength(8);
    for (const [partition, { rows: count, files }] of done.parts.entries()) {
      expect(files).toEqual([`${partition}-0.parquet`]);
      const at = files.map((name) => join(asked.folder, name));
      const sql = 'SELECT count(*), min((hash(c0) >> 24) % 8), max((hash(c0) >> 24) % 8) FROM f';
      expect(await fixture.rows(at, sql)).toEqual([
        [String(count), String(partition), String(partition)],
      ]);
    }
    expect(readdirSync(asked.folder)).toHaveLength(8);
  });

  test('of more partitions than DuckDB has files open has every row once, in its partition', async () => {
    const all = fragment('SELECT c0 FROM r1', ['BIGINT'], { scans: [SCAN] });
    const many: StageOutput = { ...output, partitions: 150 };
    const asked = fixture.order(all, many, { ranges: { r1: [fixture.range('t.parquet')] } });
    const { parts } = await fixture.engine.run(asked, never);
    const files = parts.flatMap((part) => part.files);
    expect(readdirSync(asked.folder).toSorted()).toEqual(files.toSorted());
    const sql = `SELECT count(DISTINCT c0), count(*),
      count(*) FILTER ((hash(c0) >> 24) % 150 <> regexp_extract(filename, '(\\d+)-\\d+.parquet$', 1)::INT)
      FROM read_parquet('${asked.folder}/*.parquet', filename = true)`;
    expect(await fixture.query(sql)).toEqual([[`${ROWS}`, `${ROWS}`, '0']]);
  });

  test('has no file for a partition without rows', async () => {
    const few = fragment('SELECT c0 FROM r1 WHERE c0 < 2', ['BIGINT'], { scans: [SCAN] });
    const asked = fixture.order(few, output, { ranges: { r1: [fixture.range('t.parquet')] } });
    const { parts } = await fixture.engine.run(asked, never);
    expect(parts.filter(({ files }) => files.length > 0).length).toBeLessThanOrEqual(2);
    expect(parts.every(({ rows: count, files }) => count > 0 === files.length > 0)).toBe(true);
    const nothing = fixture.order(few, output, { ranges: { r1: [] } });
    const empty = await fixture.engine.run(nothing, never);
    expect(empty.parts).toEqual(Array.from({ length: 8 }, () => ({ rows: 0, files: [] })));
    expect(readdirSync(nothing.folder)).toEqual([]);
  });

  test('partitions by the value and not by its encoding', async () => {
    const wide = fragment('SELECT c0::HUGEINT FROM r1', ['HUGEINT'], { scans: [SCAN] });
    const asked = fixture.order(
      wide,
      { ...output, partitions: 4 },
      { ranges: { r1: [fixture.range('t.parquet')] } },
    );
    const { parts } = await fixture.engine.run(asked, never);
    const expected = await fixture.query(
      `SELECT (hash(i::HUGEINT) >> 24) % 4 AS p, count(*) FROM range(${ROWS}) t(i) GROUP BY p ORDER BY p`,
    );
    expect(parts.map(({ rows: count }) => count)).toEqual(expected.map((row) => Number(row[1])));
  });
});

describe('exchange', () => {
  test('restores types that Parquet does not support exactly, also from no files', async () => {
    const types = [
      'HUGEINT',
      `ENUM('a', 'b')`,
      'INTEGER[2]',
      'TIME WITH TIME ZONE',
      'BIT',
      'TIMESTAMP_S',
    ];
    const made = fragment(
      `SELECT '-170141183460469231731687303715884105728'::HUGEINT, 'b'::ENUM('a', 'b'), [1, 2]::INTEGER[2],
        '10:00:00+05:30'::TIMETZ, '0101'::BIT, '2024-02-29 01:02:03'::TIMESTAMP_S`,
      types,
    );
    const asked = fixture.order(made, { kind: 'whole' });
    const files = filesOf(asked, await fixture.engine.run(asked, never));
    const input = { relation: 'i', stage: 0, mode: 'all', columns: made.columns } as const;
    const read = fragment(
      `SELECT concat_ws(' ', count(*), any_value(typeof(c0)), any_value(typeof(c1)), any_value(typeof(c2)),
        any_value(typeof(c3)), any_value(typeof(c4)), any_value(typeof(c5)), any_value(c0), any_value(c1),
        any_value(c2), any_value(c3), any_value(c4), any_value(c5)) FROM i`,
      ['VARCHAR'],
      { inputs: [input] },
    );
    expect(await fixture.result(read, { inputs: { i: files } })).toEqual([
      [
        `1 ${types.join(' ')} -170141183460469231731687303715884105728 b [1, 2] 10:00:00+05:30 0101 2024-02-29 01:02:03`,
      ],
    ]);
    expect(await fixture.result(read, { inputs: { i: [] } })).toEqual([['0']]);
  });

  test('distinguishes missing inputs from missing tables', async () => {
    const input = {
      relation: 'i',
      stage: 0,
      mode: 'all',
      columns: [{ name: 'c0', type: 'BIGINT' }],
    } as const;
    const read = fragment('SELECT c0 FROM i', ['BIGINT'], { inputs: [input] });
    const lost = fixture.result(read, { inputs: { i: [fixture.file('no-such-input.parquet')] } });
    await expect(lost).rejects.toMatchObject({ code: 'input_lost' });
    const changed = fixture.result(SUMS, {
      ranges: { r1: [fixture.range('no-such-table.parquet')] },
    });
    await expect(changed).rejects.toMatchObject({ code: 'table_changed' });
  });
});
