/** Workers fetch what a stage will read while its producers still run: no slot is taken, and answers are DuckDB's. */
import { describe, expect, test } from 'vitest';
import { scratch } from '../sql/scratch.ts';
import { QueryCluster, isLinux, letGo, recomputed } from '../rig/cluster/query-cluster.ts';
import type { QuerySeen } from '../sql/query-client.ts';
import { until } from '../rig/until.ts';

const here = scratch();

/** Every partition is hinted as soon as there is one. */
const EARLY = { earlyFetchPercent: 1, earlyFetchMinBytes: 0, heartbeatMs: 200 };

/** As `SLOW` of the rig, but what its slow stage makes is exchanged once more. */
const SLOW = `SELECT k % 100 AS g, sum(c * (r % 7)) AS s, count(*) AS n
  FROM (SELECT o_custkey AS k, count(*) AS c FROM orders GROUP BY o_custkey) q, range(120000) t(r)
  GROUP BY 1 ORDER BY 1`;

const earlyBytes = ({ stages }: QuerySeen): number =>
  stages.reduce((sum, stage) => sum + (stage as { earlyBytes?: number }).earlyBytes!, 0);

/** Of the workers, what each has fetched ahead and not used yet. */
async function fetchedAhead(fixture: QueryCluster, no: number): Promise<number> {
  const left = await fixture.leftovers(fixture.worker(no));
  return left.filter((name) => /\/shared\/in-.*\.parquet$/.test(name)).length;
}

describe.runIf(isLinux)('a worker whose own producer is held', () => {
  test('fetches what the others have made meanwhile, and its next task uses it', async () => {
    const fixture = await QueryCluster.start(here, { settings: EARLY });
    const two = fixture.worker(2);
    const id = await fixture.submit(SLOW);
    await fixture.held(id, [two]);
    await until(async () => (await fetchedAhead(fixture, 2)) > 0, 'nothing was fetched ahead');
    letGo(two);
    const seen = await fixture.expectRight(id, SLOW);
    expect(earlyBytes(seen)).toBeGreaterThan(0);
    expect(recomputed(seen)).toBe(0);
    await fixture.end();
    expect(await fetchedAhead(fixture, 2)).toBe(0);
  });

  test('uses nothing of a worker that was killed and whose outputs were recomputed', async () => {
    const fixture = await QueryCluster.start(here, { settings: EARLY });
    const [one, two] = [fixture.worker(1), fixture.worker(2)];
    const id = await fixture.submit(SLOW);
    await fixture.held(id, [two]);
    await until(async () => (await fetchedAhead(fixture, 2)) > 0, 'nothing was fetched ahead');
    await one.process.crash();
    await one.start();
    letGo(two);
    const seen = await fixture.expectRight(id, SLOW);
    expect(recomputed(seen)).toBeGreaterThan(0);
    await fixture.end();
  });

  test('removes what it has fetched when the query is cancelled', async () => {
    const fixture = await QueryCluster.start(here, { settings: EARLY });
    const two = fixture.worker(2);
    const id = await fixture.submit(SLOW);
    await fixture.held(id, [two]);
    await until(async () => (await fetchedAhead(fixture, 2)) > 0, 'nothing was fetched ahead');
    await fixture.cancel(id);
    letGo(two);
    await fixture.ended(id);
    await until(async () => (await fetchedAhead(fixture, 2)) === 0, 'it is still there');
    expect(await fixture.seen(id)).toMatchObject({ state: 'cancelled' });
    await fixture.end();
  });
});

test.each([
  [1, 1, EARLY],
  [2, 2, EARLY],
  [3, 1, { ...EARLY, earlyFetchPercent: 100 }],
] as const)('%i workers with %i slots end every query: %o', async (workers, slots, settings) => {
  const fixture = await QueryCluster.start(here, { workers, slots, settings });
  const sql = `SELECT o_custkey, count(*), sum(l_quantity) FROM orders JOIN lineitem ON l_orderkey = o_orderkey
    GROUP BY 1 ORDER BY 1`;
  for (const shufflePartitions of [2, 7]) {
    const id = await fixture.submit(sql, { shufflePartitions });
    const seen = await fixture.expectRight(id, sql);
    const isOff = settings.earlyFetchPercent === 100 || workers === 1;
    expect(earlyBytes(seen) === 0 || !isOff).toBe(true);
  }
  await fixture.end();
});
