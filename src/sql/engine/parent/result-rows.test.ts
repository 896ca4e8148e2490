/** Few rows as JSON, without a file: they have the values that a file would have. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  filesOf,
  fragment,
  FragmentFixture,
  never,
} from '../../../../test/rig/fragment-fixture.ts';
import type { FragmentOutput, ResultPart, RowFormat } from '../engine.ts';

let fixture: FragmentFixture;

beforeAll(async () => {
  fixture = await FragmentFixture.open();
});

afterAll(() => fixture.close());

const rowsMax = { values: 1_000, bytes: 200_000 };
const session = { timeZone: 'America/New_York', now: '2026-01-02 03:04:05+00' };

/** Values in SQL, all of plain types. */
const PLAIN: Readonly<Record<string, readonly string[]>> = {
  BOOLEAN: ['true', 'false'],
  TINYINT: ['-128', '127'],
  USMALLINT: ['65535'],
  INTEGER: ['-2147483648', '0'],
  UINTEGER: ['4294967295'],
  BIGINT: ['-9223372036854775808', '9007199254740993'],
  UBIGINT: ['18446744073709551615'],
  HUGEINT: [`'-170141183460469231731687303715884105728'`, '5'],
  UHUGEINT: [`'340282366920938463463374607431768211455'`],
  BIGNUM: [`'-12345678901234567890123456789012345678901234567890'`],
  'DECIMAL(4,2)': ['-0.05', '12.30'],
  'DECIMAL(38,20)': [`'-0.00000000000000000001'`, `'123456789012345678.5'`],
  FLOAT: ['0.1', '-1e-30', '16777216', '3.4e38', `'nan'`, `'inf'`, `'-inf'`],
  DOUBLE: ['0.1', '5', '1e300', '-1e-7', '4.9e-324', '1e21', `'nan'`, `'inf'`, `'-inf'`],
  VARCHAR: [
    ...[`''`, `'a"\\b/'`, `'x' || chr(10) || chr(13) || chr(9) || 'y'`, `chr(0) || 'after NUL'`],
    ...[
      `chr(1) || chr(31) || chr(127)`,
      `'emoji 👩‍👩‍👧 ü'`,
      `chr(8232) || 'é'`,
      `chr(65279) || 'behind a mark'`,
      `'null'`,
      `'[1,2]'`,
      `''' -- ;'`,
    ],
  ],
  BLOB: [`'\\x00\\xFF"'::BLOB`, `''::BLOB`],
  DATE: [`'2024-02-29'`, `'infinity'`, `'-infinity'`, `'0044-03-15 (BC)'`],
  TIME: [`'23:59:59.999999'`],
  TIME_NS: [`'01:02:03.123456789'`],
  'TIME WITH TIME ZONE': [`'10:00:00+02'`, `'10:00:00.5-07:30'`],
  TIMESTAMP: [`'2024-01-01 00:00:00.000001'`, `'infinity'`, `'0044-03-15 (BC) 01:02:03'`],
  TIMESTAMP_S: [`'2024-01-01 00:00:01'`, `'-infinity'`],
  TIMESTAMP_MS: [`'2024-01-01 00:00:01.5'`],
  TIMESTAMP_NS: [`'2024-01-01 00:00:01.123456789'`],
  'TIMESTAMP WITH TIME ZONE': [`'2024-07-01 12:00:00.25+05:30'`, `'infinity'`],
  INTERVAL: [`'1 year 2 months -3 days 04:05:06.000007'`, `'-1 month'`, `'0 days'`],
  UUID: [`'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'`],
  BIT: [`'0101'`, `'1'`],
};

/** These come with a file. */
const OTHERS: Readonly<Record<string, readonly string[]>> = {
  'INTEGER[]': ['[1, NULL]', '[]'],
  'DOUBLE[]': [`['nan', '0.5']`],
  'VARCHAR[2]': [`['a"', chr(10)]`],
  'STRUCT(a BIGINT, b VARCHAR)': [`{'a': 1, 'b': 'x"'}`],
  'MAP(VARCHAR, INTEGER)': [`MAP {'k': 1}`],
  "ENUM('a', 'b')": [`'b'`],
  JSON: [`'{"a": [1]}'`],
  'UNION(n INTEGER, s VARCHAR)': [`union_value(s := 'x')`],
};

async function made(sql: string, types: readonly string[], asked = rowsMax) {
  const of = fragment(sql, types);
  const few = fixture.order(of, { kind: 'result' }, { session, rowsMax: asked });
  const file = fixture.order(of, { kind: 'result' }, { session });
  const output = await fixture.engine.run(few, never);
  return {
    output,
    columns: of.columns,
    files: { few: filesOf(few, output), all: filesOf(file, await fixture.engine.run(file, never)) },
  };
}

function asPart({ rows }: FragmentOutput): ResultPart {
  return { json: JSON.stringify(rows) };
}

async function read(
  parts: readonly ResultPart[],
  columns: readonly { readonly name: string; readonly type: string }[],
  format: RowFormat,
  timeZone = 'UTC',
): Promise<string> {
  const pieces: Uint8Array[] = [];
  for await (const piece of fixture.engine.rows({ parts, columns, format, timeZone }, never))
    pieces.push(piece);
  return Buffer.concat(pieces).toString();
}

const rowsIn = (text: string): unknown => (JSON.parse(text) as { readonly rows: unknown }).rows;

/** One value a row, then NULL. */
function listed([type, values]: readonly [string, readonly string[]]): string {
  const rows = [...values, 'NULL'].map((value, at) => `(${at}, CAST(${value} AS ${type}))`);
  return `SELECT v FROM (VALUES ${rows.join(', ')}) AS t(n, v) ORDER BY n`;
}

