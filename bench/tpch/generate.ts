/**
 * Data in the shape of TPC-H at any scale, written by DuckDB as Parquet: `TABLE-NNN.parquet` in one folder, rows in
 * the order of their keys. The same scale and number of files give the same rows, however many threads write them.
 */
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import type { DuckDBConnection } from '@duckdb/node-api';
import * as tables from './tables.ts';
import type { Sizes } from './tables.ts';
import { textPieces } from './text-pool.ts';

export const TPCH_TABLES: readonly string[] = [
  ...['region', 'nation', 'supplier', 'part', 'partsupp', 'customer', 'orders', 'lineitem'],
];

export interface TpchOptions {
  readonly folder: string;
  readonly scale: number;
  readonly threads?: number;
  /** Into how many files each of the five large tables goes; 1 if not given, as dbgen writes them. */
  readonly files?: number;
}

/** Written last: a folder without it is half done, or its rows are those of an earlier generator. */
const DONE = 'complete-3';
/** As DuckDB writes its own. */
const ROW_GROUP = 122_880;

/** Makes the data unless it is there already; answers globs by table. */
export async function tpchData(options: TpchOptions): Promise<Readonly<Record<string, string>>> {
  const { folder, scale } = options;
  const there = Object.fromEntries(
    TPCH_TABLES.map((name) => [name, join(folder, `${name}-*.parquet`)]),
  );
  if (existsSync(join(folder, DONE))) return there;
  // Beside it first: two that generate at the same time do not mix, and the first one wins.
  const draft = `${folder}.${process.pid}`;
  rmSync(draft, { recursive: true, force: true });
  mkdirSync(draft, { recursive: true });
  try {
    await generate({ ...options, folder: draft });
    writeFileSync(join(draft, DONE), `scale ${scale}\n`);
    if (!existsSync(join(folder, DONE))) {
      rmSync(folder, { recursive: true, force: true });
      renameSync(draft, folder);
    }
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
  return there;
}

async function generate({
  folder,
  scale,
  threads = 2,
  files: count = 1,
}: TpchOptions): Promise<void> {
  if (!(scale > 0)) throw new Error(`A scale is more than 0, not ${scale}.`);
  const sizes = tables.sizesAt(scale);
  const instance = await DuckDBInstance.create(':memory:', { threads: `${threads}` });
  const connection = await instance.connect();
  try {
    for (const macro of tables.MACROS) await connection.run(macro);
    await connection.run(`CREATE TABLE pool AS ${poolRows(scale)}`);
    await connection.run(USE_POOL);
    await write(connection, join(folder, 'region-000.parquet'), tables.region());
    await write(connection, join(folder, 'nation-000.parquet'), tables.nation());
    const supplier = tables.supplier(1, sizes.supplier + 1);
    await write(connection, join(folder, 'supplier-000.parquet'), supplier);
    let next = 0;
    const lane = async (): Promise<void> => {
      const own = await instance.connect();
      await own.run(USE_POOL);
      for (let at = next++; at < count; at = next++)
        await writePieces(own, folder, sizes, at, count);
      own.closeSync();
    };
    // A range is made by one thread; a connection for each thread keeps all of them busy.
    await Promise.all(Array.from({ length: threads }, lane));
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}

/** A variable belongs to its connection. */
const USE_POOL = 'SET VARIABLE pool = (SELECT list(piece ORDER BY place) FROM pool)';
/** 16 MiB: dbgen's comments repeat as rarely within a row group. */
const PIECES = 65_536;

/** Rows are a function of the scale, so the pool is as well. */
function poolRows(scale: number): string {
  const pieces = textPieces(scale < 0.1 ? PIECES / 16 : PIECES);
  const list = pieces.map((piece) => `'${piece}'`).join(', ');
  return `SELECT unnest(range(${pieces.length})) AS place, unnest([${list}]) AS piece`;
}

/** Piece `at` of `count` of every large table. */
async function writePieces(
  connection: DuckDBConnection,
  folder: string,
  sizes: Sizes,
  at: number,
  count: number,
): Promise<void> {
  const file = (name: string): string =>
    join(folder, `${name}-${String(at).padStart(3, '0')}.parquet`);
  const range = (rows: number): readonly [number, number] => [
    Math.floor((rows * at) / count),
    Math.floor((rows * (at + 1)) / count),
  ];
  const [firstPart, lastPart] = range(sizes.part).map((key) => key + 1) as [number, number];
  const [firstCustomer, lastCustomer] = range(sizes.customer).map((key) => key + 1) as [
    number,
    number,
  ];
  const [firstOrder, lastOrder] = range(sizes.orders);
  const partsupp = tables.partsupp(firstPart, lastPart, sizes.supplier);
  await write(connection, file('part'), tables.part(firstPart, lastPart));
  await write(connection, file('partsupp'), partsupp);
  await write(connection, file('customer'), tables.customer(firstCustomer, lastCustomer));
  const lines = file('lineitem');
  await write(connection, lines, tables.lineitem(firstOrder, lastOrder, sizes));
  await write(connection, file('orders'), tables.orders(firstOrder, lastOrder, sizes, lines));
}

async function write(connection: DuckDBConnection, file: string, select: string): Promise<void> {
  const options = `FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE ${ROW_GROUP}`;
  await connection.run(`COPY (${select}) TO '${file.replaceAll("'", "''")}' (${options})`);
}
