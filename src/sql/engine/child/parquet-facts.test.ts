import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Cluster } from '../../plan/index.ts';
import type { TableDescription, TableSource } from '../engine.ts';
import { describeTable } from './describe.ts';
import { Work } from './work.ts';

const OLDER = [
  'H4sIAKLY+WoC/4WUwWrbMBjHZVsJOewqYY8cjKBlgyR46Qis5LD11GPJsaMEtVZXg614tjQaQmD0GXbsKwz6PnuHPsM+2akb',
  'J2qrk/z9v///90k2Pvs2+0QQiUg0IBg2XdJDzXJQe4EeknCn0Wk3tJPcjeC9leTuNO0l4Y3QeSsJ7zQRN5iedsurG5FxghE0',
  '/nYI8h0OCvlqdvrgPaLvgmkwOOz1CQ4ICkAmiGI6o7MA0d7U7z0d02/uhyIU9IkZwAx/eN4HUmXVlfWEnoD1fOpjY/XxvoX+',
  'cShGQL13rNh7B7hew3Xt3EfHCn4EM/Yqsvsy+cG1kh9cIHcaMraT7zwr+c4Dcqci45fIfb+bcxnz0v/nrdjVItWZnCcyFrei',
  'ZMfh9xW7TkQazyXPBDxLnaaDkGVC8Zgr/lxp61Jn+XKulrmpsVIVDIo1p6lmya2Ih4lU4oco2PoCOmq8jcs4ew1by20qJE8+',
  'W7h1fT0IdxH6dYTeR2jIOhpbGBuhPlQhuFoUUF6xNLkseLE0Lde8VDkvfmqhTMAvUZTJQhplHI0noy+jyMzIqlcx37qYi2fa',
  'ludoFI0m9SCFShRUW5418odbwGG+VDcLGW4Cwidi+OFSJ2kcRh/RX/hiz+CX9B9GFwhAlwQAAA==',
].join('');

let folder = '';
let instance: DuckDBInstance;
let connection: DuckDBConnection;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-facts-'));
  instance = await DuckDBInstance.create(':memory:', { threads: '1' });
  connection = await instance.connect();
});

afterAll(() => {
  connection.closeSync();
  instance.closeSync();
  rmSync(folder, { recursive: true, force: true });
});

/** DuckDB makes no smaller ones. */
const GROUP = 2048;

/** A file of whole row groups, with `i` from `from` on. */
async function written(
  name: string,
  columns: string,
  from: number,
  groups: number,
): Promise<string> {
  const file = join(folder, name);
  mkdirSync(dirname(file), { recursive: true });
  const first = from * GROUP;
  await connection.run(
    `COPY (SELECT ${columns} FROM range(${first}, ${first + groups * GROUP}) AS t(i))
     TO '${file}' (ROW_GROUP_SIZE ${GROUP})`,
  );
  return file;
}

async function described(
  files: readonly string[],
  more: Partial<TableSource> = {},
): Promise<TableDescription> {
  const work = new Work();
  try {
    const source = { format: 'parquet' as const, files, options: '', types: {}, ...more };
    return await describeTable(work, instance, source);
  } finally {
    work.end();
  }
}

async function clustersOf(...asked: Parameters<typeof described>): Promise<readonly string[]> {
  return (await described(...asked)).clusters.map(({ column }) => column);
}

async function distinctOf(
  ...asked: Parameters<typeof described>
): Promise<Readonly<Record<string, number | undefined>>> {
  const { columns } = await described(...asked);
  return Object.fromEntries(columns.map(({ name, distinct }) => [name, distinct]));
}

