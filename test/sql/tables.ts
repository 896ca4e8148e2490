/**
 * The tables that the queries of these tests run over: every type, NULLs, nothing at all, keys of different types,
 * Hive folders, files with different columns, CSV and JSON. Small, always the same, written by DuckDB.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { tpchData } from '../../bench/tpch/generate.ts';
import type { TableSpec } from '../../src/sql/catalog/index.ts';
import type { Readers } from './oracle.ts';

export interface TestTables {
  /** As a query names them. */
  readonly specs: Readonly<Record<string, TableSpec>>;
  /** As DuckDB reads them. */
  readonly readers: Readers;
}

/** Row groups are tiny, so that small tables can be split as well. */
const PARQUET = '(FORMAT parquet, ROW_GROUP_SIZE 2048)';

const TYPES = `SELECT
    i AS id, i % 2 = 0 AS bool, (i % 256 - 128)::TINYINT AS i8, (i * 131 % 65536 - 32768)::SMALLINT AS i16,
    (i * 7919 - 1000000)::INTEGER AS i32,
    CASE i WHEN 0 THEN 9223372036854775807 WHEN 1 THEN -9223372036854775808 ELSE i * 1000000007 END::BIGINT AS i64,
    (i % 256)::UTINYINT AS u8, (i * 13 % 65536)::USMALLINT AS u16, (i * 4294967 % 4294967296)::UINTEGER AS u32,
    CASE i WHEN 0 THEN 18446744073709551615 ELSE i END::UBIGINT AS u64,
    (i * 0.25)::FLOAT AS f32,
    CASE i WHEN 3 THEN 'NaN' WHEN 4 THEN 'Infinity' WHEN 5 THEN '-Infinity' WHEN 6 THEN '-0.0'
      ELSE (i * 0.125 - 20)::VARCHAR END::DOUBLE AS f64,
    (i % 1000 / 10)::DECIMAL(4, 1) AS d4, (i * 12.345)::DECIMAL(9, 3) AS d9,
    (i * 98765.4321)::DECIMAL(18, 4) AS d18,
    CASE i WHEN 0 THEN '9999999999999999999999999999.9999999999' WHEN 1 THEN '-9999999999999999999999999999.9999999999'
      ELSE i || '.0123456789' END::DECIMAL(38, 10) AS d38,
    CASE i % 10 WHEN 0 THEN '' WHEN 1 THEN 'Ünïcödé ' || i WHEN 2 THEN 'it''s "quoted", \\ and	tabbed'
      ELSE 'text ' || i % 37 END AS text,
    encode('b' || i % 11) AS bytes, DATE '1969-12-25' + (i * 17)::INTEGER AS day,
    TIME '00:00:00' + to_microseconds(i * 123456789 % 86400000000) AS clock,
    TIMESTAMP '1999-12-31 23:59:59.999999' + to_microseconds(i * 987654321) AS moment,
    (TIMESTAMP '2024-03-10 06:30:00' + to_minutes(i * 37)) AT TIME ZONE 'UTC' AS zoned,
    to_months(i::INTEGER % 30) + to_days(i::INTEGER % 5) + to_microseconds(i * 1001) AS span,
    ('00000000-0000-4000-8000-' || lpad(i::VARCHAR, 12, '0'))::UUID AS uid,
    CASE WHEN i % 6 = 0 THEN [] ELSE [i, NULL, i * 2] END::INTEGER[] AS list,
    {'a': i::INTEGER % 7, 'b': 's' || i % 3} AS pair,
    MAP {'x': i::INTEGER, 'y': (i * i)::INTEGER} AS dict,
    [{'n': i::INTEGER, 'tags': ['t' || i % 4]}] AS deep
  FROM range(500) t(i)`;

