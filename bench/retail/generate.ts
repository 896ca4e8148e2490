/**
 * A retailer's data at any scale, written by DuckDB as Parquet, a file a table: the shape of the public TPC-DS specification
 * (three channels with returns, stock, seventeen dimensions), with names, values and sizes of our own. The same scale gives
 * the same rows.
 */
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { DuckDBInstance } from '@duckdb/node-api';
import type { DuckDBConnection } from '@duckdb/node-api';
import { DIMENSION_MACROS, dimensions, sizesAt } from './dimensions.ts';
import * as facts from './facts.ts';

export interface RetailOptions {
  readonly folder: string;
  readonly scale: number;
  readonly threads?: number;
}

/** Written last: a folder without it is half done, or its rows are those of an earlier generator. */
const DONE = 'complete-2';
/** As DuckDB writes its own; the least that it can, where there are few rows. */
const rowGroup = (scale: number): number => (scale < 0.05 ? 2_048 : 122_880);

/** By table, where its file is. */
export type RetailFiles = Readonly<Record<string, string>>;

/** Makes the data unless it is there already. */
export async function retailData(options: RetailOptions): Promise<RetailFiles> {
  const { folder, scale } = options;
  if (!(scale > 0)) throw new Error(`A scale is more than 0, not ${scale}.`);
  const names = [...Object.keys(dimensions(sizesAt(scale))), ...FACTS];
  const there = Object.fromEntries(names.map((name) => [name, join(folder, `${name}.parquet`)]));
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

/** The data of the benchmark, kept in `bench/.data`. */
export async function keptRetailData(
  scale: number,
  say: (line: string) => void,
): Promise<RetailFiles> {
  const folder = fileURLToPath(new URL(`../.data/retail-${scale}`, import.meta.url));
  const startedAt = performance.now();
  const files = await retailData({ folder, scale });
  const seconds = (performance.now() - startedAt) / 1_000;
  if (seconds > 0.1) say(`  data at scale ${scale} made in ${seconds.toFixed(1)} s`);
  return files;
}

const FACTS: readonly string[] = [
  ...['store_sales', 'store_returns', 'catalog_sales', 'catalog_returns', 'web_sales'],
  ...['web_returns', 'inventory'],
];

async function generate({ folder, scale, threads = 2 }: RetailOptions): Promise<void> {
  const sizes = sizesAt(scale);
  const file = (name: string): string => join(folder, `${name}.parquet`).replaceAll("'", "''");
  const instance = await DuckDBInstance.create(':memory:', { threads: `${threads}` });
  const connection = await instance.connect();
  const write = (to: DuckDBConnection, name: string, select: string): Promise<unknown> =>
    to.run(
      `COPY (${select}) TO '${file(name)}' (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE ${rowGroup(scale)})`,
    );
  try {
    for (const macro of [...DIMENSION_MACROS, ...facts.FACT_MACROS]) await connection.run(macro);
    for (const [name, select] of Object.entries(dimensions(sizes)))
      await write(connection, name, select);
    // Rows of one table are made by one thread; two tables at a time keep two busy.
    const lane = async (...tables: readonly (readonly [string, string])[]): Promise<void> => {
      const own = await instance.connect();
      for (const [name, select] of tables) await write(own, name, select);
      own.closeSync();
    };
    await Promise.all([
      lane(
        ['store_sales', facts.storeSales(sizes)],
        ['store_returns', facts.storeReturns(file('store_sales'))],
      ),
      lane(
        ['catalog_sales', facts.catalogSales(sizes)],
        ['catalog_returns', facts.catalogReturns(file('catalog_sales'))],
        ['web_sales', facts.webSales(sizes)],
        ['web_returns', facts.webReturns(file('web_sales'))],
        ['inventory', facts.inventory(sizes)],
      ),
    ]);
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}
