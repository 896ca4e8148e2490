import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { TPCH_TABLES, tpchData } from '../../bench/tpch/generate.ts';
import { tpchQueries } from '../../bench/tpch/queries.ts';
import { Oracle } from './oracle.ts';
import { scratch } from './scratch.ts';
import { SCALE } from './trial.ts';

const here = scratch();

/** One number for all rows of a table, whatever their order. */
async function checksums(threads: number, files: number): Promise<readonly unknown[]> {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-tpch-'));
  const globs = await tpchData({ folder: join(folder, 'data'), scale: SCALE, threads, files });
  const readers = Object.entries(globs).map(([name, glob]) => [name, `read_parquet('${glob}')`]);
  const oracle = await Oracle.open(Object.fromEntries(readers) as Record<string, string>);
  onTestFinished(() => {
    oracle.close();
    rmSync(folder, { recursive: true });
  });
  const sums: unknown[] = [];
  for (const table of TPCH_TABLES) {
    const { rows } = await oracle.answer(
      `SELECT '${table}', count(*), sum(hash(t::VARCHAR)) FROM ${table} t`,
    );
    sums.push(rows[0]);
  }
  return sums;
}

test('the same rows are made by one thread and by two, in one file and in three', async () => {
  const one = await checksums(1, 1);
  expect(await checksums(2, 3)).toEqual(one);
});

test('every query finds something', async () => {
  const empty: string[] = [];
  for (const { name, sql } of tpchQueries(SCALE)) {
    const { rows } = await here.oracle.answer(sql);
    if (rows.length === 0 || rows[0]?.every((cell) => cell === null) === true) empty.push(name);
  }
  expect(empty).toEqual([]);
});

test('keys lead somewhere, dates follow each other, and prices add up', async () => {
  const { rows } = await here.oracle.answer(`SELECT
    (SELECT count(*) FROM lineitem ANTI JOIN orders ON l_orderkey = o_orderkey)
      + (SELECT count(*) FROM orders ANTI JOIN lineitem ON l_orderkey = o_orderkey)
      + (SELECT count(*) FROM orders ANTI JOIN customer ON o_custkey = c_custkey)
      + (SELECT count(*) FROM lineitem ANTI JOIN partsupp ON l_partkey = ps_partkey AND l_suppkey = ps_suppkey)
      + (SELECT count(*) FROM partsupp ANTI JOIN part ON ps_partkey = p_partkey)
      + (SELECT count(*) FROM partsupp ANTI JOIN supplier ON ps_suppkey = s_suppkey) AS lost,
    (SELECT count(*) FROM lineitem JOIN orders ON l_orderkey = o_orderkey
      WHERE NOT (l_shipdate > o_orderdate AND l_receiptdate > l_shipdate AND l_commitdate > o_orderdate)) AS early,
    (SELECT count(*) FROM orders JOIN (SELECT l_orderkey,
        sum(l_extendedprice * (1 + l_tax) * (1 - l_discount))::DECIMAL(15, 2) AS price
        FROM lineitem GROUP BY 1) ON l_orderkey = o_orderkey WHERE price <> o_totalprice) AS wrong,
    (SELECT count(*) - count(DISTINCT (ps_partkey, ps_suppkey)) FROM partsupp) AS twice,
    (SELECT max(n) - min(n) FROM (SELECT count(*) AS n FROM lineitem GROUP BY l_orderkey)) AS lines`);
  expect(rows[0]).toEqual(['0', '0', '0', '0', '6']);
});