/** Every column but the first has NULLs among its values; `none` has nothing else. */
const NULLS = `SELECT i::INTEGER AS id,
    CASE WHEN i % 3 > 0 THEN i % 7 END::INTEGER AS k, CASE WHEN i % 4 > 0 THEN i % 5 END::BIGINT AS j,
    CASE WHEN i % 5 > 1 THEN (i % 40) * 0.5 - 5 END::DOUBLE AS v,
    CASE WHEN i % 6 > 1 THEN (i % 100) / 4 END::DECIMAL(10, 2) AS m,
    CASE i % 8 WHEN 0 THEN NULL WHEN 1 THEN '' ELSE chr((97 + i % 5)::INTEGER) END AS s,
    CASE i % 3 WHEN 0 THEN NULL WHEN 1 THEN true ELSE false END AS b,
    CASE WHEN i % 7 > 2 THEN DATE '2024-01-31' + (i % 90)::INTEGER END AS d,
    NULL::INTEGER AS none
  FROM range(400) t(i)`;

const EVENTS = `SELECT i AS id, (i * 7 % 97)::INTEGER AS user_id,
    ['view', 'click', 'buy', 'leave'][1 + i % 4] AS kind,
    TIMESTAMP '2024-01-01' + to_seconds(i * 613 % 2592000) AS ts,
    (i * 37 % 1000 / 100)::DECIMAL(8, 2) AS amount
  FROM range(6000) t(i)`;

const TRADES = `SELECT i::INTEGER AS id, ['AA', 'BB', 'CC', 'DD'][1 + i % 4] AS symbol,
    TIMESTAMP '2024-05-01 09:00:00' + to_seconds(i * 29 % 3600) AS ts, (1 + i % 13)::INTEGER AS size
  FROM range(300) t(i)`;

/** A price a minute and symbol; DD has none. */
const PRICES = `SELECT ['AA', 'BB', 'CC'][1 + i % 3] AS symbol,
    TIMESTAMP '2024-05-01 09:00:30' + to_seconds((i // 3) * 60) AS ts, (100 + i * 7 % 50 / 4)::DOUBLE AS price
  FROM range(170) t(i)`;

const TREE = `SELECT i::INTEGER AS id, CASE WHEN i > 0 THEN ((i - 1) // 3)::INTEGER END AS parent, 'n' || i AS name
  FROM range(60) t(i)`;

/** The same kind of keys in four types; each has some that the others lack, and some twice. */
const KEYED = {
  alpha: `SELECT i::INTEGER AS id, CASE WHEN i % 9 > 0 THEN i % 23 END::INTEGER AS k,
      CASE i % 7 WHEN 0 THEN NULL ELSE 'g' || i % 4 END AS g, (i % 50 * 0.25 - 4)::DOUBLE AS x,
      CASE WHEN i % 11 > 1 THEN (i % 300) / 8 END::DECIMAL(9, 2) AS n,
      DATE '2024-02-20' + (i % 40)::INTEGER AS d, CASE i % 5 WHEN 0 THEN NULL WHEN 1 THEN true ELSE false END AS f
    FROM range(160) t(i)`,
  beta: `SELECT i AS id, CASE WHEN i % 8 > 0 THEN i * 3 % 29 END::BIGINT AS k,
      CASE i % 6 WHEN 0 THEN NULL ELSE 'g' || i % 5 END AS g, (i % 30 * 0.5)::DOUBLE AS x,
      (i * 17 % 200 / 16)::DECIMAL(12, 4) AS n, DATE '2024-02-25' + (i % 30)::INTEGER AS d, i % 3 = 0 AS f
    FROM range(110) t(i)`,
  gamma: `SELECT i::SMALLINT AS id, CASE WHEN i % 5 > 0 THEN i % 17 END::DECIMAL(8, 2) AS k,
      'g' || i % 6 AS g, CASE WHEN i % 4 > 0 THEN i * 0.75 END::DOUBLE AS x, NULL::DECIMAL(9, 2) AS n,
      CASE WHEN i % 3 > 0 THEN DATE '2024-03-01' + i::INTEGER END AS d, i % 2 = 0 AS f
    FROM range(37) t(i)`,
  void: `SELECT i::INTEGER AS id, i::INTEGER AS k, 'g' AS g, 1::DOUBLE AS x, 1::DECIMAL(9, 2) AS n, DATE '2024-01-01' AS d,
      true AS f
    FROM range(0) t(i)`,
} as const;

const CITIES = [
  'city,country,people,founded,rainy',
  'Paris,France,2102650,0052-01-01,true',
  '"Saint-Étienne, Loire",France,172718,,false',
  'Graz,Austria,298479,1128-02-20,true',
  'Ulm,Germany,128928,0854-07-22,',
  ',Nowhere,,2000-01-01,false',
];