describe('the clustered columns of Parquet files', () => {
  test('are integer columns that ascend from one row group to the next', async () => {
    const columns = `(i // 4)::INTEGER AS "Key", hash(i)::UBIGINT % 1000000 AS random, 'x' AS text, i::DOUBLE AS float`;
    const files = [
      await written('sorted/2.parquet', columns, 2, 1),
      await written('sorted/none.parquet', columns, 0, 0),
      await written('sorted/1.parquet', columns, 0, 2),
    ];
    const expected: Cluster = {
      column: 'Key',
      groups: [
        { file: 0, rows: GROUP, min: 1024, max: 1535 },
        { file: 2, rows: GROUP, min: 0, max: 511 },
        { file: 2, rows: GROUP, min: 512, max: 1023 },
      ],
    };
    expect((await described(files)).clusters).toEqual([expected]);
  });

  test('may overlap, but not more than twice', async () => {
    const columns = `i + (i * 7919) % 3000 AS nearly, i + (i * 7919) % 9000 AS hardly, i % 100 AS never`;
    expect(await clustersOf([await written('nearly.parquet', columns, 0, 5)])).toEqual(['nearly']);
  });

  test('are recognised with only two row groups', async () => {
    const columns = `i AS a, (i * 7919) % 1000 AS b, 1 AS c`;
    expect(await clustersOf([await written('two.parquet', columns, 0, 2)])).toEqual(['a']);
    expect(await clustersOf([await written('one.parquet', columns, 0, 1)])).toEqual([]);
  });

  test('are of any integer type, signed or unsigned', async () => {
    const types = ['TINYINT', 'SMALLINT', 'INTEGER', 'BIGINT', 'USMALLINT', 'UINTEGER', 'UBIGINT'];
    const small = [`(i // ${GROUP} - 2)::TINYINT`, `(i - 4000)::SMALLINT`, '-i::INTEGER'];
    const large = [
      `2::BIGINT ** 52 - i`,
      '60000 + i // 8',
      '4294960000 + i // 4',
      '2::BIGINT ** 52 + i',
    ];
    for (const [at, value] of [...small, ...large].entries()) {
      const type = types[at] ?? '';
      const file = await written(`${type}.parquet`, `(${value})::${type} AS a`, 0, 3);
      const { clusters } = await described([file]);
      const rows = await connection.runAndReadAll(
        `SELECT file_row_number // ${GROUP} AS g, min(a)::DOUBLE, max(a)::DOUBLE
         FROM read_parquet('${file}', file_row_number = true) GROUP BY g ORDER BY g`,
      );
      const groups = rows.getRows().map(([, min, max]) => ({ file: 0, rows: GROUP, min, max }));
      expect(clusters).toEqual([{ column: 'a', groups }]);
    }
  });

  test('hold no number beyond the range of JavaScript', async () => {
    const columns = `9007199254740991 - ${3 * GROUP} + i AS inside, 9007199254740991 - i AS exact,
      9007199254740992 - i AS beyond, -9007199254740990 - i AS below, (9223372036854775808 + i)::UBIGINT AS huge`;
    expect(await clustersOf([await written('large.parquet', columns, 0, 3)])).toEqual([
      'inside',
      'exact',
    ]);
  });

  test('are found beside a first column whose numbers no signed one holds', async () => {
    const columns = `(18446744073709551615 - i)::UBIGINT AS hash, i AS key`;
    expect(await clustersOf([await written('hashes.parquet', columns, 0, 4)])).toEqual(['key']);
  });

  test('have no NULL in any row group', async () => {
    const columns = `i AS a, CASE WHEN i <> 5000 THEN i END AS b, CASE WHEN i < ${2 * GROUP} THEN i END AS c`;
    expect(await clustersOf([await written('nulls.parquet', columns, 0, 3)])).toEqual(['a']);
  });

  test('are at most three: those that overlap least, then the first ones', async () => {
    const columns = `i + (i * 7919) % 2000 AS a, i + (i * 7919) % 1000 AS b, i AS c, i * 10 AS d, i AS e`;
    const files = [await written('five.parquet', columns, 0, 4)];
    expect(await clustersOf(files)).toEqual(['c', 'd', 'e']);
    const fewer = columns.slice(0, columns.indexOf(', i * 10'));
    expect(await clustersOf([await written('three.parquet', fewer, 0, 4)])).toEqual([
      'c',
      'b',
      'a',
    ]);
  });

  test('are not those whose type is not the one in each file', async () => {
    const one = await written('types/1.parquet', 'i::BIGINT AS a, i::BIGINT AS b', 0, 2);
    const two = await written('types/2.parquet', 'i::BIGINT AS a, i::INTEGER AS b', 2, 2);
    expect(await clustersOf([one, two])).toEqual(['a']);
    expect(await clustersOf([one], { types: { A: 'INTEGER' } })).toEqual(['b']);
    expect(await clustersOf([one], { types: { A: 'BIGINT' } })).toEqual(['a', 'b']);
    const texts = await written('types/3.parquet', 'i::VARCHAR AS a, i AS b', 0, 2);
    expect(await clustersOf([texts], { types: { a: 'BIGINT' } })).toEqual(['b']);
  });

  test('are not those that a file lacks', async () => {
    const both = await written('union/1.parquet', 'i AS a, i AS b', 0, 2);
    const one = await written('union/2.parquet', 'i AS a', 2, 2);
    expect(await clustersOf([both, one], { options: 'union_by_name = true' })).toEqual(['a']);
  });

  test('are not those that come from the path, or from a field', async () => {
    const columns = `i AS a, i AS k, {'x': i} AS s, [i] AS l, i AS "s, x", i AS "d, x", 1 AS d`;
    const files = [
      await written('hive/k=1/1.parquet', columns, 0, 2),
      await written('hive/k=2/1.parquet', columns, 2, 2),
    ];
    expect(await clustersOf(files)).toEqual(['a']);
    expect(await clustersOf(files, { options: 'hive_partitioning = false' })).toEqual(['a', 'k']);
  });

  test('are none if files cannot be read by row number', async () => {
    const files = [await written('numbered.parquet', 'i AS a, i AS file_row_number', 0, 3)];
    expect(await clustersOf(files)).toEqual([]);
  });

  test('have the row groups of a file as often as the table has the file', async () => {
    const file = await written('again.parquet', 'i AS a', 0, 3);
    const { clusters, files } = await described([file, file]);
    expect(files).toEqual([
      { rows: 3 * GROUP, groups: [GROUP, GROUP, GROUP] },
      { rows: 3 * GROUP, groups: [GROUP, GROUP, GROUP] },
    ]);
    expect(clusters[0]?.groups.map((group) => `${group.file} ${group.min}`)).toEqual(
      [0, 1].flatMap((at) => [`${at} 0`, `${at} ${GROUP}`, `${at} ${2 * GROUP}`]),
    );
  });

  test('are found with the older statistics, but not for unsigned types', async () => {
    // Of fastparquet: `a` is BIGINT and `u` is UINTEGER, from 0 to 5 in three row groups.
    const bytes = gunzipSync(Buffer.from(OLDER, 'base64'));
    const file = join(folder, 'older.parquet');
    writeFileSync(file, bytes);
    const { clusters, columns } = await described([file]);
    const group = (min: number): object => ({ file: 0, rows: 2, min, max: min + 1 });
    expect(clusters).toEqual([{ column: 'a', groups: [group(0), group(2), group(4)] }]);
    expect(columns).toMatchObject([{ type: 'BIGINT', distinct: 6 }, { type: 'UINTEGER' }]);
    expect(columns[1]).not.toHaveProperty('distinct');
  });

  test('are none for a table of other files', async () => {
    const file = join(folder, 'some.csv');
    writeFileSync(file, 'a\n1\n2\n');
    expect(await clustersOf([file], { format: 'csv' })).toEqual([]);
  });
});

