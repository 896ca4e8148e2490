/**
 * A table with a column of every type that DuckDB has, taken from DuckDB itself (`test_all_types()`), with the least
 * and the greatest value of each, NULL, and values that engines tend to treat in their own way.
 */
import type { DuckDBConnection } from '@duckdb/node-api';

/** An expression over the table `samples` that has this type. */
export interface Sample {
  readonly name: string;
  readonly type: string;
  readonly sql: string;
}

/** Further values, by the beginning of the type's text. */
const MORE: Readonly<Record<string, readonly string[]>> = {
  TINYINT: ['0', '1', '-1', '7'],
  SMALLINT: ['0', '1', '-1', '7'],
  INTEGER: ['0', '1', '-1', '7'],
  BIGINT: ['0', '1', '-1', '7'],
  HUGEINT: ['0', '1', '-1', '7'],
  UHUGEINT: ['1', '7'],
  UTINYINT: ['1', '7'],
  USMALLINT: ['1', '7'],
  UINTEGER: ['1', '7'],
  UBIGINT: ['1', '7'],
  BIGNUM: ['0', '1', '-7'],
  FLOAT: ['0', '-0.0', 'nan', 'inf', '-inf', '1.5', '0.1'],
  DOUBLE: ['0', '-0.0', 'nan', 'inf', '-inf', '1.5', '0.1'],
  DECIMAL: ['0', '1.5', '-1.5', '0.1'],
  DATE: ['infinity', '-infinity', '0044-03-15 (BC)', '2024-02-29', '1970-01-01'],
  TIME: ['12:34:56.789012', '23:59:59'],
  TIME_NS: ['12:34:56.789012345'],
  'TIME WITH TIME ZONE': ['12:00:00+02', '10:00:00+00', '10:00:00-05:30'],
  TIMESTAMP: ['infinity', '-infinity', '0044-03-15 (BC) 12:00:00', '2024-02-29 23:59:59.123456'],
  TIMESTAMP_S: ['infinity', '-infinity', '2024-02-29 23:59:59'],
  TIMESTAMP_MS: ['infinity', '-infinity', '2024-02-29 23:59:59.123'],
  TIMESTAMP_NS: ['infinity', '-infinity', '2024-02-29 23:59:59.123456789'],
  'TIMESTAMP WITH TIME ZONE': [
    ...['infinity', '-infinity', '0044-03-15 (BC) 12:00:00+00', '2024-03-31 01:30:00+01'],
  ],
  // Not two that are equal: which of them stands for both is open.
  INTERVAL: ['1 month', '1 month -1 day', '-1 hour', '31 days', '1 microsecond'],
  VARCHAR: ['', 'abc', 'ABC', 'Straße', 'a%_b', '12', '2024-02-29', '{"a": [1, 2]}', 'x,y,x'],
  BLOB: ['abc', '\\xFF', ''],
  BIT: ['0', '0101', '1'],
  UUID: ['6ba7b810-9dad-11d1-80b4-00c04fd430c8'],
  'INTEGER[]': ['[1, 2, 3]', '[3]', '[NULL]'],
  'DOUBLE[]': ['[0.0, -0.0]', '[1.5]'],
  'VARCHAR[]': ["[b, a, 'A']", '[x]'],
  'STRUCT(a INTEGER, b VARCHAR)': ["{'a': 1, 'b': x}", "{'a': 2, 'b': NULL}"],
  'MAP(VARCHAR, VARCHAR)': ['{key1=a}', '{key1=NULL, x=y}'],
  'INTEGER[3]': ['[1, 2, 3]', '[7, 8, 9]'],
};

/** Types that `test_all_types()` has no column of. */
const FURTHER: Readonly<Record<string, readonly string[]>> = {
  JSON: ['{"a": [1, {"b": null}], "c": "x"}', '[1, 2.5, "z"]', 'null', '"text"', '12'],
  'STRUCT(x DOUBLE, y DATE)[]': ["[{'x': nan, 'y': infinity}]", '[]', "[{'x': -0.0, 'y': NULL}]"],
  'MAP(INTEGER, DOUBLE[])': ['{1=[0.5]}', '{}', '{2=NULL, 3=[]}'],
  'FLOAT[3]': ['[1, 2, 3]', '[0.5, -0.5, 0]', '[3, 2, 1]'],
  'DOUBLE[3]': ['[1, 2, 3]', '[0.5, -0.5, 0]', '[3, 2, 1]'],
};

