/** A key that has half of the rows, on real workers: answers are DuckDB's, also when a worker is killed in the middle. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { DuckDBInstance } from '@duckdb/node-api';
import { Oracle } from './oracle.ts';
import { QueryFailure, runQuery } from './query-client.ts';
import { nextOutput, startSqlCluster } from './sql-cluster.ts';

// Real processes on a machine that may be busy with others.
vi.setConfig({ testTimeout: 300_000, hookTimeout: 60_000 });

const folder = mkdtempSync(join(tmpdir(), 'millrace-skew-'));
const file = (name: string): string => join(folder, `${name}.parquet`);
const specs = { facts: file('facts'), keys: file('keys') };
const ROWS = 200_000;
const KEYS = 1_000;

let oracle: Oracle;
beforeAll(async () => {
  const instance = await DuckDBInstance.create(':memory:', { threads: '1' });
  const connection = await instance.connect();
  const selects = {
    facts: `SELECT CASE WHEN i % 2 = 0 THEN 42 WHEN i % 31 = 0 THEN NULL ELSE (i * 7919) % ${KEYS} END AS k,
      i AS id, i % 97 AS n FROM range(${ROWS}) t(i)`,
    // Some keys have no facts, some facts have no key, and one key is unknown.
    keys: `SELECT CASE WHEN i = 7 THEN NULL ELSE i + 10 END AS k, 'kind ' || (i % 20) AS kind
      FROM range(${KEYS}) t(i)`,
  };
  for (const [name, select] of Object.entries(selects))
    await connection.run(`COPY (${select}) TO '${file(name)}' (FORMAT parquet)`);
  connection.closeSync();
  instance.closeSync();
  oracle = await Oracle.open({
    facts: `read_parquet('${specs.facts}')`,
    keys: `read_parquet('${specs.keys}')`,
  });
});
afterAll(() => {
  oracle.close();
  rmSync(folder, { recursive: true, force: true });
});

const split = [
  'SELECT d.kind, count(*), sum(f.n), max(f.id) FROM facts f JOIN keys d ON f.k = d.k GROUP BY d.kind',
  'SELECT f.n, count(*), count(d.kind) FROM facts f LEFT JOIN keys d ON f.k = d.k GROUP BY f.n',
  'SELECT n, count(*) FROM facts f WHERE EXISTS (SELECT 1 FROM keys d WHERE d.k = f.k AND d.k % 2 = 0) GROUP BY n',
  'SELECT n, count(*) FROM facts f WHERE NOT EXISTS (SELECT 1 FROM keys d WHERE d.k = f.k AND d.k % 3 = 0) GROUP BY n',
  'SELECT f.id, d.kind FROM facts f JOIN keys d ON f.k = d.k WHERE f.id % 3 = 0',
];
const whole = [
  'SELECT d.kind, count(*), count(f.id) FROM facts f RIGHT JOIN keys d ON f.k = d.k GROUP BY d.kind',
  'SELECT d.kind, count(*) FROM facts f FULL JOIN keys d ON f.k = d.k GROUP BY d.kind',
  'SELECT count(*) FROM facts f WHERE f.k NOT IN (SELECT k FROM keys WHERE k IS NOT NULL)',
  'SELECT count(*) FROM facts f WHERE f.k NOT IN (SELECT k FROM keys)',
  'SELECT f.k, count(*), max(d.kind) FROM facts f JOIN keys d ON f.k = d.k GROUP BY f.k',
  'SELECT count(DISTINCT f.k) FROM facts f JOIN keys d ON f.k = d.k',
];

const ON = {
  ...{ broadcastThresholdBytes: 0, singleFragmentBytes: 0, targetPartitionBytes: 1_000 },
  ...{ skewFactor: 2, skewThresholdBytes: 1 },
};
const OFF = { ...ON, skewFactor: 0 };

test.each([
  [2, 2, 4],
  [1, 1, 4],
  [2, 1, 2],
])(
  '%i workers with %i slots and %i partitions give what DuckDB gives, split or not, and after a kill',
  async (workers, slots, shufflePartitions) => {
    const { cluster } = await startSqlCluster({ specs }, workers, slots);
    const wrong: string[] = [];
    /** How many partitions were split for it. */
    const tried = async (sql: string, settings: typeof ON): Promise<number> => {
      let pieces = 0;
      const run = async (): ReturnType<typeof runQuery> =>
        runQuery(
          cluster.urls[0]!,
          { sql, tables: specs, settings: { ...settings, shufflePartitions } },
          ({ stages }) => {
            const large = stages.flatMap(({ grouping }) => grouping?.skewed ?? []);
            pieces = large.filter(({ tasks }) => tasks > 1).length;
          },
        );
      const answer = await run().catch((error: unknown) => {
        // The node of the result was killed before its rows were read: whoever asked asks again.
        if (error instanceof QueryFailure && error.code === 'result_lost') return run();
        throw error;
      });
      const found = await oracle.judge(sql, answer);
      if (found !== null) wrong.push(`${sql}: ${found}`);
      return pieces;
    };
    const counts = (list: readonly string[], settings: typeof ON): Promise<readonly number[]> =>
      Promise.all(list.map((sql) => tried(sql, settings)));
    const isOne = workers * slots === 1;
    expect((await counts(split, ON)).map((pieces) => pieces > 0)).toEqual(split.map(() => !isOne));
    expect(await counts(whole, ON)).toEqual(whole.map(() => 0));
    expect(await counts(split, OFF)).toEqual(split.map(() => 0));
    const output = nextOutput(cluster);
    const underway = counts([...split, ...whole], ON);
    await output;
    await cluster.workers[0]!.process.crash();
    await cluster.workers[0]!.start();
    await underway;
    expect(wrong).toEqual([]);
    await cluster.stop();
  },
);