describe.each(Object.entries(PLAIN))('values of %s', (type, values) => {
  test('are in the JSON as in that of a file, and no file is written', async () => {
    const { output, columns, files } = await made(listed([type, values]), [type]);
    expect(output).toMatchObject({ rowsOut: values.length + 1, spilledBytes: 0 });
    expect(files.few).toEqual([]);
    expect(output.rows).toEqual(rowsIn(await read(files.all, columns, 'json')));
    for (const format of ['csv', 'ndjson', 'json'] as const)
      for (const zone of ['UTC', 'Asia/Tokyo'])
        expect(await read([asPart(output)], columns, format, zone)).toBe(
          await read(files.all, columns, format, zone),
        );
  });
});

test.each(Object.entries(OTHERS))(
  'values of %s are in the JSON and in a file',
  async (type, values) => {
    const { output, columns, files } = await made(listed([type, values]), [type]);
    expect(files.few).toHaveLength(1);
    for (const of of [files.few, files.all])
      expect(output.rows).toEqual(rowsIn(await read(of, columns, 'json')));
  },
);

test('rows without names, values without a type and columns of the same name are as in a file', async () => {
  const sql = `SELECT row(1, 'a') AS r, NULL AS n, [row(2, NULL)] AS l, 5::UTINYINT AS n, {'k': [MAP {'a': 1.5}]} AS s`;
  const types = (await fixture.query(`DESCRIBE ${sql}`)).map(([, type]) => String(type));
  const { output, columns, files } = await made(sql, types);
  expect(output.rows).toHaveLength(1);
  for (const of of [files.few, files.all])
    expect(output.rows).toEqual(rowsIn(await read(of, columns, 'json')));
});

test('a zero with a sign is in a file too, because JSON loses it', async () => {
  for (const type of ['DOUBLE', 'FLOAT']) {
    const { output, columns, files } = await made(`SELECT '-0.0'::${type}`, [type]);
    expect(output.rows).toEqual([[-0]]);
    expect(await read(files.few, columns, 'csv')).toBe('c0\n-0.0\n');
  }
});

test.each([
  ['TIMESTAMP WITH TIME ZONE', 'make_timestamptz(9223372036854775806)'],
  ['TIMESTAMP WITH TIME ZONE', 'make_timestamptz(-9223372000000123456)'],
  ['INTERVAL', 'to_microseconds(3600000000000000000)'],
  ['INTERVAL', 'to_days(-1) + to_microseconds(-9223372036854775807)'],
])('a time that DuckDB cannot read again is in a file too: %s %s', async (type, value) => {
  const { output, columns, files } = await made(`SELECT ${value}`, [type]);
  expect(output.rows).toHaveLength(1);
  for (const format of ['csv', 'ndjson', 'json'] as const)
    expect(await read(files.few, columns, format)).toBe(await read(files.all, columns, format));
});

test('parts without a file and parts with one are read in their order', async () => {
  const { output, columns, files } = await made(`SELECT i, 'n' || i FROM range(3) t(i)`, [
    'BIGINT',
    'VARCHAR',
  ]);
  const one = '0,n0\n1,n1\n2,n2\n';
  const [file = ''] = files.all;
  for (const parts of [
    [file, asPart(output), file],
    [asPart(output), file, asPart(output)],
    [{ json: '[]' }, file, file, file],
  ])
    expect(await read(parts, columns, 'csv')).toBe(`c0,c1\n${one}${one}${one}`);
  expect(await read([{ json: '[]' }], columns, 'csv')).toBe('c0,c1\n');
});

test.each([
  ['another type', '[["x"]]'],
  ['no rows', '{"a": 1}'],
  ['no JSON', `[[1]]') -- `],
])('rows that hold %s fail, and the next ones are read', async (_, json) => {
  const columns = [{ name: 'a', type: 'BIGINT' }];
  await expect(read([{ json }], columns, 'csv')).rejects.toMatchObject({ code: 'query_failed' });
  expect(await read([{ json: '[["7"]]' }], columns, 'csv')).toBe('a\n7\n');
});

test('many rows, and long values, are only in the file', async () => {
  const many: readonly [string, string][] = [
    ['SELECT i FROM range(1001) t(i)', 'BIGINT'],
    [`SELECT repeat('x', 200001)`, 'VARCHAR'],
    [`SELECT repeat('ü', 300) FROM range(500)`, 'VARCHAR'],
    [`SELECT repeat('x', 90000) FROM range(1000)`, 'VARCHAR'],
    [`SELECT range(100000)`, 'BIGINT[]'],
  ];
  for (const [sql, type] of many) {
    const { output, files } = await made(sql, [type]);
    expect(output.rows).toBeNull();
    const [few, all] = await Promise.all([fixture.rows(files.few), fixture.rows(files.all)]);
    expect(few).toEqual(all);
  }
});

test('are in the order of the query, over several chunks', async () => {
  const sql = 'SELECT i FROM range(5000) t(i) ORDER BY hash(i)';
  const { output, files } = await made(sql, ['BIGINT'], { values: 8_000, bytes: 65_536 });
  expect(output.rows).toEqual(await fixture.rows(files.all));
});

test('are written into a file where a table of them has no room', async () => {
  const engine = fixture.another({ memoryBytes: 64 * 2 ** 20, spillBytesMax: 0 });
  try {
    const of = fragment(`SELECT repeat('x', 100) || i FROM range(900000) t(i)`, ['VARCHAR']);
    const order = fixture.order(of, { kind: 'result' }, { rowsMax });
    expect(await engine.run(order, never)).toMatchObject({ rows: null, rowsOut: 900_000 });
  } finally {
    await engine.close();
  }
});