const DOCUMENTS = [
  { id: 1, tags: ['a', 'b'], owner: { name: 'Ann', age: 30 } },
  { id: 2, tags: [], owner: { name: 'Bob', age: null } },
  { id: 3, tags: ['b'], owner: null, note: 'only here' },
];

const quoted = (path: string): string => `'${path.replaceAll("'", "''")}'`;

/** Writes all of them below `folder`; TPC-H at `scale` among them. */
export async function writeTables(folder: string, scale = 0.01): Promise<TestTables> {
  const tpch = await tpchData({ folder: join(folder, 'tpch'), scale, files: 2 });
  const file = (name: string): string => join(folder, name);
  mkdirSync(folder, { recursive: true });
  const parquet: Record<string, string> = {
    ...{ types: TYPES, nulls: NULLS, empty: `${NULLS} WHERE false`, one: `${NULLS} LIMIT 1` },
    ...{ events: EVENTS, trades: TRADES, prices: PRICES, tree: TREE, ...KEYED },
  };
  const instance = await DuckDBInstance.create(':memory:', { threads: '1' });
  const connection = await instance.connect();
  try {
    await connection.run("SET TimeZone = 'UTC'");
    for (const [name, select] of Object.entries(parquet))
      await connection.run(`COPY (${select}) TO ${quoted(file(`${name}.parquet`))} ${PARQUET}`);
    for (const copy of copies(file)) await connection.run(copy);
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
  writeFileSync(file('cities.csv'), `${CITIES.join('\n')}\n`);
  writeFileSync(
    file('documents.json'),
    DOCUMENTS.map((document) => JSON.stringify(document)).join('\n'),
  );
  const own = Object.keys(parquet).map((name) => [name, file(`${name}.parquet`)] as const);
  const paths: Record<string, string> = { ...tpch, ...Object.fromEntries(own) };
  const readers = Object.entries(paths).map(
    ([name, path]) => [name, `read_parquet(${quoted(path)})`] as const,
  );
  return {
    specs: { ...paths, ...specials(file) },
    readers: { ...Object.fromEntries(readers), ...specialReaders(file) },
  };
}

type Place = (name: string) => string;

/** Tables of several files. */
function copies(file: Place): readonly string[] {
  const sales = `SELECT i AS id, 2020 + i % 3 AS year, ['north', 'south'][1 + i % 2] AS region,
      (i % 90 / 8)::DECIMAL(9, 3) AS amount FROM range(900) t(i)`;
  const drift = (select: string, at: number): string =>
    `COPY (${select}) TO ${quoted(file(`drift-${at}.parquet`))} ${PARQUET}`;
  mkdirSync(file('sales'), { recursive: true });
  return [
    `COPY (${sales}) TO ${quoted(file('sales'))} (FORMAT parquet, PARTITION_BY (year, region), OVERWRITE_OR_IGNORE)`,
    drift(`SELECT i::INTEGER AS id, 'first ' || i AS name FROM range(50) t(i)`, 1),
    drift(`SELECT (i + 50)::BIGINT AS id, i * 0.5 AS score FROM range(40) t(i)`, 2),
    drift(
      `SELECT 'third ' || i AS name, (i + 90)::BIGINT AS id, i % 2 = 0 AS flag FROM range(30) t(i)`,
      3,
    ),
  ];
}

function specials(file: Place): Readonly<Record<string, TableSpec>> {
  return {
    sales: { paths: file('sales/**/*.parquet'), hive: true },
    drift: { paths: [1, 2, 3].map((at) => file(`drift-${at}.parquet`)), unionByName: true },
    cities: file('cities.csv'),
    documents: file('documents.json'),
  };
}

function specialReaders(file: Place): Readers {
  const drift = [1, 2, 3].map((at) => quoted(file(`drift-${at}.parquet`))).join(', ');
  return {
    sales: `read_parquet(${quoted(file('sales/**/*.parquet'))}, hive_partitioning = true)`,
    drift: `read_parquet([${drift}], union_by_name = true)`,
    cities: `read_csv(${quoted(file('cities.csv'))})`,
    documents: `read_json(${quoted(file('documents.json'))})`,
  };
}