test('the range of a column is that of its whole numbers, NULL aside', async () => {
  const columns = `i * 3 - 7 AS a, CASE WHEN i > 4 THEN i::UINTEGER END AS gap, DATE '2020-01-01' + i::INTEGER AS day,
    i::DOUBLE AS float, (9223372036854775807 - i)::BIGINT AS large, NULL::INTEGER AS none`;
  const files = [
    await written('range/1.parquet', columns, 0, 2),
    await written('range/2.parquet', columns, 2, 1),
    await written('range/none.parquet', columns, 0, 0),
  ];
  const ranges = async (more?: Partial<TableSource>): Promise<unknown> =>
    (await described(files, more)).columns.flatMap(({ name, range }) =>
      range === undefined ? [] : [[name, ...range]],
    );
  const last = 3 * GROUP - 1;
  expect(await ranges()).toEqual([
    ['a', -7, last * 3 - 7],
    ['gap', 5, last],
  ]);
  expect(await ranges({ types: { a: 'VARCHAR' } })).toEqual([['gap', 5, last]]);
});

describe('the number of distinct values of a column', () => {
  test('is at most the range of values, for integers and dates', async () => {
    const columns = `i * 3 AS a, -i AS b, DATE '1969-12-25' + (i // 100)::INTEGER AS day,
      (i * 7919 % 5000)::UINTEGER AS c, i::DECIMAL(9,2) AS other,
      (9223372036854775807 - i)::BIGINT AS large, CASE WHEN i > 0 THEN i END AS gap`;
    const distinct = await distinctOf([
      await written('distinct/1.parquet', columns, 0, 2),
      await written('distinct/2.parquet', columns, 2, 1),
    ]);
    const rows = 3 * GROUP;
    expect(distinct).toMatchObject({ a: (rows - 1) * 3 + 1, b: rows, day: 62, c: 5000 });
    expect(distinct).toMatchObject({ large: rows, gap: rows - 1, other: undefined });
  });

  test('is the size of the dictionaries, if that is less', async () => {
    const columns = `(i % 3) * 1000 AS few, 1000 AS one, 'x' || i % 5 AS text`;
    const files = [await written('dictionary.parquet', columns, 0, 1)];
    expect(await distinctOf(files)).toEqual({ few: 3, one: 1, text: 5 });
  });

  test('does not count a row group that is all NULL', async () => {
    const columns = `CASE WHEN i < ${GROUP} THEN i * 2 END AS a, NULL::BIGINT AS b`;
    const distinct = await distinctOf([await written('gone.parquet', columns, 0, 2)]);
    expect(distinct['a']).toBe(2 * GROUP - 1);
  });

  test('is not taken from values that the table has changed', async () => {
    const file = await written(
      'changed.parquet',
      `i * 2 AS a, DATE '2000-01-01' + i::INTEGER AS b`,
      0,
      2,
    );
    const types = { a: 'VARCHAR', b: 'TIMESTAMP' };
    expect(await distinctOf([file], { types })).toEqual({ a: undefined, b: undefined });
  });
});