/** More values than this are of no use to each type. */
const ROWS = 21;
const FILES = 3;

interface Values {
  readonly name: string;
  readonly type: string;
  readonly texts: readonly (string | null)[];
}

/** Writes the table into files `samples-<n>.parquet` of the folder. */
export async function writeSamples(
  connection: DuckDBConnection,
  folder: string,
): Promise<readonly Sample[]> {
  const all = await readValues(connection);
  const column = ({ texts }: Values, no: number, row: number): string => {
    const text = texts[(row * 5 + no) % texts.length];
    return text === null || text === undefined ? 'NULL' : quoted(text);
  };
  const rows = Array.from({ length: ROWS }, (_, row) => {
    const cells = all.map((values, no) => column(values, no, row));
    return `(${row}, ${row % 4}, ${cells.join(', ')})`;
  });
  const names = all.map(({ name }) => `"${name}"`).join(', ');
  await connection.run(
    `CREATE OR REPLACE TEMP TABLE texts AS SELECT * FROM (VALUES ${rows.join(', ')}) t(id, g, ${names})`,
  );
  const samples: Sample[] = [];
  const stored: string[] = [];
  for (const { name, type } of all) {
    const isKept = await keeps(connection, folder, name, type);
    stored.push(isKept ? `CAST("${name}" AS ${type}) AS "${name}"` : `"${name}"`);
    samples.push({ name, type, sql: isKept ? `"${name}"` : `CAST("${name}" AS ${type})` });
  }
  for (let file = 0; file < FILES; file += 1) {
    const part = `SELECT id, g, ${stored.join(', ')} FROM texts WHERE id % ${FILES} = ${file} ORDER BY id`;
    await connection.run(`COPY (${part}) TO '${folder}/samples-${file}.parquet' (FORMAT parquet)`);
  }
  return samples;
}

async function readValues(connection: DuckDBConnection): Promise<readonly Values[]> {
  const described = await connection.runAndReadAll('DESCRIBE SELECT * FROM test_all_types()');
  const all: Values[] = [];
  for (const [name, type] of described.getRows().map((row) => row.map(String))) {
    // Too long to appear twice in one query.
    if (name === undefined || type === undefined || type.length > 1_000) continue;
    const reader = await connection.runAndReadAll(
      `SELECT CAST("${name}" AS VARCHAR) FROM test_all_types()`,
    );
    const own = reader.getRows().map(([text]) => (text === null ? null : String(text)));
    const more = MORE[type] ?? MORE[type.replace(/\(.*/, '')] ?? [];
    const texts = [];
    for (const text of [...own, ...more])
      if (text === null || (await isValue(connection, text, type))) texts.push(text);
    all.push({ name, type, texts });
  }
  const further = Object.entries(FURTHER).map(([type, texts], at) => {
    return { name: `further_${at}`, type, texts: [...texts, null] };
  });
  return [...all, ...further];
}

/** DuckDB writes some of its outermost values as text that it cannot read. */
async function isValue(connection: DuckDBConnection, text: string, type: string): Promise<boolean> {
  const reader = await connection.runAndReadAll(
    `SELECT TRY_CAST(${quoted(text)} AS ${type}) IS NOT NULL`,
  );
  return reader.getRows()[0]?.[0] === true;
}

/** Parquet gives back what it was given. */
async function keeps(
  connection: DuckDBConnection,
  folder: string,
  name: string,
  type: string,
): Promise<boolean> {
  const path = `${folder}/type.parquet`;
  try {
    await connection.run(
      `COPY (SELECT CAST("${name}" AS ${type}) AS x FROM texts) TO '${path}' (FORMAT parquet)`,
    );
    const reader = await connection.runAndReadAll(
      `SELECT typeof(any_value(x)), count(*) FROM read_parquet('${path}')`,
    );
    const wanted = await connection.runAndReadAll(`SELECT typeof(CAST(NULL AS ${type}))`);
    return reader.getRows()[0]?.[0] === wanted.getRows()[0]?.[0];
  } catch {
    return false;
  }
}

function quoted(text: string): string {
  return text
    .split('\0')
    .map((piece) => `'${piece.replaceAll("'", "''")}'`)
    .join(' || chr(0) || ');
}
